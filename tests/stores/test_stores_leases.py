"""Leases: one worker at a time, taken over only when it ran out."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import update

from backend.extensions import Database
from backend.ids import utc_now
from backend.models import Run, Step
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
    assert taken == Lease("r", 2, again=True, deaths=1)
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


def add_step(database: Database, index: int, finished_at: str | None) -> None:
    with database.write() as session:
        session.add(Step(run_id="r", index=index, status="x", usage={}, finished_at=finished_at))


def deaths_after(database: Database, leave: Callable[[Leases, Lease], None]) -> int:
    """What the next worker is told after one has left the run in some way."""
    leases = Leases(database, "a")
    lease = leases.claim("r")
    assert lease is not None
    leave(leases, lease)
    return lease.deaths


def test_deaths_are_counted_until_something_is_done(database: Database) -> None:
    add_run(database, "r", started_at=utc_now())

    def die(leases: Leases, lease: Lease) -> None:
        leases.free_all()

    assert [deaths_after(database, die) for _ in range(3)] == [0, 1, 2]
    add_step(database, 0, None)  # it has come further: a step has begun
    assert [deaths_after(database, die) for _ in range(2)] == [1, 2]
    add_step(database, 1, "2026-01-01T00:00:00Z")
    assert [deaths_after(database, die) for _ in range(2)] == [1, 2]


def test_a_run_that_is_given_back_counts_no_death(database: Database) -> None:
    add_run(database, "r", started_at=utc_now())
    assert [deaths_after(database, lambda leases, lease: leases.release(lease)) for _ in range(3)] == [0, 0, 0]


def test_a_clock_that_is_set_back_keeps_no_run_from_being_taken_over(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_run(database, "r", started_at=utc_now())
    leases = Leases(database, "a")
    assert leases.claim("r") is not None
    leases.free_all()  # the server was started again, and then the clock was set
    monkeypatch.setattr("backend.stores.leases.utc_now", lambda: utc_now() - timedelta(hours=3))
    assert leases.waiting(10) == [("r", "owner")]
    lease = leases.claim("r")
    assert lease is not None
    leases.release(lease)
    assert leases.waiting(10) == [("r", "owner")]
