"""The event log and its bus: every viewer reads the rows after its last event, then what is published live."""

import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import select

from ..agent.types import Event
from ..extensions import Database
from ..models import RunEvent

HEARTBEAT_SECONDS = 10.0
PAGE_EVENTS = 500
# A viewer that lags by more than this is sent back to the rows, so that it holds nothing up and costs no memory.
BACKLOG_EVENTS = 1000
FINAL = "run.finished"

T = TypeVar("T")


class LoggedEvent(NamedTuple):
    """One event as a viewer gets it; `data` is JSON text."""

    seq: int
    type: str
    data: str


class Mailbox(Generic[T]):
    """What one viewer has not read yet; overflow empties it and is remembered as a gap."""

    def __init__(self, limit: int = BACKLOG_EVENTS) -> None:
        self._ready = threading.Condition()
        self._items: deque[T] = deque()
        self._limit = limit
        self._gap = False
        self._closed = False

    def put(self, items: Sequence[T]) -> None:
        """Add items and wake the reader."""
        with self._ready:
            if len(self._items) + len(items) > self._limit:
                self._items.clear()
                self._gap = True
            else:
                self._items.extend(items)
            self._ready.notify()

    def close(self) -> None:
        """Wake the reader for good."""
        with self._ready:
            self._closed = True
            self._ready.notify()

    def take(self, timeout: float) -> tuple[list[T], bool, bool]:
        """(items, whether some were lost, whether closed); waits up to `timeout` seconds for the first."""
        with self._ready:
            if not (self._items or self._gap or self._closed):
                self._ready.wait(timeout)
            items, gap = list(self._items), self._gap
            self._items.clear()
            self._gap = False
            return items, gap, self._closed


class Bus(Generic[T]):
    """Mailboxes by topic, in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._topics: dict[str, list[Mailbox[T]]] = {}
        self._closed = False

    def publish(self, topic: str, items: Sequence[T]) -> None:
        """Hand items to every mailbox of the topic; never blocks on a reader."""
        for mailbox in self._topics.get(topic, ()):
            mailbox.put(items)

    def publish_to_all(self, items: Sequence[T]) -> None:
        """Hand items to every mailbox there is."""
        for topic in list(self._topics):
            self.publish(topic, items)

    def join(self, topic: str) -> Mailbox[T]:
        """A new mailbox on the topic."""
        mailbox: Mailbox[T] = Mailbox()
        with self._lock:
            if self._closed:
                mailbox.close()
            self._topics[topic] = [*self._topics.get(topic, ()), mailbox]
        return mailbox

    def leave(self, topic: str, mailbox: Mailbox[T]) -> None:
        """Forget a mailbox."""
        with self._lock:
            left = [m for m in self._topics.get(topic, ()) if m is not mailbox]
            if left:
                self._topics[topic] = left
            else:
                self._topics.pop(topic, None)

    def close(self) -> None:
        """End every reader: the server is stopping."""
        with self._lock:
            self._closed = True
            mailboxes = [m for topic in self._topics.values() for m in topic]
        for mailbox in mailboxes:
            mailbox.close()

    def readers(self) -> int:
        """How many mailboxes there are."""
        return sum(len(topic) for topic in self._topics.values())


class EventLog:
    """The `OutputChannel` of the product: publishes what the store has committed; viewers subscribe here."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._bus: Bus[LoggedEvent] = Bus()

    def send_progress(self, events: Sequence[Event]) -> None:
        """Publish committed events of one run."""
        if events:
            self._bus.publish(events[0].run_id, [LoggedEvent(e.seq, e.type, e.text) for e in events])

    def send_final(self, run_id: str, outcome: Any) -> None:
        """Nothing to add: `run.finished` is an event like any other."""

    def subscribe(self, run_id: str, after: int = 0) -> Iterator[LoggedEvent | None]:
        """Every event after `after`, in order, then live; None is a heartbeat. Ends after the final event."""
        for events in self.batches(run_id, after):
            if events is None:
                yield None
            else:
                yield from events

    def batches(self, run_id: str, after: int = 0) -> Generator[list[LoggedEvent] | None, None, None]:
        """The same as lists of what is there at once, so that a viewer who is behind costs few writes."""
        mailbox = self._bus.join(run_id)
        try:
            if self._ended_by(run_id, after):
                return
            last = after
            for page in self._rows(run_id, last):  # the rows come first
                yield page
                last = page[-1].seq
                if page[-1].type == FINAL:
                    return
            while True:
                batch, gap, closed = mailbox.take(HEARTBEAT_SECONDS)
                fresh = [event for event in batch if event.seq > last]
                items = _unbroken(fresh, last)
                pages: Iterable[list[LoggedEvent]] = [items] if items else []
                if gap or len(items) < len(fresh):
                    pages = chain(pages, self._rows(run_id, items[-1].seq if items else last))
                elif not (batch or closed):
                    yield None
                for page in pages:
                    yield page
                    last = page[-1].seq
                    if page[-1].type == FINAL:
                        return
                if closed:
                    return
        finally:
            self._bus.leave(run_id, mailbox)

    def _ended_by(self, run_id: str, after: int) -> bool:
        query = select(RunEvent.seq).where(RunEvent.run_id == run_id, RunEvent.type == FINAL, RunEvent.seq <= after)
        with self._db.read() as session:
            return session.scalar(query) is not None

    def close(self) -> None:
        """End every viewer's stream."""
        self._bus.close()

    def viewers(self) -> int:
        """How many streams are open."""
        return self._bus.readers()

    def _rows(self, run_id: str, after: int) -> Iterator[list[LoggedEvent]]:
        """Pages of the log; none is empty."""
        while True:
            query = (
                select(RunEvent.seq, RunEvent.type, RunEvent.data)
                .where(RunEvent.run_id == run_id, RunEvent.seq > after)
                .order_by(RunEvent.seq)
                .limit(PAGE_EVENTS)
            )
            with self._db.read() as session:
                page = [LoggedEvent(row.seq, row.type, row.data) for row in session.execute(query)]
            if page:
                yield page
            if len(page) < PAGE_EVENTS:
                return
            after = page[-1].seq


def _unbroken(events: list[LoggedEvent], last: int) -> list[LoggedEvent]:
    """The events that follow `last` without a missing number."""
    count = 0
    while count < len(events) and events[count].seq == last + 1 + count:
        count += 1
    return events[:count]


class Changed(NamedTuple):
    """Something that a user may see has changed."""

    type: str
    id: str


class TabEvents:
    """One stream for a whole browser tab: what changed of all that its user may see."""

    def __init__(self) -> None:
        self._bus: Bus[Changed] = Bus()

    def publish(self, user_id: str, kind: str, object_id: str) -> None:
        """Tell every tab of the user."""
        self._bus.publish(user_id, [Changed(kind, object_id)])

    def publish_to_all(self, kind: str, object_id: str) -> None:
        """Tell every tab of every user."""
        self._bus.publish_to_all([Changed(kind, object_id)])

    def subscribe(self, user_id: str) -> Generator[Changed | None, None, None]:
        """Changes from this call on; None is a heartbeat. A gap is told as a change of everything. Close it."""
        changes = self._changes(user_id)
        next(changes)
        return changes

    def _changes(self, user_id: str) -> Generator[Changed | None, None, None]:
        mailbox = self._bus.join(user_id)
        try:
            yield None  # from here on it listens
            while True:
                items, gap, closed = mailbox.take(HEARTBEAT_SECONDS)
                if gap:
                    yield Changed("everything", "")
                yield from items
                if closed:
                    return
                if not items and not gap:
                    yield None
        finally:
            self._bus.leave(user_id, mailbox)

    def close(self) -> None:
        """End every stream."""
        self._bus.close()
