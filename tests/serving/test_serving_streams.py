"""The loop of event streams: every viewer gets every event, whoever else is slow, leaves or may not go on."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from backend.agent.types import Event
from backend.channels.log import EventLog, LoggedEvent
from backend.extensions import Database
from backend.models import Run
from backend.routes.sse import Frame, Live
from backend.serving import streams as streams_module
from backend.serving.streams import END, Streams
from backend.stores.sql import RunPlace, SqlRunStore
from backend.stores.writer import RunWriter

WAIT_SECONDS = 30.0
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
FIRST = b"retry: 1000\n\n"


@pytest.fixture
def log(database: Database) -> EventLog:
    return EventLog(database)


@pytest.fixture
def record(database: Database, log: EventLog) -> Iterator[Callable[..., None]]:
    """Record events of the run `r` by their type, all at once."""
    with database.write() as session:
        session.add(Run(id="r", kind="task", owner_id="owner", lease_epoch=1))
    writer = RunWriter(database, lambda text: "")
    store = SqlRunStore(database, writer, RunPlace("r", 1, None))

    def write(kind: str, count: int = 1, **data: object) -> None:
        store.record([], [Event(kind, dict(data)) for _ in range(count)], log.send_progress)

    yield write
    writer.close()


@pytest.fixture
def streams() -> Iterator[Streams]:
    loop = Streams()
    yield loop
    loop.close(0.1)
    while Viewer.open:
        Viewer.open.pop().close()


def frame(event: LoggedEvent) -> Frame:
    return Frame(event.type, event.data, event.seq)


class Viewer:
    """The client's end of a stream that the loop has adopted."""

    open: ClassVar[list[socket.socket]] = []

    def __init__(
        self, streams: Streams, log: EventLog, may_go_on: Callable[[], bool] = lambda: True, *, chunked: bool = True
    ) -> None:
        self.left = threading.Event()
        self.sock, served = socket.socketpair()
        self.sock.settimeout(WAIT_SECONDS)
        self.open.append(self.sock)
        live: Live[Any] = Live(log.feed("r"), frame, may_go_on)
        live.give_back = self.left.set
        streams.adopt(served, live, HEAD, FIRST, chunked=chunked)
        self._rest = b""

    def read_until(self, sign: bytes) -> bytes:
        while sign not in self._rest:
            data = self.sock.recv(65_536)
            assert data, f"the stream ended before {sign!r}"
            self._rest += data
        return self._rest

    def seqs(self) -> list[int]:
        """The numbers of all events to the end of the stream."""
        whole = self.read_until(END)
        return [int(number) for number in re.findall(rb"^id: (\d+)$", whole, re.MULTILINE)]


def test_viewers_before_and_during_a_run_get_the_same_to_its_end(
    streams: Streams, log: EventLog, record: Callable[..., None]
) -> None:
    early = Viewer(streams, log)
    record("run.started")
    early.read_until(b"run.started")
    late = Viewer(streams, log)
    for _ in range(3):
        record("run.notice", 10)
    record("run.finished")
    assert early.seqs() == late.seqs() == list(range(1, 33))
    for viewer in (early, late):
        viewer.sock.close()
        assert viewer.left.wait(WAIT_SECONDS)
    assert log.viewers() == 0


def test_one_that_stops_reading_holds_nobody_up_and_misses_nothing(
    streams: Streams, log: EventLog, record: Callable[..., None]
) -> None:
    slow, quick = Viewer(streams, log), Viewer(streams, log)
    for _ in range(15):  # more than a mailbox and a socket's buffer hold
        record("run.notice", 100, text="so many words " * 80)
    record("run.finished")
    assert quick.seqs() == slow.seqs() == list(range(1, 1502))


def test_one_that_leaves_is_forgotten_at_once(streams: Streams, log: EventLog, record: Callable[..., None]) -> None:
    viewer = Viewer(streams, log)
    record("run.started")
    viewer.read_until(b"run.started")
    viewer.sock.close()
    assert viewer.left.wait(WAIT_SECONDS)
    assert log.viewers() == 0
    record("run.notice")  # nobody is there to be told


def test_silence_is_filled_while_one_may_watch_and_ends_when_not(
    streams: Streams, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "HEARTBEAT_SECONDS", 0.0)
    answers = iter([True, False])
    viewer = Viewer(streams, log, lambda: next(answers))
    viewer.read_until(b": \n\n")
    assert viewer.left.wait(WAIT_SECONDS)
    while viewer.sock.recv(65_536):
        pass  # cut, so that the client comes back and is asked to sign in


def test_a_stopping_server_ends_every_stream_in_order(
    streams: Streams, log: EventLog, record: Callable[..., None]
) -> None:
    viewers = [Viewer(streams, log) for _ in range(10)]
    record("run.started")
    for viewer in viewers:
        viewer.read_until(b"run.started")
    log.close()
    for viewer in viewers:
        assert viewer.seqs() == [1]
        viewer.sock.close()
    streams.close(WAIT_SECONDS)
    assert all(viewer.left.is_set() for viewer in viewers)


def test_an_old_client_gets_the_bare_events_and_the_end_of_the_connection(
    streams: Streams, log: EventLog, record: Callable[..., None]
) -> None:
    viewer = Viewer(streams, log, chunked=False)
    record("run.started")
    record("run.finished")
    told = b""
    while data := viewer.sock.recv(65_536):
        told += data
    data = b'data: {"run_id":"r"}\n\n'
    assert told == HEAD + FIRST + b"id: 1\nevent: run.started\n" + data + b"id: 2\nevent: run.finished\n" + data


def test_a_fault_in_one_stream_ends_it_and_not_the_loop(
    streams: Streams, log: EventLog, record: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    whole = Viewer(streams, log)
    record("run.started")
    whole.read_until(b"run.started")

    class Broken(Live[Any]):
        def take(self) -> bytes:
            raise OverflowError("too large")

    ours, served = socket.socketpair()
    ours.settimeout(WAIT_SECONDS)
    Viewer.open.append(ours)
    streams.adopt(served, Broken(log.feed("r", 1), frame, lambda: True), HEAD, FIRST, chunked=True)
    while ours.recv(100):
        pass
    assert "a stream is ended by a fault" in caplog.text
    record("run.finished")
    assert whole.seqs() == [1, 2]


def test_rows_that_cannot_be_read_end_one_stream_and_not_the_loop(
    streams: Streams, log: EventLog, record: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    record("run.started")
    broken, served = socket.socketpair()
    broken.settimeout(WAIT_SECONDS)
    Viewer.open.append(broken)
    feed = log.feed("r")

    def fail(event: LoggedEvent) -> Frame:
        raise ValueError(json.dumps(event))

    streams.adopt(served, Live(feed, fail, lambda: True), HEAD, FIRST, chunked=True)
    while broken.recv(100):
        pass
    assert "could not be read" in caplog.text
    whole = Viewer(streams, log)
    record("run.finished")
    assert whole.seqs() == [1, 2]
