"""Finds a text in one conversation, as a person sees it on the page: what is said, not what tools were given."""

import json

from sqlalchemy import ColumnElement, Text, cast, func, or_, select

from ..agent.types import JsonObject
from ..models import Message
from .conversations import get_conversation
from .paging import Page, decode_cursor, encode_cursor
from .runtime import Runtime
from .search import snippet

MAX_OFFSET = 10_000


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
    """Rows that may hold the text; SQLite's lower() knows ASCII only, and blocks are JSON of either spelling."""
    ways = [*_spellings(wanted), *_spellings(wanted.lower())]
    columns = func.lower(Message.content), func.lower(cast(Message.blocks, Text))
    plain = Message.content, cast(Message.blocks, Text)
    return or_(*(func.instr(column, way) > 0 for way in dict.fromkeys(ways) for column in (*columns, *plain)))


def _spellings(text: str) -> list[str]:
    return [text, *(json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))]


def _where(content: str, blocks: list[JsonObject] | None, wanted: str) -> str | None:
    """The text of a message that holds what is wanted: its own, or one that was said between calls."""
    said = [content, *(str(block.get("text", "")) for block in blocks or [] if block.get("type") == "text")]
    folded = wanted.casefold()
    return next((text for text in said if folded in " ".join(text.split()).casefold()), None)
