"""Full-text search over messages, titles and projects, temporary conversations left out; what a person types is words, never query syntax."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal, literal_column, or_, select, text, union_all
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..models import Conversation, Message, Project
from .paging import Page, decode_cursor, encode_cursor
from .runtime import Runtime

# A trigram index finds nothing for fewer characters.
INDEXED_CHARS = 3
MAX_WORDS = 10
MAX_OFFSET = 10_000
SNIPPET_BEFORE_CHARS = 40
SNIPPET_CHARS = 160

VISIBLE = text(
    "SELECT s.kind, s.object_id, s.conversation_id, p.id AS project_id, s.text, COALESCE(c.title, p.name) AS title "
    "FROM search_index AS s "
    "LEFT JOIN conversations AS c ON c.id = s.conversation_id "
    "LEFT JOIN projects AS p ON p.id = COALESCE(c.project_id, CASE WHEN s.kind = 'project' THEN s.object_id END) "
    "LEFT JOIN messages AS m ON m.id = CASE WHEN s.kind = 'message' THEN s.object_id END "
    "WHERE search_index MATCH :words "
    "AND COALESCE(c.owner_id, p.owner_id) = :user AND c.deleted_at IS NULL AND p.deleted_at IS NULL "
    "AND c.temporary IS NOT TRUE AND (s.kind <> 'message' OR m.state NOT IN ('withdrawn', 'deleted')) "
    "ORDER BY s.rank, s.object_id DESC LIMIT :limit OFFSET :offset"
)


@dataclass(frozen=True, slots=True)
class _Hit:
    kind: str
    object_id: str
    conversation_id: str | None
    project_id: str | None
    text: str
    title: str | None


def search(runtime: Runtime, user_id: str, query: str, page: Page) -> JsonObject:
    """`{items: [{type, id, conversation_id, project_id, title, snippet}], next_cursor}`, best first.

    Every word must occur. Words of three characters or more use the index; shorter ones are looked for in
    the plain columns, newest first.
    """
    words = query.replace("\0", " ").split()[:MAX_WORDS]  # FTS5 reads to the first NUL
    offset = decode_cursor(page.cursor, (int,))[0] if page.cursor else 0
    offset = min(max(offset, 0), MAX_OFFSET)
    if not words:
        return {"items": [], "next_cursor": None}
    with runtime.db.read() as session:
        find = _indexed if all(len(word) >= INDEXED_CHARS for word in words) else _plain
        hits = find(session, user_id, words, page.limit + 1, offset)
    more = len(hits) > page.limit
    return {
        "items": [_item(hit, words) for hit in hits[: page.limit]],
        "next_cursor": encode_cursor(offset + page.limit) if more else None,
    }


def _indexed(session: Session, user_id: str, words: list[str], limit: int, offset: int) -> list[_Hit]:
    if session.get_bind().dialect.name != "sqlite":
        return _plain(session, user_id, words, limit, offset)
    phrase = " AND ".join('"' + word.replace('"', '""') + '"' for word in words)
    values = {"words": phrase, "user": user_id, "limit": limit, "offset": offset}
    rows = session.execute(VISIBLE, values)
    return [_Hit(r.kind, r.object_id, r.conversation_id, r.project_id, r.text, r.title) for r in rows]


def _plain(session: Session, user_id: str, words: list[str], limit: int, offset: int) -> list[_Hit]:
    stands = Conversation.deleted_at.is_(None), Conversation.temporary.is_(False)
    visible = and_(Conversation.owner_id == user_id, *stands, _project_stands())
    messages = (
        select(
            literal("message").label("kind"), Message.id.label("object_id"), Message.conversation_id,
            Conversation.project_id, Message.content.label("text"), Conversation.title,
            Message.created_at.label("moment"),
        )
        .join(Conversation, Conversation.id == Message.conversation_id)
        .where(visible, Message.state.not_in(("withdrawn", "deleted")), has_all(Message.content, words))
    )  # fmt: skip
    titles = select(
        literal("conversation"), Conversation.id, Conversation.id, Conversation.project_id, Conversation.title,
        Conversation.title, Conversation.updated_at,
    ).where(visible, has_all(Conversation.title, words))  # fmt: skip
    named = Project.name + "\n" + Project.description
    projects: Select[*tuple[Any, ...]] = select(
        literal("project"), Project.id, literal_column("NULL"), Project.id, named, Project.name, Project.updated_at
    ).where(Project.owner_id == user_id, Project.deleted_at.is_(None), has_all(named, words))
    found = union_all(messages, titles, projects).subquery()
    rows = session.execute(select(found).order_by(found.c.moment.desc()).limit(limit).offset(offset))
    return [_Hit(r.kind, r.object_id, r.conversation_id, r.project_id, r.text, r.title) for r in rows]


def _project_stands() -> ColumnElement[bool]:
    gone = select(Project.id).where(Project.deleted_at.is_not(None))
    return or_(Conversation.project_id.is_(None), Conversation.project_id.not_in(gone))


def has_all(column: Any, words: list[str]) -> ColumnElement[bool]:
    """True where a text holds every one of these words."""
    # instr, since LIKE would take % and _ as syntax; lower() knows ASCII only, which is what SQLite has.
    return and_(*(func.instr(func.lower(column), func.lower(word)) > 0 for word in words))


def _item(hit: _Hit, words: list[str]) -> JsonObject:
    return {
        "type": hit.kind,
        "id": hit.object_id,
        "conversation_id": hit.conversation_id,
        "project_id": hit.project_id,
        "title": hit.title,
        "snippet": snippet(hit.text, words),
    }


def snippet(whole: str, words: list[str]) -> str:
    """The text around the first word found, white space collapsed, cut ends marked."""
    plain = " ".join(whole.split())
    folded = plain.casefold()
    places = [at for word in words if (at := folded.find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - SNIPPET_BEFORE_CHARS)
    piece = plain[start : start + SNIPPET_CHARS]
    return ("…" if start else "") + piece + ("…" if start + SNIPPET_CHARS < len(plain) else "")
