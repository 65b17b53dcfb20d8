"""Conversations are pinned, archived, tagged, temporary and forked; projects pinned and archived."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

CONVERSATION_FLAGS = ("pinned", "archived", "temporary")
PROJECT_FLAGS = ("pinned", "archived")
FORKED_FROM = ("forked_from_id", "forked_from_message_id")


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        for name in CONVERSATION_FLAGS:
            batch_op.add_column(_flag(name))
        for name in FORKED_FROM:
            batch_op.add_column(sa.Column(name, sa.String(length=36), nullable=True))
    _indexes_of_conversations()
    with op.batch_alter_table("projects", schema=None) as batch_op:
        for name in PROJECT_FLAGS:
            batch_op.add_column(_flag(name))
    _tags()


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false())


def _indexes_of_conversations() -> None:
    op.create_index("ix_conversations_owner_archived", "conversations", ["owner_id", "archived", "updated_at"])
    op.create_index("ix_conversations_owner_created", "conversations", ["owner_id", "created_at"])
    _index_of_some("owner_pinned", ["owner_id", "archived", "updated_at"], "pinned IS true")
    _index_of_some("owner_deleted", ["owner_id", "deleted_at"], "deleted_at IS NOT NULL")
    _index_of_some("temporary", ["created_at"], "temporary IS true")


def _index_of_some(name: str, columns: list[str], which: str) -> None:
    """SQLite takes such an index only for a query that holds the same words."""
    on_sqlite = sa.text(which.replace("IS true", "IS 1"))
    op.create_index(
        f"ix_conversations_{name}", "conversations", columns, sqlite_where=on_sqlite, postgresql_where=sa.text(which)
    )


def _tags() -> None:
    op.create_table(
        "conversation_tags",
        sa.Column("conversation_id", sa.String(length=36), nullable=False),
        sa.Column("folded", sa.String(length=200), nullable=False),
        sa.Column("tag", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_conversation_tags_conversation_id_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "folded", name=op.f("pk_conversation_tags")),
    )
    op.create_index("ix_conversation_tags_folded", "conversation_tags", ["folded", "conversation_id"])


def downgrade() -> None:
    """Take back."""
    op.drop_table("conversation_tags")
    with op.batch_alter_table("projects", schema=None) as batch_op:
        for name in PROJECT_FLAGS:
            batch_op.drop_column(name)
    for name in ("temporary", "owner_deleted", "owner_pinned", "owner_created", "owner_archived"):
        op.drop_index(f"ix_conversations_{name}", "conversations")
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        for name in (*CONVERSATION_FLAGS, *FORKED_FROM):
            batch_op.drop_column(name)
