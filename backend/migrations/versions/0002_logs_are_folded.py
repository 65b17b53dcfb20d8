"""Runs remember what was done to their logs; projects say how long logs are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("folded_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("pruned_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.create_index("ix_runs_folded_finished", ["folded_at", "finished_at"], unique=False)
        batch_op.create_index("ix_runs_pruned_finished", ["pruned_at", "finished_at"], unique=False)
    with op.batch_alter_table("projects", schema=None) as batch_op:
        batch_op.add_column(sa.Column("retention_days", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("projects", schema=None) as batch_op:
        batch_op.drop_column("retention_days")
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_index("ix_runs_pruned_finished")
        batch_op.drop_index("ix_runs_folded_finished")
        batch_op.drop_column("pruned_at")
        batch_op.drop_column("folded_at")
