"""Results that may be used again: bounded by count and bytes, scoped, dropped by writes; and calls shared in flight."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from .results import Outcome

MAX_ENTRIES = 1024
MAX_BYTES = 64 * 1024 * 1024
MAX_ENTRY_BYTES = 4 * 1024 * 1024
ENTRY_OVERHEAD_BYTES = 512

Clock = Callable[[], float]


@dataclass(slots=True)  # not frozen: that takes a microsecond a call; nothing changes one
class Entry:
    """A stored success. Times are of the cache's clock but for `stored_at`, seconds since 1970."""

    outcome: Outcome
    scope: Hashable
    generation: int
    size: int
    expires: float
    lifetime: float
    stored_at: float
    call_id: str


class Generations:
    """Counts the writes of every project, so that what was read before a write is never served after it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Hashable, int] = {}

    def of(self, scope: Hashable) -> int:
        """The project's present generation."""
        return self._counts.get(scope, 0)

    def advance(self, scope: Hashable) -> None:
        """Something was written in `scope`."""
        with self._lock:
            self._counts[scope] = self._counts.get(scope, 0) + 1


class ResultCache:
    """Least recently used goes first; a result that is older than its lifetime is served only as `stale`."""

    def __init__(
        self,
        generations: Generations,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
        clock: Clock = time.monotonic,
    ) -> None:
        self._generations = generations
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._largest = min(MAX_ENTRY_BYTES, max_bytes)
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, Entry] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """Bytes held, estimated."""
        return self._bytes

    def get(self, key: Hashable) -> Entry | None:
        """A fresh result, or None."""
        entry = self.stale(key)
        return entry if entry is not None and self._clock() < entry.expires else None

    def stale(self, key: Hashable) -> Entry | None:
        """A result of any age that no write has overtaken, or None."""
        if key not in self._entries:  # one step of the interpreter: safe without the lock
            return None
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if entry.generation != self._generations.of(entry.scope):
                self._remove(key)
                return None
            self._entries.move_to_end(key)
            return entry

    def put(self, key: Hashable, entry: Entry) -> None:
        """Keep a success; not one that a write has overtaken, nor one too large."""
        if entry.size > self._largest or entry.generation != self._generations.of(entry.scope):
            return
        entries = self._entries
        with self._lock:
            if key in entries:
                self._remove(key)
            entries[key] = entry
            self._bytes += entry.size
            while len(entries) > self._max_entries or self._bytes > self._max_bytes:
                self._remove(next(iter(entries)))

    def drop_scope(self, scope: Hashable) -> None:
        """Free what a write in `scope` has made useless."""
        with self._lock:
            for key in [key for key, entry in self._entries.items() if entry.scope == scope]:
                self._remove(key)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def _remove(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size


Waiter = Callable[[Outcome | None], None]


class Flights:
    """Equal calls at the same time run once: the first leads, the others are told its outcome."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: dict[Hashable, list[Waiter]] = {}

    def join(self, key: Hashable, waiter: Waiter | None) -> bool:
        """True if the caller leads; else `waiter` is called once, with None if the leader gave up."""
        with self._lock:
            if key in self._waiters:
                if waiter is not None:
                    self._waiters[key].append(waiter)
                return False
            self._waiters[key] = []
            return True

    def land(self, key: Hashable, outcome: Outcome | None) -> None:
        """The leader is done (None: ask again yourselves)."""
        with self._lock:
            waiters = self._waiters.pop(key, [])
        for waiter in waiters:
            waiter(outcome)
