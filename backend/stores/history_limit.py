"""How much of a project's earlier file contents is kept: the newest up to a limit; what is older cannot be put back."""

from sqlalchemy import delete, func, select

from ..extensions import Database
from ..models import GOING_ON, FileChange, Run

ROWS_A_ROUND = 500


def projects_over(database: Database, limit_bytes: int) -> list[str]:
    """The projects whose earlier contents, each counted once, are larger than the limit."""
    kept = (
        select(FileChange.project_id, FileChange.before_hash, func.max(FileChange.before_size).label("size"))
        .where(FileChange.before_hash.is_not(None))
        .group_by(FileChange.project_id, FileChange.before_hash)
        .subquery()
    )
    query = select(kept.c.project_id).group_by(kept.c.project_id).having(func.sum(kept.c.size) > limit_bytes)
    with database.read() as session:
        return list(session.scalars(query))


def last_to_drop(database: Database, project_id: str, limit_bytes: int) -> int:
    """The position up to which the changes of a project are dropped, so that the newer ones keep to the limit; 0 for none.

    What runs have changed that still go on stays, whatever its size.
    """
    mine = FileChange.project_id == project_id
    seen: set[str | None] = set()
    size = 0
    with database.read() as session:
        going_on = select(Run.id).where(Run.project_id == project_id, Run.status.in_(GOING_ON))
        first_needed = session.scalar(
            select(func.min(FileChange.position)).where(mine, FileChange.run_id.in_(going_on))
        )
        query = select(FileChange.position, FileChange.before_hash, FileChange.before_size)
        rows = query.where(mine, FileChange.before_hash.is_not(None)).order_by(FileChange.position.desc())
        for position, digest, bytes_ in session.execute(rows.execution_options(yield_per=ROWS_A_ROUND)):
            size += 0 if digest in seen else bytes_ or 0
            seen.add(digest)
            if size > limit_bytes:
                return position if first_needed is None else min(position, first_needed - 1)
    return 0


def drop_some(database: Database, project_id: str, last: int) -> int:
    """Drop changes up to this position, the oldest first, in one small transaction; how many. Call it until there are none."""
    oldest = select(FileChange.id).where(FileChange.project_id == project_id, FileChange.position <= last)
    chosen = oldest.order_by(FileChange.position).limit(ROWS_A_ROUND)
    with database.write() as session:
        ids = list(session.scalars(chosen))
        session.execute(delete(FileChange).where(FileChange.id.in_(ids)))
    return len(ids)
