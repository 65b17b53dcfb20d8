"""Tags of conversations: free words, kept as they were written, compared without regard to case."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from ..models import ConversationTag


def folded(tag: str) -> str:
    """A tag as it is compared."""
    return tag.casefold()


def of(session: Session, conversation_ids: Sequence[str]) -> dict[str, list[str]]:
    """The tags of each of these conversations that has any, in their order."""
    query = select(ConversationTag).where(ConversationTag.conversation_id.in_(conversation_ids))
    found: dict[str, list[str]] = defaultdict(list)
    for row in session.scalars(query.order_by(ConversationTag.position)):
        found[row.conversation_id].append(row.tag)
    return found


def put(session: Session, conversation_id: str, tags: Sequence[str]) -> None:
    """Let a conversation have these tags and no others; of two that are the same the first counts."""
    session.execute(delete(ConversationTag).where(ConversationTag.conversation_id == conversation_id))
    unique: dict[str, str] = {}
    for tag in tags:
        unique.setdefault(folded(tag), tag)
    for position, (key, tag) in enumerate(unique.items()):
        session.add(ConversationTag(conversation_id=conversation_id, folded=key, tag=tag, position=position))
    session.flush()
