"""The event log: early, late and repeated viewers get every event once, in order."""

import threading
from collections.abc import Callable, Iterator

import pytest

from backend.agent.types import Event
from backend.channels.bus import BACKLOG_ITEMS
from backend.channels.log import EventLog, LoggedEvent, TabEvents, lists_of
from backend.extensions import Database
from backend.models import Run
from backend.stores.sql import RunPlace, SqlRunStore
from backend.stores.writer import RunWriter


@pytest.fixture
def log(database: Database) -> EventLog:
    return EventLog(database)


@pytest.fixture
def record(database: Database, log: EventLog) -> Iterator[Callable[[str], None]]:
    """Record one event of the run `r` by its type."""
    with database.write() as session:
        session.add(Run(id="r", kind="task", owner_id="owner", lease_epoch=1))
    writer = RunWriter(database, lambda text: "")
    store = SqlRunStore(database, writer, RunPlace("r", 1, None))
    yield lambda kind: store.record([], [Event(kind, {})], log.send_progress)
    writer.close()


def seqs(events: list[LoggedEvent]) -> list[int]:
    return [event.seq for event in events]


def test_a_viewer_before_during_and_after_sees_the_same(log: EventLog, record: Callable[[str], None]) -> None:
    seen: list[LoggedEvent] = []
    early = threading.Thread(target=lambda: seen.extend(e for e in log.subscribe("r") if e))
    record("run.started")
    early.start()
    for _ in range(20):
        record("run.notice")
    during = log.subscribe("r", after=10)
    first = next(during)
    record("run.finished")
    early.join(10)
    assert seqs(seen) == list(range(1, 23))
    assert first is not None
    assert seqs([first, *(e for e in during if e)]) == list(range(11, 23))
    assert list(log.subscribe("r")) == seen


def test_a_viewer_that_has_seen_the_end_is_not_kept_waiting(log: EventLog, record: Callable[[str], None]) -> None:
    record("run.started")
    record("run.finished")
    assert list(log.subscribe("r", after=2)) == []


def test_a_slow_viewer_is_sent_back_to_the_rows_and_misses_nothing(
    log: EventLog, record: Callable[[str], None]
) -> None:
    viewer = log.subscribe("r")
    record("run.started")
    assert next(viewer) is not None  # joined; from now on it does not read
    log.send_progress([Event("run.notice", {}, "r", seq) for seq in range(5000, 5000 + BACKLOG_ITEMS + 1)])
    for _ in range(30):
        record("run.notice")
    record("run.finished")
    assert seqs([e for e in viewer if e]) == list(range(2, 33))


def test_closing_the_log_ends_viewers_of_a_run_that_goes_on(log: EventLog, record: Callable[[str], None]) -> None:
    record("run.started")
    viewer = log.subscribe("r")
    assert next(viewer) is not None
    log.close()
    assert list(viewer) == []
    assert log.viewers() == 0


def test_a_tab_hears_of_its_own_user_only() -> None:
    tabs = TabEvents()
    mine, ended = tabs.feed("me"), threading.Event()
    heard: list[object] = []

    def listen() -> None:
        heard.extend(next(filter(None, lists_of(mine))))
        ended.set()

    thread = threading.Thread(target=listen)
    thread.start()
    while not ended.wait(0.01):
        tabs.publish("other", "run", "theirs")
        tabs.publish("me", "run", "mine")
    thread.join(10)
    assert set(heard) == {("run", "mine")}
