"""The event log and its bus: every viewer reads the rows after its last event, then what is published live."""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy import bindparam, select

from ..agent.types import Event
from ..extensions import Database
from ..models import RunEvent
from .bus import Bus

HEARTBEAT_SECONDS = 10.0
PAGE_EVENTS = 500
FINAL = "run.finished"

_EVENTS = RunEvent.__table__.c
_PAGE = (
    select(_EVENTS.seq, _EVENTS.type, _EVENTS.data)
    .where(_EVENTS.run_id == bindparam("run"), _EVENTS.seq > bindparam("after"))
    .order_by(_EVENTS.seq)
    .limit(PAGE_EVENTS)
)
_END = select(_EVENTS.seq).where(
    _EVENTS.run_id == bindparam("run"), _EVENTS.type == FINAL, _EVENTS.seq <= bindparam("after")
)

T = TypeVar("T", covariant=True)


class Feed(Protocol[T]):
    """What one viewer reads. While it is `behind`, the next is a `page`; else it is what `take` gives; until it has `ended`."""

    behind: bool
    ended: bool

    def page(self) -> Sequence[T]:
        """The next of what was missed; asks the database. It may be empty."""

    def take(self, timeout: float = 0.0) -> Sequence[T]:
        """What has come, after at most `timeout` seconds."""

    def on_ready(self, notify: Callable[[], None]) -> None:
        """From now on call this when there is something to take."""

    def close(self) -> None:
        """The viewer has left."""


def lists_of(feed: Feed[T]) -> Generator[Sequence[T] | None, None, None]:
    """A feed to its end, for a reader with a thread of its own: lists of what is there at once; None is a heartbeat."""
    try:
        while not feed.ended:
            if feed.behind:
                items = feed.page()
            else:
                items = feed.take(HEARTBEAT_SECONDS)
                if not items and not feed.behind and not feed.ended:
                    yield None
            if items:
                yield items
    finally:
        feed.close()


class LoggedEvent(NamedTuple):
    """One event as a viewer gets it; `data` is JSON text."""

    seq: int
    type: str
    data: str


class EventLog:
    """The `OutputChannel` of the product: publishes what the store has committed; viewers subscribe here."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._bus: Bus[LoggedEvent] = Bus()

    def send_progress(self, events: Sequence[Event]) -> None:
        """Publish committed events of one run."""
        if events and self._bus.has_readers(events[0].run_id):
            self._bus.publish(events[0].run_id, [LoggedEvent(e.seq, e.type, e.text) for e in events])

    def send_final(self, run_id: str, outcome: Any) -> None:
        """Nothing to add: `run.finished` is an event like any other."""

    def subscribe(self, run_id: str, after: int = 0) -> Iterator[LoggedEvent | None]:
        """Every event after `after`, in order, then live; None is a heartbeat. Ends after the final event."""
        for events in lists_of(self.feed(run_id, after)):
            if events is None:
                yield None
            else:
                yield from events

    def feed(self, run_id: str, after: int = 0) -> "RunFeed":
        """The same for a viewer that takes what is there. Close it."""
        return RunFeed(self._db, self._bus, run_id, after)

    def close(self) -> None:
        """End every viewer's stream."""
        self._bus.close()

    def viewers(self) -> int:
        """How many streams are open."""
        return self._bus.readers()


class RunFeed:
    """The events of one run after `after`: the rows first, then what is published; a gap leads back to the rows."""

    def __init__(self, database: Database, bus: Bus[LoggedEvent], run_id: str, after: int) -> None:
        self.behind = True
        self.ended = False
        self._db = database
        self._bus = bus
        self._run_id = run_id
        self._last = after
        self._closed = False
        self._mailbox = bus.join(run_id)  # before the rows are read, so that nothing falls between

    def page(self) -> list[LoggedEvent]:
        """The next rows."""
        with self._db.look() as connection:
            named = {"run": self._run_id, "after": self._last}
            page = [LoggedEvent(*row) for row in connection.execute(_PAGE, named)]
            over = bool(not page and self._last and connection.execute(_END, named).first())
        self.behind = len(page) == PAGE_EVENTS
        self._go_on(page)
        self.ended = self.ended or over or (self._closed and not self.behind)
        return page

    def take(self, timeout: float = 0.0) -> list[LoggedEvent]:
        """What was published and follows what was read."""
        taken = self._mailbox.take(timeout)
        fresh = [event for event in taken.items if event.seq > self._last]
        items = _unbroken(fresh, self._last)
        self._go_on(items)
        self.behind = not self.ended and (taken.gap or len(items) < len(fresh))
        self._closed = taken.closed
        self.ended = self.ended or (taken.closed and not self.behind)
        return items

    def _go_on(self, events: list[LoggedEvent]) -> None:
        if events:
            self._last = events[-1].seq
            self.ended = events[-1].type == FINAL

    def on_ready(self, notify: Callable[[], None]) -> None:
        """From now on call this when something was published."""
        self._mailbox.on_ready(notify)

    def close(self) -> None:
        """The viewer has left."""
        self._bus.leave(self._run_id, self._mailbox)


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

    def feed(self, user_id: str) -> "TabFeed":
        """Changes from this call on. Close it."""
        return TabFeed(self._bus, user_id)

    def close(self) -> None:
        """End every stream."""
        self._bus.close()


class TabFeed:
    """What changes for one user; there are no rows to go back to, so that a gap is told as a change of everything."""

    def __init__(self, bus: Bus[Changed], user_id: str) -> None:
        self.behind = False
        self.ended = False
        self._bus = bus
        self._user_id = user_id
        self._mailbox = bus.join(user_id)

    def page(self) -> list[Changed]:
        """Nothing is ever missed."""
        return []

    def take(self, timeout: float = 0.0) -> list[Changed]:
        """What was published."""
        taken = self._mailbox.take(timeout)
        self.ended = taken.closed
        return [Changed("everything", ""), *taken.items] if taken.gap else taken.items

    def on_ready(self, notify: Callable[[], None]) -> None:
        """From now on call this when something was published."""
        self._mailbox.on_ready(notify)

    def close(self) -> None:
        """The tab has left."""
        self._bus.leave(self._user_id, self._mailbox)
