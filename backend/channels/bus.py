"""Mailboxes by topic: what is published in this process reaches every reader, and no reader holds anybody up."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

# A viewer that lags by more than this is sent back to the rows, so that it holds nothing up and costs no memory.
BACKLOG_ITEMS = 1000

T = TypeVar("T")


class Taken(NamedTuple, Generic[T]):
    """What was in a mailbox; `gap` tells that some was lost before."""

    items: list[T]
    gap: bool
    closed: bool


class Mailbox(Generic[T]):
    """What one viewer has not read yet; overflow empties it and is remembered as a gap."""

    def __init__(self, limit: int = BACKLOG_ITEMS) -> None:
        self._ready = threading.Condition()
        self._items: deque[T] = deque()
        self._limit = limit
        self._gap = False
        self._closed = False
        self._notify: Callable[[], None] | None = None

    def on_ready(self, notify: Callable[[], None]) -> None:
        """From now on call this when there is something to take, also if there is already; it must not wait."""
        with self._ready:
            self._notify = notify
            waiting = self._items or self._gap or self._closed
        if waiting:
            notify()

    def put(self, items: Sequence[T]) -> None:
        """Add items and wake the reader."""
        with self._ready:
            if len(self._items) + len(items) > self._limit:
                self._items.clear()
                self._gap = True
            else:
                self._items.extend(items)
            self._wake()

    def close(self) -> None:
        """Wake the reader for good."""
        with self._ready:
            self._closed = True
            self._wake()

    def _wake(self) -> None:
        if self._notify is not None:
            self._notify()
        else:
            self._ready.notify()

    def take(self, timeout: float = 0.0) -> Taken[T]:
        """All there is; waits up to `timeout` seconds for the first."""
        with self._ready:
            if timeout and not (self._items or self._gap or self._closed):
                self._ready.wait(timeout)
            taken = Taken(list(self._items), self._gap, self._closed)
            self._items.clear()
            self._gap = False
            return taken


class Bus(Generic[T]):
    """Mailboxes by topic, in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._topics: dict[str, list[Mailbox[T]]] = {}
        self._closed = False

    def has_readers(self, topic: str) -> bool:
        """Whether publishing on the topic would reach anybody."""
        return topic in self._topics

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
