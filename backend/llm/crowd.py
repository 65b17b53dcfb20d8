"""How many answers are read in this process at once: in a crowd each reader rests after a piece and takes more at its next turn.

A reader that wakes for every piece of every answer costs more than the pieces. Few readers never rest.
A crowd also makes way: while many people open streams, what they wait for goes before what they would read next.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

CROWD = 32
SECONDS_PER_READER = 0.0005
LONGEST_REST_SECONDS = 0.1
# So many may be served at once without a crowd's help; for more it waits, but never long.
FEW = 4
LONGEST_WAY_SECONDS = 0.4


class Crowd:
    """Counts readers. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._ahead = 0
        self._free = threading.Event()
        self._free.set()

    @contextmanager
    def join(self) -> Iterator[None]:
        """One reader more, for as long as it reads."""
        with self._lock:
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1

    def hold_back(self) -> None:
        """Somebody waits for something short that goes before reading; until `let_go`."""
        self._count_ahead(1)

    def let_go(self) -> None:
        """One of them has it."""
        self._count_ahead(-1)

    def _count_ahead(self, more: int) -> None:
        with self._lock:
            self._ahead += more
            if self._ahead > FEW:
                self._free.clear()
            else:
                self._free.set()

    @property
    def rest_seconds(self) -> float:
        """How long a reader rests now after each piece; 0.0 without a crowd."""
        if self._readers <= CROWD:
            return 0.0
        return min(self._readers * SECONDS_PER_READER, LONGEST_REST_SECONDS)

    def rest(self) -> None:
        """Give the others their turn, if there are many."""
        if seconds := self.rest_seconds:
            time.sleep(seconds)
            self._free.wait(LONGEST_WAY_SECONDS)


# All threads of a process share one interpreter, so they share one crowd.
CROWD_OF_PROCESS = Crowd()
