"""Conversations, their tags, and the tree of their messages."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Float, ForeignKey, Index, Integer, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from .base import Base, Identified

IS_DELETED = text("deleted_at IS NOT NULL")


def _index_of_some(name: str, *columns: str, which: str) -> Index:
    """An index of few rows; SQLite takes it only for a query that holds the same words."""
    on_sqlite = text(which.replace("IS true", "IS 1"))
    return Index(f"ix_conversations_{name}", *columns, sqlite_where=on_sqlite, postgresql_where=text(which))


class Conversation(Identified, Base):
    """A conversation, inside a project or outside; `frontier` is what the request builder remembers.

    A temporary one stands in no list and is removed a day after its last message.
    """

    __tablename__ = "conversations"
    __table_args__ = (
        Index("ix_conversations_owner_updated", "owner_id", "updated_at"),
        Index("ix_conversations_owner_archived", "owner_id", "archived", "updated_at"),
        Index("ix_conversations_owner_created", "owner_id", "created_at"),
        _index_of_some("owner_pinned", "owner_id", "pinned", "archived", "updated_at", which="pinned IS true"),
        _index_of_some("owner_deleted", "owner_id", "deleted_at", which="deleted_at IS NOT NULL"),
        _index_of_some("temporary", "created_at", which="temporary IS true"),
    )
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    project_id: Mapped[str | None] = mapped_column(ForeignKey("projects.id"), index=True)
    title: Mapped[str] = mapped_column(String(300), default="")
    model: Mapped[str | None] = mapped_column(String(200))
    system_prompt: Mapped[str | None] = mapped_column(Text)
    temperature: Mapped[float | None] = mapped_column(Float)
    max_tokens: Mapped[int | None]
    thinking: Mapped[bool | None] = mapped_column(Boolean)
    tools_off: Mapped[list[Any]] = mapped_column(default=list, server_default=text("'[]'"))
    pinned: Mapped[bool] = mapped_column(Boolean, default=False)
    archived: Mapped[bool] = mapped_column(Boolean, default=False)
    temporary: Mapped[bool] = mapped_column(Boolean, default=False)
    forked_from_id: Mapped[str | None] = mapped_column(String(36))
    forked_from_message_id: Mapped[str | None] = mapped_column(String(36))
    active_leaf_id: Mapped[str | None] = mapped_column(String(36))
    last_position: Mapped[int] = mapped_column(Integer, default=0)
    frontier: Mapped[dict[str, Any] | None]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class ConversationTag(Base):
    """A tag of a conversation as its owner wrote it; `folded` is how it is compared."""

    __tablename__ = "conversation_tags"
    __table_args__ = (Index("ix_conversation_tags_folded", "folded", "conversation_id"),)
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    folded: Mapped[str] = mapped_column(String(200), primary_key=True)
    tag: Mapped[str] = mapped_column(String(40))
    position: Mapped[int]


class Message(Identified, Base):
    """One message. `parent_id` makes the tree; `position` rises within the conversation."""

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("conversation_id", "position"),
        UniqueConstraint("conversation_id", "client_id", name="uq_messages_client_id"),
        Index("ix_messages_conversation_parent", "conversation_id", "parent_id"),
        Index("ix_messages_conversation_state", "conversation_id", "state", "position"),
        Index("ix_messages_deleted", "deleted_at", sqlite_where=IS_DELETED, postgresql_where=IS_DELETED),
    )
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    parent_id: Mapped[str | None] = mapped_column(String(36))
    position: Mapped[int]
    role: Mapped[str] = mapped_column(String(20))
    state: Mapped[str] = mapped_column(String(20), default="sent")
    content: Mapped[str] = mapped_column(Text, default="")
    reasoning: Mapped[str] = mapped_column(Text, default="")
    blocks: Mapped[list[Any]] = mapped_column(default=list)
    attachments: Mapped[list[Any]] = mapped_column(default=list)
    model: Mapped[str] = mapped_column(String(200), default="")
    usage: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
    run_id: Mapped[str | None] = mapped_column(String(36), index=True)
    client_id: Mapped[str | None] = mapped_column(String(100))
    options: Mapped[dict[str, Any] | None]
    deleted_at: Mapped[datetime | None]
