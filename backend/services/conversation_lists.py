"""Lists of conversations: filtered, sorted, a page at a time, and the tags that are in use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, func, select, tuple_
from sqlalchemy.orm import Session, aliased

from ..agent.types import JsonObject
from ..ids import utc_now
from ..models import Conversation, ConversationTag, Message, Project
from ..stores import retention
from . import tags
from .conversations import active_runs, summary_json
from .paging import Page, decode_cursor, encode_cursor, list_json, newest_first
from .runtime import Runtime
from .search import has_all

Sort = Literal["updated", "created", "title"]
MAX_WORDS = 10
PREVIEW_CHARS = 160


@dataclass(frozen=True, slots=True)
class Filter:
    """Which conversations: `project_id="none"` means those outside projects, None for a flag that it does not matter."""

    project_id: str | None = None
    archived: bool | None = False
    pinned: bool | None = None
    tag: str | None = None
    words: str | None = None
    deleted: bool = False


def list_conversations(
    runtime: Runtime, user_id: str, page: Page, wanted: Filter | None = None, sort: Sort = "updated"
) -> JsonObject:
    """The user's conversations, none that are temporary: the last used first, or sorted otherwise.

    With `deleted` those that can be restored, the last deleted first.
    """
    wanted = wanted or Filter()
    order, cursor_of = _order("deleted" if wanted.deleted else sort)
    with runtime.db.read() as session:
        rows = session.scalars(order(_which(user_id, wanted), page)).all()
        ids = [row.id for row in rows]
        active, tagged, words = active_runs(session, ids), tags.of(session, ids), _previews(session, rows)

    def shown(row: Conversation) -> JsonObject:
        summary = summary_json(row, active.get(row.id), tagged.get(row.id, []))
        return {**summary, "preview": words.get(row.active_leaf_id or "")}

    return list_json(rows, page, shown, cursor_of)


def _previews(session: Session, rows: Sequence[Conversation]) -> dict[str, str]:
    """The beginning of each conversation's last message, by the message's id; without those that have no words."""
    leaves = [row.active_leaf_id for row in rows if row.active_leaf_id]
    beginning = func.substr(Message.content, 1, 2 * PREVIEW_CHARS)
    found = session.execute(select(Message.id, beginning).where(Message.id.in_(leaves)))
    return {key: line for key, text in found if (line := " ".join(text.split())[:PREVIEW_CHARS])}


def list_tags(runtime: Runtime, user_id: str, project_id: str | None = None) -> JsonObject:
    """`{items: [{tag, count}]}`: the tags of the conversations that `list_conversations` shows, by name."""
    shown = _which(user_id, Filter(project_id)).with_only_columns(Conversation.id)
    query = (
        select(func.min(ConversationTag.tag).label("tag"), func.count().label("count"))
        .where(ConversationTag.conversation_id.in_(shown))
        .group_by(ConversationTag.folded)
        .order_by(ConversationTag.folded)
    )
    with runtime.db.read() as session:
        return {"items": [{"tag": row.tag, "count": row.count} for row in session.execute(query).mappings().all()]}


# ---------------------------------------------------------------- which
def _which(user_id: str, wanted: Filter) -> Select[Conversation]:
    query = select(Conversation).where(Conversation.owner_id == user_id, Conversation.temporary.is_(False))
    query = query.where(_deleted() if wanted.deleted else Conversation.deleted_at.is_(None))
    query = query.where(_in_project(user_id, wanted.project_id))
    if wanted.archived is not None and not wanted.deleted:
        query = query.where(Conversation.archived == wanted.archived)
    if wanted.pinned is not None:
        query = query.where(Conversation.pinned.is_(wanted.pinned))
    if wanted.tag is not None:
        same = ConversationTag.folded == tags.folded(wanted.tag)
        query = query.where(Conversation.id.in_(select(ConversationTag.conversation_id).where(same)))
    if words := (wanted.words or "").replace("\0", " ").split()[:MAX_WORDS]:
        query = query.where(has_all(Conversation.title, words))
    return query


def _deleted() -> ColumnElement[bool]:
    # Not null is said too, since that is what the index is made for.
    return Conversation.deleted_at.is_not(None) & (
        Conversation.deleted_at > utc_now() - timedelta(days=retention.DELETED_KEPT_DAYS)
    )


def _in_project(user_id: str, project_id: str | None) -> ColumnElement[bool]:
    if project_id == "none":
        return Conversation.project_id.is_(None)
    if project_id is not None:
        return Conversation.project_id == project_id
    gone = select(Project.id).where(Project.owner_id == user_id, Project.deleted_at.is_not(None))
    return Conversation.project_id.is_(None) | Conversation.project_id.not_in(gone)


# ---------------------------------------------------------------- in which order
_Order = Callable[[Select[Conversation], Page], Select[Any]]


def _order(sort: Sort | Literal["deleted"]) -> tuple[_Order, Callable[[Conversation], str]]:
    """How a query is put in order and cut to a page, and the cursor of a row."""
    if sort == "title":
        return _by_title, lambda row: encode_cursor(row.id)
    column = {
        "updated": Conversation.updated_at, "created": Conversation.created_at, "deleted": Conversation.deleted_at,
    }[sort]  # fmt: skip

    def cursor_of(row: Conversation) -> str:
        return encode_cursor(getattr(row, column.key), row.id)

    return lambda query, page: newest_first(query, page, column, Conversation.id), cursor_of


def _by_title(query: Select[Conversation], page: Page) -> Select[Any]:
    title = func.lower(Conversation.title)
    if page.cursor:  # names the last one seen: a long title would be too long for it
        (last,) = decode_cursor(page.cursor, (str,))
        seen = aliased(Conversation)
        its_title = select(func.lower(seen.title)).where(seen.id == last, seen.owner_id == Conversation.owner_id)
        query = query.where(tuple_(title, Conversation.id) > tuple_(its_title.scalar_subquery(), last))
    return query.order_by(title, Conversation.id).limit(page.limit + 1)
