"""Messages that people send while a run goes on: they enter between steps, a few at a time, and none is lost."""

from ..ids import iso_now
from .answer import Answer
from .pairing import is_blank
from .state import RunState
from .types import Event, Message, MessageRecord, Record, WaitingMessage

MAX_MESSAGES_PER_DRAIN = 3
MAX_DRAINS = 5


def drain(run: RunState) -> bool:
    """Inject what waits, if the run may still answer it with tools; True if something was injected.

    What is not taken stays waiting and starts the next run.
    """
    if run.drains >= MAX_DRAINS or run.guard.check_before_step() is not None:
        return False
    messages = _waiting(run)
    if not messages:
        return False
    run.drains += 1
    _record(run, messages)
    run.transcript += [user_message(m) for m in messages]
    return True


def user_message(message: WaitingMessage) -> Message:
    """An injected message as the model gets it: attached files by name, to be read with the file tools."""
    names = [str(a.get("path") or a.get("name")) for a in message.attachments]
    listed = f"[Attached project files: {', '.join(names)}]" if names else ""
    return Message("user", "\n\n".join(t for t in (message.content.strip(), listed) if t), key=message.id)


def _waiting(run: RunState) -> list[WaitingMessage]:
    limit = MAX_MESSAGES_PER_DRAIN + len(run.ignored_messages)
    found = run.doors.store.waiting_messages(limit)
    run.ignored_messages |= {m.id for m in found if is_blank(m.content) and not m.attachments}
    return [m for m in found if m.id not in run.ignored_messages][:MAX_MESSAGES_PER_DRAIN]


def _record(run: RunState, messages: list[WaitingMessage]) -> None:
    """Close the answer so far, add the messages after it, begin a new answer after them."""
    rows: list[Record] = []
    events: list[Event] = []
    conversation = run.spec.conversation_id or ""
    parent = run.answer.parent_id
    if (answered := run.answer.to_record(conversation, run.spec.run_id)) is not None:
        rows.append(answered)
        events.append(run.recorder.event("message.completed", message=answered.to_json()))
        parent = answered.id
    for message in messages:
        record = _injected(run, message, conversation, parent)
        rows.append(record)
        events.append(run.recorder.event("message.injected", message=record.to_json(), step=run.guard.steps))
        parent = message.id
    run.answer = Answer(parent)
    run.recorder.write(rows, events)


def _injected(run: RunState, message: WaitingMessage, conversation: str, parent: str | None) -> MessageRecord:
    return MessageRecord(
        id=message.id,
        conversation_id=conversation,
        parent_id=parent,
        role="user",
        content=message.content,
        run_id=run.spec.run_id,
        created_at=iso_now(),
        attachments=list(message.attachments),
    )
