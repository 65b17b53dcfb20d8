"""Messages can be deleted and put back; a conversation remembers which tools are switched off in it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("tools_off", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
    op.add_column("messages", sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Take back; what was deleted stays out of sight."""
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.drop_column("deleted_at")
    with op.batch_alter_table("conversations", schema=None) as batch_op:
        batch_op.drop_column("tools_off")
