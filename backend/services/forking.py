"""Fork of a conversation: a copy of the path to one message, with everything the model needs to go on from there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, NotFound
from ..ids import new_id, utc_now
from ..models import GOING_ON, Base, Conversation, Message, Run, Step, ToolCall
from . import tags
from .conversations import get_conversation, show_conversation
from .drafts import PART_CHARS, PART_MESSAGES, Draft, Rows, building, copied_run
from .language import language_of
from .messages import named_calls
from .runtime import Runtime

ENDINGS = {"en": " (fork)", "zh-CN": "（分支）"}
TITLE_CHARS = 300
KEPT = ("project_id", "model", "system_prompt", "temperature", "max_tokens", "thinking", "tools_off", "temporary")
OF_RUN = (
    "stop_reason",
    "message_id",
    "model",
    "input",
    "output",
    "error",
    "currency",
    "limits",
    "options",
    "started_at",
)


@dataclass(frozen=True, slots=True)
class _Place:
    """A message on the path, without its content."""

    id: str
    role: str
    run_id: str | None
    size: int


@dataclass(slots=True)
class _Copier:
    """The new ids of what is copied, over all parts of the path."""

    draft: Draft
    messages: dict[str, str]
    runs: dict[str, str]
    last_step: dict[str, int] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)

    def rows(self, session: Session, part: Sequence[_Place]) -> Rows:
        """Copies of a part of the path. Raises Conflict if some of it is gone."""
        found = {m.id: m for m in session.scalars(select(Message).where(Message.id.in_([place.id for place in part])))}
        if len(found) != len(part):
            raise Conflict("The conversation was removed while it was copied.")
        ordered = [found[place.id] for place in part]
        rows = Rows(messages=[self._message(message) for message in ordered])
        named: dict[str, set[str]] = {}
        for run_id, call_id in (
            key for message in ordered if message.role == "assistant" for key in named_calls(message)
        ):
            named.setdefault(run_id, set()).add(call_id)
        for run_id in dict.fromkeys(m.run_id for m in ordered if m.role == "assistant" and m.run_id):
            self._add_run(session, run_id, named.get(run_id, set()), rows)
        return rows

    def _message(self, message: Message) -> JsonObject:
        return {
            **_values(message, leave_out=("client_id", "position", "conversation_id")),
            "id": self.messages[message.id],
            "parent_id": self.messages.get(message.parent_id or ""),
            "run_id": self.runs.get(message.run_id or ""),
        }

    def _add_run(self, session: Session, run_id: str, call_ids: set[str], rows: Rows) -> None:
        """The run with those of its calls that are named, and its steps so far."""
        run = session.get(Run, run_id)
        if run is None:
            return
        if run_id not in self.made:
            self.made.add(run_id)
            rows.runs.append(self._run(run))
        named = ToolCall.run_id == run_id, ToolCall.id.in_(call_ids)
        calls = session.scalars(select(ToolCall).where(*named)).all() if call_ids else []
        # When a call was made is kept with it; the column is what the statistics of tools count by.
        rows.calls += [{**_values(call, leave_out=("started_at",)), "run_id": self.runs[run_id]} for call in calls]
        before = self.last_step.get(run_id, -1)
        until = max((call.step for call in calls), default=before) + 1
        steps = select(Step).where(Step.run_id == run_id, Step.index > before, Step.index <= until)
        for step in session.scalars(steps.where(Step.status != "running")):
            rows.steps.append({**_values(step), "run_id": self.runs[run_id]})
        self.last_step[run_id] = max(before, until)

    def _run(self, run: Run) -> JsonObject:
        values = {name: getattr(run, name) for name in OF_RUN}
        values["message_id"] = self.messages.get(run.message_id or "")
        status = "completed" if run.status in GOING_ON else run.status
        ended = run.finished_at or utc_now()
        return copied_run(
            self.draft, run.created_at, **values, id=self.runs[run.id], status=status, finished_at=ended,
            step_count=run.step_count,
        )  # fmt: skip


def fork(runtime: Runtime, user_id: str, conversation_id: str, message_id: str) -> JsonObject:
    """CONVERSATION: a copy of the path up to and with a message, in the same project, with the same settings.

    Raises NotFound for what is not the user's, Conflict for a message that waits or was taken back.
    """
    with runtime.db.read() as session:
        source = get_conversation(session, user_id, conversation_id)
        path = _path(session, source, message_id)
        draft = _draft(runtime, session, source, message_id)
    copier = _Copier(
        draft,
        messages={place.id: new_id() for place in path},
        runs={place.run_id: new_id() for place in path if place.run_id and place.role == "assistant"},
    )
    with building(runtime) as drafts:
        drafts.append(draft)
        draft.begin()
        for part in _parts(path):
            with runtime.db.read() as session:
                rows = copier.rows(session, part)
            draft.add(rows)
        with runtime.db.write() as session:
            draft.show(session)
    runtime.tabs.publish(user_id, "conversation", draft.id)
    return show_conversation(runtime, user_id, draft.id)


def _draft(runtime: Runtime, session: Session, source: Conversation, message_id: str) -> Draft:
    values: JsonObject = {name: getattr(source, name) for name in KEPT}
    values |= {"forked_from_id": source.id, "forked_from_message_id": message_id}
    values["title"] = forked_title(source.title, ENDINGS[language_of(session, source.owner_id)])
    return Draft(runtime, source.owner_id, values, tags.of(session, [source.id]).get(source.id, []))


def forked_title(title: str, ending: str) -> str:
    """A title that says that it is a fork's, once, within the limit of titles."""
    plain = title.removesuffix(ending)
    return (plain[: TITLE_CHARS - len(ending)] + ending).strip()


def _path(session: Session, conversation: Conversation, message_id: str) -> list[_Place]:
    """The path to a message of the conversation, oldest first."""
    message = session.get(Message, message_id)
    if message is None or message.conversation_id != conversation.id:
        raise NotFound("There is no such message in this conversation.")
    if message.state != "sent":
        raise Conflict(
            "This message waits for its run, was taken back or was deleted; fork at a message that was sent."
        )
    columns = (Message.id, Message.parent_id, Message.role, Message.run_id, Message.position)
    size = (func.length(Message.content) + func.length(Message.reasoning)).label("size")
    path = select(*columns, size).where(Message.id == message_id).cte("path", recursive=True)
    path = path.union_all(select(*columns, size).where(Message.id == path.c.parent_id))
    rows = session.execute(select(path.c.id, path.c.role, path.c.run_id, path.c.size).order_by(path.c.position))
    return [_Place(*row) for row in rows]


def _parts(path: Sequence[_Place]) -> Iterator[list[_Place]]:
    """The path in pieces that are small enough for one transaction."""
    part: list[_Place] = []
    size = 0
    for place in path:
        if part and (len(part) == PART_MESSAGES or size + place.size > PART_CHARS):
            yield part
            part, size = [], 0
        part.append(place)
        size += place.size
    if part:
        yield part


def _values(row: Base, leave_out: Sequence[str] = ()) -> dict[str, Any]:
    return {c.key: getattr(row, c.key) for c in row.__table__.columns if c.key not in leave_out}
