"""An instance that talks with the scripted model, and what forks and imports are compared by."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.model_server import ModelServer, Turn

from backend.app import Instance, build, prepare
from backend.ids import utc_now
from backend.models import Conversation, Message
from backend.services.auth import ensure_owner
from backend.services.chat import ChatService, NewMessage
from backend.services.conversations import create_conversation
from backend.services.messages import PathQuery, list_messages
from backend.services.paging import Page
from backend.services.runtime import Runtime
from backend.settings import Settings

MODEL = "scripted-model"


@dataclass(frozen=True)
class Talk:
    """The owner of a working instance, and their model."""

    instance: Instance
    model: ModelServer
    owner: str

    @property
    def runtime(self) -> Runtime:
        return self.instance.runtime

    def begin(self, **values: Any) -> str:
        """A new conversation's id."""
        return str(create_conversation(self.runtime, self.owner, values)["id"])

    def say(self, conversation: str, text: str, *turns: Turn, **more: Any) -> dict[str, Any]:
        """Send a message and wait for the end of its run; the run's last event."""
        if turns:
            self.model.script(MODEL, turns)
        chat = ChatService(self.runtime)
        sent = chat.send_message(self.owner, conversation, NewMessage(text, **more))
        events = [event for event in self.runtime.events.subscribe(sent["run"]["id"], 0) if event is not None]
        assert events[-1].type == "run.finished", events[-1]
        return {**sent, "end": events[-1].data}

    def path(self, conversation: str) -> list[dict[str, Any]]:
        """MESSAGEs of the active path."""
        found = list_messages(self.runtime, self.owner, conversation, PathQuery(Page(200)))
        items: list[dict[str, Any]] = found["items"]
        return items

    def context(self) -> list[dict[str, Any]]:
        """The messages of the last request to the model, without the system's."""
        return [m for m in self.model.requests(MODEL)[-1].messages if m["role"] != "system"]


@contextmanager
def talk(folder: Path, migrated: Path, model: ModelServer) -> Iterator[Talk]:
    """A working instance in a folder of its own."""
    folder.mkdir()
    shutil.copy(migrated, folder / "nanoclaw.db")
    settings = Settings(
        instance=folder, secret_key="a-key-of-the-tests", sandbox="off", probe_local=False,
        openai_base_url=model.url, openai_api_key="sk-test", openai_model=MODEL,
    )  # fmt: skip
    instance = build(prepare(settings))
    try:
        owner = ensure_owner(instance.runtime.db)
        instance.start()
        yield Talk(instance, model, owner)
    finally:
        instance.stop()


def without_ids(message: dict[str, Any]) -> dict[str, Any]:
    """A MESSAGE as far as a copy has to be the same."""
    left_out = {"id", "conversation_id", "parent_id", "siblings", "run_id", "position"}
    return {name: value for name, value in message.items() if name not in left_out}


def fill(runtime: Runtime, owner: str, count: int) -> str:
    """A conversation of so many messages in one line, made without a model."""
    with runtime.db.write() as session:
        row = Conversation(owner_id=owner, title="long", updated_at=utc_now(), last_position=count)
        session.add(row)
        session.flush()
        for i in range(count):
            session.add(
                Message(
                    id=f"m{i}", conversation_id=row.id, parent_id=f"m{i - 1}" if i else None, position=i + 1,
                    role="assistant" if i % 2 else "user", content=f"number {i}", blocks=[], attachments=[],
                )
            )  # fmt: skip
        row.active_leaf_id = f"m{count - 1}"
        return row.id
