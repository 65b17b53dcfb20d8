"""Which worker has which run: taken by compare-and-set, kept by heartbeats, taken over when a lease ran out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, not_, or_, select, update
from sqlalchemy.orm import Session

from ..extensions import Database
from ..ids import utc_now
from ..models import Message, Run, Step, ToolCall

LEASE_SECONDS = 20.0
HEARTBEAT_SECONDS = 5.0
# A run over which so many workers in a row died, with nothing done in between, is not tried again.
MAX_DEATHS = 5
# Who has the runs of `chat` and `eval`.
TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to write a run; `again` is True when an earlier worker had begun it.

    `deaths` counts how many workers in a row have died over it, with nothing done in between.
    """

    run_id: str
    epoch: int
    again: bool
    deaths: int = 0


class Leases:
    """The leases of one database."""

    def __init__(self, database: Database, owner: str) -> None:
        self._db = database
        self._owner = owner

    def claim(self, run_id: str) -> Lease | None:
        """Take a queued run, or one whose lease ran out; None if another worker has it or it has ended."""
        now = utc_now()
        with self._db.write() as session:
            found = session.execute(select(*_CLAIMED).where(Run.id == run_id, _free(now))).one_or_none()
            if found is None:
                return None
            done = _work_done(session, run_id)
            session.execute(update(Message).where(*_taken_by(run_id)).values(run_id=None))
            held = found.status == "running" and found.lease_owner is not None
            deaths = _deaths(held, found.deaths, done > found.done_at_death)
            row = session.execute(
                update(Run)
                .where(Run.id == run_id, Run.lease_epoch == found.lease_epoch, _free(now))
                .values(
                    status="running",
                    lease_owner=self._owner,
                    lease_epoch=Run.lease_epoch + 1,
                    lease_expires_at=now + timedelta(seconds=LEASE_SECONDS),
                    deaths=deaths,
                    done_at_death=done,
                )
                .returning(Run.lease_epoch)
            ).one_or_none()
        return Lease(run_id, row.lease_epoch, found.started_at is not None, deaths) if row else None

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
                .values(lease_owner=None, lease_expires_at=None)
            )

    def free_all(self) -> None:
        """At start, when this server alone has the instance: every lease is a dead worker's, but those of living terminals."""
        with self._db.write() as session:
            # Not "until now": a clock that is set back would make them last.
            dead = Run.status == "running", not_(of_living_terminal(Run))
            session.execute(update(Run).where(*dead).values(lease_expires_at=None))

    def waiting(self, limit: int) -> list[tuple[str, str]]:
        """(run id, owner's id) of runs that any worker may take, oldest first."""
        query = select(Run.id, Run.owner_id).where(_free(utc_now())).order_by(Run.created_at).limit(limit)
        with self._db.read() as session:
            return [(row.id, row.owner_id) for row in session.execute(query)]


def of_living_terminal(run: type[Run]) -> ColumnElement[bool]:
    """Whether a run is held by `chat` or `eval`, which work beside a server; a lease beyond the usual is of another clock."""
    now = utc_now()
    fresh = and_(run.lease_expires_at > now, run.lease_expires_at <= now + timedelta(seconds=LEASE_SECONDS))
    return func.coalesce(and_(run.lease_owner == TERMINAL, fresh), False)


_CLAIMED = (Run.status, Run.lease_owner, Run.lease_epoch, Run.started_at, Run.deaths, Run.done_at_death)


def _deaths(held: bool, before: int, grown: bool) -> int:
    """Who gives a run back leaves no name; one that is still held, is held by a worker that died over it."""
    if not held:
        return before
    return 1 if grown else before + 1


def _taken_by(run_id: str) -> tuple[ColumnElement[bool], ...]:
    """Messages that an earlier worker had taken and could not add any more: they wait again."""
    return Message.run_id == run_id, Message.state == "queued"


def _work_done(session: Session, run_id: str) -> int:
    """Grows with every step and call that begins and that ends; to begin one anew is no progress."""
    counts = [
        select(func.count() + func.count(table.finished_at)).where(table.run_id == run_id).scalar_subquery()
        for table in (Step, ToolCall)
    ]
    return int(session.execute(select(counts[0] + counts[1])).scalar_one())


def _free(now: datetime) -> ColumnElement[bool]:
    stale = and_(Run.status == "running", or_(Run.lease_expires_at.is_(None), Run.lease_expires_at <= now))
    return and_(or_(Run.status == "queued", stale), Run.kind.in_(("chat", "task")))
