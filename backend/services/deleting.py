"""Deletes messages with all that follows them on their branches, and puts them back.

Ten thousand may follow: one statement changes the state of all. The search looks at the state; what is deleted leaves
the full-text index when it is removed for good.
"""

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, select, update
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, NotFound
from ..ids import utc_now
from ..models import Conversation, Message
from .conversations import active_runs
from .messages import get_message, in_state, load, newest_below
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
        gone = Message.id.in_(_below(conversation.id, message_id, SENT))
        _change(session, gone, state=DELETED, deleted_at=utc_now())
        leaf = session.scalar(select(Message.state).where(Message.id == conversation.active_leaf_id))
        if leaf == DELETED:
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
        # What was deleted in one go; a part that had been deleted before stays deleted.
        below = Message.id.in_(_below(conversation.id, message_id, DELETED))
        _change(session, and_(below, Message.deleted_at == message.deleted_at), state=SENT, deleted_at=None)
        conversation.active_leaf_id = newest_below(session, conversation.id, message_id)
        session.flush()
        answer = load(session, conversation.id, [message_id])[0]
    runtime.tabs.publish(user_id, "conversation", conversation.id)
    return answer


def _check_idle(session: Session, conversation: Conversation) -> None:
    if active_runs(session, [conversation.id]):
        raise Conflict("A run of this conversation goes on; stop it or wait for its end.")


def _change(session: Session, which: ColumnElement[bool], **values: Any) -> None:
    session.execute(update(Message).where(which).values(values), execution_options={"synchronize_session": False})
    session.expire_all()


def _below(conversation_id: str, message_id: str, state: str) -> Select[tuple[str]]:
    """The ids of the message and of all that follows it on any branch, of one state."""
    down = select(Message.id).where(Message.id == message_id).cte("down", recursive=True)
    here = Message.conversation_id == conversation_id, Message.parent_id == down.c.id, in_state(state)
    down = down.union_all(select(Message.id).where(*here))
    return select(down.c.id)


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
