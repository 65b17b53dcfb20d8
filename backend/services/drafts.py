"""Conversations made of what was said elsewhere, by a fork or an import: built out of sight in small transactions, then shown at once.

While it is built a draft counts as deleted, so long ago that nobody can restore it: whatever ends the work halfway,
nobody sees half a conversation, and the upkeep removes it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import insert, update
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict
from ..ids import new_id, utc_now
from ..models import Conversation, Message, Run, Step, ToolCall
from ..stores import retention, search_index
from ..stores.gentle import Gentle
from . import tags
from .conversations import index_title
from .runtime import Runtime
from .serializers import COPY

OUT_OF_SIGHT = timedelta(days=retention.DELETED_KEPT_DAYS, minutes=1)
PART_MESSAGES = 50
PART_CHARS = 100_000


@dataclass(slots=True)
class Rows:
    """Rows of one transaction, as values; messages in their order, after their parents."""

    runs: list[JsonObject] = field(default_factory=list)
    steps: list[JsonObject] = field(default_factory=list)
    calls: list[JsonObject] = field(default_factory=list)
    messages: list[JsonObject] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """A conversation that is being built; `updated_at` is when it was used last."""

    runtime: Runtime
    user_id: str
    values: JsonObject
    tags: Sequence[str] = ()
    id: str = field(default_factory=new_id)
    last_position: int = 0
    leaf_id: str | None = None

    def begin(self) -> None:
        """Make the conversation, out of sight."""
        with self.runtime.db.write() as session:
            hidden = utc_now() - OUT_OF_SIGHT
            row = Conversation(
                id=self.id, owner_id=self.user_id, deleted_at=hidden, **{"updated_at": utc_now(), **self.values}
            )  # fmt: skip
            session.add(row)
            session.flush()
            index_title(session, row)
            tags.put(session, self.id, self.tags)

    def add(self, rows: Rows) -> None:
        """Write some rows in a transaction of their own; messages get their positions."""
        for message in rows.messages:
            self.last_position += 1
            self.leaf_id = message["id"]
            message |= {"conversation_id": self.id, "position": self.last_position}
        with Gentle(self.runtime.db).write() as session:
            for table, values in (
                (Run, rows.runs),
                (Step, rows.steps),
                (ToolCall, rows.calls),
                (Message, rows.messages),
            ):
                if values:
                    session.execute(insert(table), [_given(value) for value in values])
            words = ((message["id"], message["content"]) for message in rows.messages)
            search_index.add_messages(session.connection(), self.id, self.values.get("project_id"), words)

    def show(self, session: Session) -> None:
        """Let the conversation be seen, with `leaf_id` as its active leaf. Raises Conflict if it is gone."""
        shown = {"deleted_at": None, "active_leaf_id": self.leaf_id, "last_position": self.last_position}
        here = Conversation.id == self.id, Conversation.deleted_at.is_not(None)
        if not session.execute(update(Conversation).where(*here).values(shown)).rowcount:  # type: ignore[attr-defined]
            raise Conflict("The conversation that was made is gone; try again.")


@contextmanager
def building(runtime: Runtime) -> Iterator[list[Draft]]:
    """A list for the drafts of one piece of work; those in it are removed if the work fails."""
    drafts: list[Draft] = []
    done = False
    try:
        yield drafts
        done = True
    finally:
        if not done:
            for draft in drafts:
                retention.remove_conversation(runtime.db, draft.id)


def copied_run(draft: Draft, created_at: Any, **more: Any) -> JsonObject:
    """The row that holds calls of a run which was somewhere else: it used nothing here, and has no log.

    It belongs to its conversation alone, so that it stays when that is moved.
    """
    return {
        "id": new_id(), "kind": COPY, "status": "completed", "owner_id": draft.user_id, "conversation_id": draft.id,
        "created_at": created_at, "finished_at": created_at, "folded_at": utc_now(), "pruned_at": utc_now(), **more,
    }  # fmt: skip


def _given(values: JsonObject) -> JsonObject:
    """Without what is null: a column of JSON would hold the word `null`."""
    return {name: value for name, value in values.items() if value is not None}
