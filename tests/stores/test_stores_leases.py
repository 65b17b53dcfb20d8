"""Leases: one worker at a time, taken over only when it ran out."""

import threading
from datetime import timedelta

from sqlalchemy import update

from backend.extensions import Database
from backend.ids import utc_now
from backend.models import Run
from backend.stores.leases import Lease, Leases


def add_run(database: Database, run_id: str, **fields: object) -> None:
    with database.write() as session:
        session.add(Run(id=run_id, kind="task", owner_id="owner", **fields))


def test_only_one_of_many_workers_gets_a_run(database: Database) -> None:
    add_run(database, "r")
    got: list[Lease] = []

    def claim(i: int) -> None:
        lease = Leases(database, f"w{i}").claim("r")
        if lease:
            got.append(lease)

    threads = [threading.Thread(target=claim, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [(lease.epoch, lease.again) for lease in got] == [(1, False)]


def test_a_live_lease_is_not_taken_and_a_dead_one_is(database: Database) -> None:
    add_run(database, "r", started_at=utc_now())
    first, second = Leases(database, "a"), Leases(database, "b")
    lease = first.claim("r")
    assert lease is not None
    assert second.claim("r") is None
    with database.write() as session:
        session.execute(update(Run).values(lease_expires_at=utc_now() - timedelta(seconds=1)))
    taken = second.claim("r")
    assert taken == Lease("r", 2, again=True)
    assert first.heartbeat([lease]) == [lease]
    assert second.heartbeat([taken]) == []


def test_a_released_run_waits_for_the_next_worker(database: Database) -> None:
    add_run(database, "r")
    leases = Leases(database, "a")
    lease = leases.claim("r")
    assert lease is not None
    assert leases.waiting(10) == []
    leases.release(lease)
    assert leases.waiting(10) == [("r", "owner")]


def test_ended_runs_are_never_claimed(database: Database) -> None:
    add_run(database, "r", status="completed")
    assert Leases(database, "a").claim("r") is None
    assert Leases(database, "a").waiting(10) == []
