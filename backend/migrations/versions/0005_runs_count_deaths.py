"""Runs count the workers that died over them, so that one that kills its server is not tried for ever."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("deaths", sa.Integer(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("done_at_death", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_column("done_at_death")
        batch_op.drop_column("deaths")
