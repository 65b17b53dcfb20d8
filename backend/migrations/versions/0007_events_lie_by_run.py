"""The events of a run lie together, so that reading a page of them takes a few pages of the file and not one an event."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _copy(sqlite_with_rowid=False)


def downgrade() -> None:
    """Take back."""
    _copy(sqlite_with_rowid=True)


def _copy(*, sqlite_with_rowid: bool) -> None:
    """Only SQLite tells such tables apart."""
    if op.get_bind().dialect.name != "sqlite":
        return
    op.rename_table("run_events", "run_events_before")
    op.create_table(
        "run_events",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_events_run_id_runs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "seq", name=op.f("pk_run_events")),
        sqlite_with_rowid=sqlite_with_rowid,
    )
    op.execute("INSERT INTO run_events SELECT run_id, seq, type, data FROM run_events_before ORDER BY run_id, seq")
    op.drop_table("run_events_before")
