"""Conversations: inside a project or outside, moved, renamed, put in order, deleted and put back."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, InvalidInput, NotFound
from ..ids import iso, utc_now
from ..models import GOING_ON, Conversation, Message, Run
from ..stores import retention, search_index
from . import tags
from .projects import get_project, stands
from .runtime import Runtime

CHANGEABLE = ("title", "model", "system_prompt", "temperature", "max_tokens", "thinking", "tools_off")
# Where a conversation is kept says nothing of when it was used last.
KEEPING = ("pinned", "archived", "temporary")


def conversation_json(row: Conversation, active_run_id: str | None, its_tags: Sequence[str] = ()) -> JsonObject:
    """A conversation with everything about it but its messages."""
    return {
        **summary_json(row, active_run_id, its_tags),
        "system_prompt": row.system_prompt,
        "temperature": row.temperature,
        "max_tokens": row.max_tokens,
        "thinking": row.thinking,
        "tools_off": row.tools_off,
    }


def summary_json(row: Conversation, active_run_id: str | None, its_tags: Sequence[str]) -> JsonObject:
    """A conversation as lists show it."""
    forked_from = {"conversation_id": row.forked_from_id, "message_id": row.forked_from_message_id}
    return {
        "id": row.id,
        "title": row.title,
        "project_id": row.project_id,
        "model": row.model,
        "active_leaf_id": row.active_leaf_id,
        "active_run_id": active_run_id,
        "pinned": row.pinned,
        "archived": row.archived,
        "tags": list(its_tags),
        "temporary": row.temporary,
        "forked_from": forked_from if row.forked_from_id else None,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
        "deleted_at": iso(row.deleted_at),
    }


def active_runs(session: Session, conversation_ids: Sequence[str]) -> dict[str, str]:
    """The run that goes on in each of these conversations, where there is one."""
    query = (
        select(Run.conversation_id, Run.id)
        .where(Run.conversation_id.in_(conversation_ids), Run.kind == "chat", Run.status.in_(GOING_ON))
        .order_by(Run.created_at)
    )
    return {row.conversation_id: row.id for row in session.execute(query) if row.conversation_id}


def get_conversation(session: Session, user_id: str, conversation_id: str, *, deleted: bool = False) -> Conversation:
    """The user's conversation. Raises NotFound for another's, and for a deleted one unless asked for."""
    row = session.get(Conversation, conversation_id)
    if row is None or row.owner_id != user_id or not stands(row.deleted_at, deleted):
        raise NotFound("There is no such conversation.")
    return row


def show_conversation(runtime: Runtime, user_id: str, conversation_id: str) -> JsonObject:
    """One conversation; `active_run_id` lets a page attach again to a run that goes on."""
    with runtime.db.read() as session:
        return _shown(session, get_conversation(session, user_id, conversation_id))


def create_conversation(runtime: Runtime, user_id: str, values: JsonObject) -> JsonObject:
    """Make a conversation from some of CHANGEABLE, `project_id`, `tags` and `temporary`.

    Raises NotFound for an unknown project.
    """
    with runtime.db.write() as session:
        project_id = values.get("project_id")
        if project_id is not None:
            get_project(session, user_id, project_id)
        given = {name: values[name] for name in CHANGEABLE if values.get(name) is not None}
        temporary = bool(values.get("temporary"))
        row = Conversation(
            owner_id=user_id, project_id=project_id, temporary=temporary, updated_at=utc_now(), **given
        )  # fmt: skip
        session.add(row)
        session.flush()
        index_title(session, row)
        tags.put(session, row.id, values.get("tags") or [])
        answer = _shown(session, row)
    runtime.tabs.publish(user_id, "conversation", row.id)
    return answer


def update_conversation(runtime: Runtime, user_id: str, conversation_id: str, changes: JsonObject) -> JsonObject:
    """Change some of CHANGEABLE and KEEPING, its tags, its project (null: none), or choose another branch."""
    with runtime.db.write() as session:
        row = get_conversation(session, user_id, conversation_id)
        for name in (*CHANGEABLE, *KEEPING):
            if name in changes:
                setattr(row, name, changes[name])
        if "tags" in changes:
            tags.put(session, conversation_id, changes["tags"])
        if "project_id" in changes:
            _move(session, user_id, row, changes["project_id"])
        if changes.get("active_leaf_id") is not None:
            _choose_leaf(session, row, changes["active_leaf_id"])
        if not changes.keys() <= {*KEEPING, "tags"}:
            row.updated_at = utc_now()
        if "title" in changes:
            index_title(session, row)
        answer = _shown(session, row)
    runtime.tabs.publish(user_id, "conversation", conversation_id)
    return answer


def delete_conversation(runtime: Runtime, user_id: str, conversation_id: str) -> None:
    """Hide a conversation; a run that goes on in it is cancelled."""
    with runtime.db.write() as session:
        row = get_conversation(session, user_id, conversation_id)
        row.deleted_at = utc_now()
        running = active_runs(session, [conversation_id])
    for run_id in running.values():
        runtime.queue.cancel(run_id)
    runtime.tabs.publish(user_id, "conversation", conversation_id)


def delete_for_good(runtime: Runtime, user_id: str, conversation_id: str) -> None:
    """Put a deleted conversation out of reach at once; housekeeping removes it.

    Raises NotFound when it is not deleted, Conflict while a run of it ends.
    """
    with runtime.db.write() as session:
        row = get_conversation(session, user_id, conversation_id, deleted=True)
        if active_runs(session, [conversation_id]):
            raise Conflict("A run of this conversation is just being stopped; try again in a moment.")
        row.deleted_at = retention.out_of_reach()
    runtime.tabs.publish(user_id, "conversation", conversation_id)


def restore_conversation(runtime: Runtime, user_id: str, conversation_id: str) -> JsonObject:
    """Take a deletion back. Raises NotFound when there is none."""
    with runtime.db.write() as session:
        row = get_conversation(session, user_id, conversation_id, deleted=True)
        row.deleted_at = None
        answer = _shown(session, row)
    runtime.queue.look_again()  # for messages that wait in it
    runtime.tabs.publish(user_id, "conversation", conversation_id)
    return answer


def index_title(session: Session, row: Conversation) -> None:
    """Make the title findable."""
    place = {"conversation_id": row.id, "project_id": row.project_id}
    search_index.put(session.connection(), "conversation", row.id, row.title, **place)


def _shown(session: Session, row: Conversation) -> JsonObject:
    its_tags = tags.of(session, [row.id]).get(row.id, [])
    return conversation_json(row, active_runs(session, [row.id]).get(row.id), its_tags)


def _move(session: Session, user_id: str, row: Conversation, project_id: str | None) -> None:
    if project_id is not None:
        get_project(session, user_id, project_id)
    row.project_id = project_id


def _choose_leaf(session: Session, row: Conversation, message_id: str) -> None:
    message = session.get(Message, message_id)
    if message is None or message.conversation_id != row.id or message.state != "sent":
        raise InvalidInput("There is no such message here.", {"active_leaf_id": ["no message of this conversation"]})
    row.active_leaf_id = message_id
