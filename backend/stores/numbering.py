"""Event numbers and the log's own rows: a run's lease is proved and its numbers are taken by one statement, for many runs at once."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Executable, bindparam, insert, update
from sqlalchemy.exc import DBAPIError, OperationalError

from ..agent.types import Event
from ..models import Base

# SQLite's driver lets other threads run at each row and then waits for its turn: what many runs stream goes in few
# statements of these many rows. They are few, so that the driver keeps them prepared.
ROWS_AT_ONCE = (64, 16, 4, 1)
FENCE_ONE = "UPDATE runs SET last_seq = last_seq + ? WHERE id = ? AND lease_epoch = ? RETURNING id, last_seq"
RUNS, RUN_EVENTS = Base.metadata.tables["runs"], Base.metadata.tables["run_events"]


class Asked(NamedTuple):
    """So many event numbers for a run, under a lease."""

    events: int
    run_id: str
    epoch: int


def take_numbers(connection: Connection, asked: Sequence[Asked]) -> dict[str, int]:
    """The last number of each run after so many more events; a run whose lease is another's by now is left out."""
    if (driver := _sqlite(connection)) is None:
        rows = (connection.execute(_fence(), ask._asdict()).one_or_none() for ask in asked)
        return {row.id: row.last_seq for row in rows if row}
    taken: dict[str, int] = {}
    with _as_ours():
        for size, values in _portions(asked):
            taken.update(driver.execute(_sqlite_fence(size), values).fetchall())
    return taken


def add_events(connection: Connection, events: Sequence[Event]) -> None:
    """Append numbered events to the logs of their runs."""
    rows = [(event.run_id, event.seq, event.type, event.text) for event in events]
    if not rows:
        return
    if (driver := _sqlite(connection)) is None:
        names = ("run_id", "seq", "type", "data")
        connection.execute(insert(RUN_EVENTS), [dict(zip(names, row, strict=True)) for row in rows])
        return
    with _as_ours():
        for size, values in _portions(rows):
            driver.execute(_sqlite_insert(size), values)


def _portions(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, list[Any]]]:
    """The rows in portions of known sizes, the values of each in one list."""
    at = 0
    for size in ROWS_AT_ONCE:
        while len(rows) - at >= size:
            yield size, [value for row in rows[at : at + size] for value in row]
            at += size


def _values(size: int, width: int) -> str:
    return ", ".join([f"({', '.join('?' * width)})"] * size)


@lru_cache
def _sqlite_fence(size: int) -> str:
    if size == 1:
        return FENCE_ONE
    return (  # only marks for values are put in
        f"WITH asked (events, run, epoch) AS (VALUES {_values(size, 3)}) "  # noqa: S608
        "UPDATE runs SET last_seq = last_seq + asked.events FROM asked "
        "WHERE runs.id = asked.run AND runs.lease_epoch = asked.epoch RETURNING runs.id, runs.last_seq"
    )


@lru_cache
def _sqlite_insert(size: int) -> str:
    return f"INSERT INTO run_events (run_id, seq, type, data) VALUES {_values(size, 4)}"  # noqa: S608


@lru_cache
def _fence() -> Executable:
    return (
        update(RUNS)
        .where(RUNS.c.id == bindparam("run_id"), RUNS.c.lease_epoch == bindparam("epoch"))
        .values(last_seq=RUNS.c.last_seq + bindparam("events"))
        .returning(RUNS.c.id, RUNS.c.last_seq)
    )


def _sqlite(connection: Connection) -> sqlite3.Connection | None:
    """The driver's own connection: what is done 20 times a second for each run passes SQLAlchemy by, at a tenth of the cost."""
    if connection.dialect.name != "sqlite":
        return None
    return cast(sqlite3.Connection, connection.connection.driver_connection)


@contextmanager
def _as_ours() -> Iterator[None]:
    """The driver's errors as SQLAlchemy has them."""
    try:
        yield
    except sqlite3.OperationalError as fault:
        raise OperationalError("the events of runs", None, fault) from fault
    except sqlite3.Error as fault:
        raise DBAPIError("the events of runs", None, fault) from fault
