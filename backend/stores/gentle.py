"""Upkeep's way of writing: small transactions with a pause after each, so that runs never wait long for the database."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from ..extensions import Database

FIRST_ROWS, LEAST_ROWS, MOST_ROWS = 100, 10, 500
HELD_SECONDS = 0.02  # what one transaction is meant to take
LONGEST_PAUSE_SECONDS = 0.1


class Gentle:
    """Transactions of as many rows as take some 20 ms here and now; the pause after each is as long as it was.

    Without the pause the next transaction would begin before those that wait have woken.
    """

    def __init__(self, database: Database, rows: int = FIRST_ROWS) -> None:
        """For rows of one kind; `rows` is how many the first transaction does."""
        self._db = database
        self.rows = rows

    @contextmanager
    def write(self, full: bool = False) -> Iterator[Session]:
        """One transaction. `full` says that it does `rows` rows of work, so that the next one's size follows from it."""
        with self._db.write() as session:
            begun = time.perf_counter()
            yield session
        took = time.perf_counter() - begun
        if full:
            self._adapt(took)
        time.sleep(min(took, LONGEST_PAUSE_SECONDS))

    def _adapt(self, took: float) -> None:
        wanted = int(self.rows * HELD_SECONDS / max(took, 0.001))
        # Never more than double: the next rows may be longer ones.
        self.rows = max(LEAST_ROWS, min(wanted, 2 * self.rows, MOST_ROWS))
