"""Finds a text in one conversation, as a person sees it on the page: what is said, not what tools were given."""

import json

from sqlalchemy import ColumnElement, Text, and_, cast, func, or_, select, true

from ..agent.types import JsonObject
from ..models import Message
from .conversations import get_conversation
from .paging import Page, decode_cursor, encode_cursor
from .runtime import Runtime
from .search import snippet

MAX_OFFSET = 10_000
# Enough to leave out most rows; what is found is looked at whole.
MAX_PIECES = 8


def find_in_conversation(runtime: Runtime, user_id: str, conversation_id: str, wanted: str, page: Page) -> JsonObject:
    """`{items: [{type: "message", id, …, snippet}], next_cursor}`, the newest first, on every branch. Raises NotFound.

    The text is looked for as it is, whatever the case of its letters, also in what an answer said between its calls.
    """
    wanted = " ".join(wanted.replace("\0", " ").split())
    offset = min(max(decode_cursor(page.cursor, (int,))[0] if page.cursor else 0, 0), MAX_OFFSET)
    with runtime.db.read() as session:
        conversation = get_conversation(session, user_id, conversation_id)
        query = (
            select(Message.id, Message.content, Message.blocks)
            .where(Message.conversation_id == conversation_id, Message.state == "sent", _may_hold(wanted))
            .order_by(Message.position.desc())
        )
        rows = session.execute(query).all() if wanted else []
        texts = [(row.id, said) for row in rows if (said := _where(row.content, row.blocks, wanted)) is not None]
        place = {"conversation_id": conversation_id, "project_id": conversation.project_id, "title": conversation.title}
    found = texts[offset : offset + page.limit]
    more = len(texts) > offset + page.limit
    return {
        "items": [{"type": "message", "id": key, **place, "snippet": snippet(said, [wanted])} for key, said in found],
        "next_cursor": encode_cursor(offset + page.limit) if more else None,
    }


def _may_hold(wanted: str) -> ColumnElement[bool]:
    """Rows that may hold the text: those with all its pieces. SQLite's lower() knows ASCII only; blocks are JSON."""
    columns = func.lower(Message.content), func.lower(cast(Message.blocks, Text))
    words = [sorted(_spellings(piece)) for piece in _pieces(wanted)]
    return and_(true(), *(or_(*(func.instr(c, way) > 0 for way in ways for c in columns)) for ways in words))


def _pieces(wanted: str) -> list[str]:
    """Its words, without the letters whose case only Python can tell: é may stand as É, and a space as a line's end."""
    return "".join(c if c.isascii() or c.lower() == c.upper() else " " for c in wanted.lower()).split()[:MAX_PIECES]


def _spellings(text: str) -> set[str]:
    return {text, *(json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))}


def _where(content: str, blocks: list[JsonObject] | None, wanted: str) -> str | None:
    """The text of a message that holds what is wanted: its own, or one that was said between calls."""
    said = [content, *(str(block.get("text", "")) for block in blocks or [] if block.get("type") == "text")]
    folded = wanted.casefold()
    return next((text for text in said if folded in " ".join(text.split()).casefold()), None)
