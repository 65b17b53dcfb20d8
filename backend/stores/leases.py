"""Which worker has which run: taken by compare-and-set, kept by heartbeats, taken over when a lease ran out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, or_, select, update

from ..extensions import Database
from ..ids import utc_now
from ..models import Run

LEASE_SECONDS = 20.0
HEARTBEAT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to write a run; `again` is True when an earlier worker had begun it."""

    run_id: str
    epoch: int
    again: bool


class Leases:
    """The leases of one database."""

    def __init__(self, database: Database, owner: str) -> None:
        self._db = database
        self._owner = owner

    def claim(self, run_id: str) -> Lease | None:
        """Take a queued run, or one whose lease ran out; None if another worker has it or it has ended."""
        now = utc_now()
        with self._db.write() as session:
            row = session.execute(
                update(Run)
                .where(Run.id == run_id, _free(now))
                .values(
                    status="running",
                    lease_owner=self._owner,
                    lease_epoch=Run.lease_epoch + 1,
                    lease_expires_at=now + timedelta(seconds=LEASE_SECONDS),
                )
                .returning(Run.lease_epoch, Run.started_at)
            ).one_or_none()
        return Lease(run_id, row.lease_epoch, row.started_at is not None) if row else None

    def heartbeat(self, leases: Sequence[Lease]) -> list[Lease]:
        """Extend leases; returns those that were lost."""
        if not leases:
            return []
        held = {lease.run_id: lease for lease in leases}
        mine = (Run.id.in_(list(held)), Run.lease_owner == self._owner, Run.status == "running")
        until = utc_now() + timedelta(seconds=LEASE_SECONDS)
        with self._db.write() as session:
            kept = session.execute(
                update(Run).where(*mine).values(lease_expires_at=until).returning(Run.id, Run.lease_epoch)
            ).all()
        still = {(row.id, row.lease_epoch) for row in kept}
        return [lease for lease in leases if (lease.run_id, lease.epoch) not in still]

    def release(self, lease: Lease) -> None:
        """Give a run back unfinished: the next worker may take it at once."""
        with self._db.write() as session:
            session.execute(
                update(Run)
                .where(Run.id == lease.run_id, Run.lease_epoch == lease.epoch, Run.status == "running")
                .values(lease_owner=None, lease_expires_at=utc_now())
            )

    def free_all(self) -> None:
        """At start, when this process alone has the instance: every lease is a dead worker's."""
        with self._db.write() as session:
            session.execute(update(Run).where(Run.status == "running").values(lease_expires_at=utc_now()))

    def waiting(self, limit: int) -> list[tuple[str, str]]:
        """(run id, owner's id) of runs that any worker may take, oldest first."""
        query = select(Run.id, Run.owner_id).where(_free(utc_now())).order_by(Run.created_at).limit(limit)
        with self._db.read() as session:
            return [(row.id, row.owner_id) for row in session.execute(query)]


def _free(now: datetime) -> ColumnElement[bool]:
    stale = and_(Run.status == "running", or_(Run.lease_expires_at.is_(None), Run.lease_expires_at <= now))
    return and_(or_(Run.status == "queued", stale), Run.kind.in_(("chat", "task")))
