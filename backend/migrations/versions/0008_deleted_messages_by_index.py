"""Deleted messages are found by an index of their own, and stay in the full-text index until they are removed."""

import sqlalchemy as sa
from alembic import op

from backend.stores import search_index

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

NAME = "ix_messages_deleted"
DELETED = sa.text(
    "SELECT m.id, m.content, m.conversation_id, c.project_id FROM messages AS m "
    "JOIN conversations AS c ON c.id = m.conversation_id WHERE m.state = 'deleted'"
)


def upgrade() -> None:
    """Apply: what was deleted before can be found again when it is put back."""
    which = sa.text("deleted_at IS NOT NULL")
    op.create_index(NAME, "messages", ["deleted_at"], sqlite_where=which, postgresql_where=which)
    connection = op.get_bind()
    for row in connection.execute(DELETED).all():
        place = {"conversation_id": row.conversation_id, "project_id": row.project_id}
        search_index.put(connection, "message", row.id, row.content, **place)


def downgrade() -> None:
    """Take back."""
    op.drop_index(NAME, "messages")
    connection = op.get_bind()
    for row in connection.execute(DELETED).all():
        search_index.remove(connection, "message", row.id)
