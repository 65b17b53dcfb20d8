"""The index of pinned conversations names what it is of, so that SQLite prefers it to that of all."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

NAME = "ix_conversations_owner_pinned"


def upgrade() -> None:
    """Apply."""
    _replace("owner_id", "pinned", "archived", "updated_at")


def _replace(*columns: str) -> None:
    op.drop_index(NAME, "conversations")
    on_sqlite, elsewhere = sa.text("pinned IS 1"), sa.text("pinned IS true")
    op.create_index(NAME, "conversations", list(columns), sqlite_where=on_sqlite, postgresql_where=elsewhere)


def downgrade() -> None:
    """Take back."""
    _replace("owner_id", "archived", "updated_at")
