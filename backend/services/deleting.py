"""Deletes messages with all that follows them on their branches, and puts them back."""

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, NotFound
from ..ids import utc_now
from ..models import Conversation, Message
from ..stores import search_index
from .conversations import active_runs
from .messages import get_message, load, newest_below
from .runtime import Runtime

SENT, DELETED = "sent", "deleted"


def delete_message(runtime: Runtime, user_id: str, message_id: str) -> None:
    """Hide a message with everything below it; the newest version beside it, else its parent, is shown instead.

    Raises NotFound, Conflict while a run goes on.
    """
    with runtime.db.write() as session:
        message, conversation = get_message(session, user_id, message_id)
        if message.state != SENT:
            raise NotFound("There is no such message.")
        _check_idle(session, conversation)
        gone = _below(session, conversation.id, message_id, SENT)
        moment = utc_now()
        session.execute(update(Message).where(Message.id.in_(gone)).values(state=DELETED, deleted_at=moment))
        for one in gone:
            search_index.remove(session.connection(), "message", one)
        if conversation.active_leaf_id in gone:
            conversation.active_leaf_id = _leaf_instead(session, message)
        conversation.frontier = None
    runtime.tabs.publish(user_id, "conversation", conversation.id)


def restore_message(runtime: Runtime, user_id: str, message_id: str) -> JsonObject:
    """Take a deletion back and show the message again: MESSAGE. Raises NotFound, Conflict."""
    with runtime.db.write() as session:
        message, conversation = get_message(session, user_id, message_id)
        if message.state != DELETED:
            raise NotFound("There is no such deleted message.")
        parent = session.get(Message, message.parent_id) if message.parent_id else None
        if parent is not None and parent.state == DELETED:
            raise Conflict("The message before it is deleted too; restore that one first.")
        _check_idle(session, conversation)
        together = _deleted_together(session, conversation.id, message)
        session.execute(update(Message).where(Message.id.in_(together)).values(state=SENT, deleted_at=None))
        for row in session.scalars(select(Message).where(Message.id.in_(together))):
            place = {"conversation_id": conversation.id, "project_id": conversation.project_id}
            search_index.put(session.connection(), "message", row.id, row.content, **place)
        conversation.active_leaf_id = newest_below(session, conversation.id, message_id)
        session.flush()
        answer = load(session, conversation.id, [message_id])[0]
    runtime.tabs.publish(user_id, "conversation", conversation.id)
    return answer


def _check_idle(session: Session, conversation: Conversation) -> None:
    if active_runs(session, [conversation.id]):
        raise Conflict("A run of this conversation goes on; stop it or wait for its end.")


def _below(session: Session, conversation_id: str, message_id: str, state: str) -> set[str]:
    """The message and all that follows it on any branch, of one state."""
    down = select(Message.id).where(Message.id == message_id).cte("down", recursive=True)
    here = Message.conversation_id == conversation_id, Message.parent_id == down.c.id, Message.state == state
    down = down.union_all(select(Message.id).where(*here))
    return set(session.scalars(select(down.c.id)))


def _deleted_together(session: Session, conversation_id: str, message: Message) -> set[str]:
    """What was deleted in one go; a part that had been deleted before stays deleted."""
    ids = _below(session, conversation_id, message.id, DELETED)
    same = Message.id.in_(ids), Message.deleted_at == message.deleted_at
    return set(session.scalars(select(Message.id).where(*same)))


def _leaf_instead(session: Session, message: Message) -> str | None:
    beside = (
        select(Message.id)
        .where(Message.conversation_id == message.conversation_id, Message.state == SENT)
        .where(Message.parent_id == message.parent_id if message.parent_id else Message.parent_id.is_(None))
        .order_by(Message.position.desc())
        .limit(1)
    )
    version = session.scalar(beside)
    return newest_below(session, message.conversation_id, version) if version else message.parent_id
