"""How many answers are read in this process at once: in a crowd each reader rests after a piece and takes more at its next turn.

A reader that wakes for every piece of every answer costs more than the pieces. Few readers never rest.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

CROWD = 32
SECONDS_PER_READER = 0.0005
LONGEST_REST_SECONDS = 0.1


class Crowd:
    """Counts readers. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0

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


# All threads of a process share one interpreter, so they share one crowd.
CROWD_OF_PROCESS = Crowd()
