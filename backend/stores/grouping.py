"""Writes what one run records into its rows and its log: under its lease, numbered, neighbouring deltas as one."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import cast

from sqlalchemy import Connection, Executable, bindparam, delete, insert, select, update
from sqlalchemy.exc import DBAPIError, OperationalError

from ..agent.ports import Tell
from ..agent.types import Event, RunRecord
from ..errors import LeaseLost
from ..meters import Meters
from ..models import Base
from . import rows
from .batches import Batch

DELTAS = ("text.delta", "reasoning.delta")
KEPT_MARK = "fallback:"
SQLITE_FENCE = "UPDATE runs SET last_seq = last_seq + ? WHERE id = ? AND lease_epoch = ? RETURNING last_seq"
SQLITE_ADD_EVENTS = "INSERT INTO run_events (run_id, seq, type, data) VALUES (?, ?, ?, ?)"
SETTINGS = Base.metadata.tables["settings"]


Told = list[tuple[Tell, list[Event]]]


def write_run(connection: Connection, batches: list[Batch]) -> Told:
    """Write the rows of one run's batches and number their events; `add_events` writes those of all runs at once.

    The fence and the event numbers are one statement.
    """
    batches = _newest(batches)
    merged = [(batch, _merge(batch.events)) for batch in _merge_batches(batches)]
    epoch = batches[0].epoch
    count = sum(len(events) for _, events in merged)
    last = _take_numbers(connection, batches[0].run_id, epoch, count)
    if last is None or any(batch.epoch != epoch for batch in batches):
        for batch in batches:
            batch.error = LeaseLost("Another worker has taken this run over.")
        return []
    seq = last - count
    placed: rows.Placed = {}
    records = ((record, batch.blobs.get(i)) for batch, _ in merged for i, record in enumerate(batch.rows))
    rows.write_all(connection, records, placed)
    for batch, events in merged:
        for event in events:
            seq += 1
            _number(event, batch.run_id, seq, placed)
    if marks := [{"key": _mark(batch), "value": ""} for batch in batches if batch.kept_as]:
        connection.execute(insert(SETTINGS), marks)
    return [(batch.tell, events) for batch, events in merged if events]


def count_event(meters: Meters, event: Event) -> None:
    """What an event says of work that has ended."""
    data = event.data
    if event.type == "tool_call.finished":
        meters.add("tool_calls", tool=data["call"]["function"]["name"], outcome=data["call"]["status"])
    elif event.type == "step.finished":
        meters.add("steps")
    elif event.type == "run.finished":
        meters.add("runs_ended", status=str(data.get("status")), reason=str(data.get("stop_reason")))


def count_tokens(meters: Meters, batch: Batch) -> None:
    """What a run that ended has used."""
    for row in batch.rows:
        if isinstance(row, RunRecord) and row.finished_at and row.usage:
            meters.add("tokens", row.usage.prompt_tokens, kind="prompt")
            meters.add("tokens", row.usage.completion_tokens, kind="completion")


def _newest(batches: list[Batch]) -> list[Batch]:
    """Without those of an earlier lease: whoever holds the later one has gone on without them."""
    epoch = max((batch.epoch for batch in batches), default=0)
    return [batch for batch in batches if batch.epoch == epoch or not batch.kept_as]


def _mark(batch: Batch) -> str:
    """Says in the database that an entry of the fallback log is entered: it is committed with it."""
    return f"{KEPT_MARK}{batch.kept_as}"


def add_events(connection: Connection, told: Told) -> None:
    """Append numbered events to the logs: one statement for all runs of a transaction."""
    values = [(event.run_id, event.seq, event.type, event.text) for _, events in told for event in events]
    if not values:
        return
    if (driver := _sqlite(connection)) is not None:
        with _as_ours():
            driver.executemany(SQLITE_ADD_EVENTS, values)
    else:
        names = ("run_id", "seq", "type", "data")
        connection.execute(_add_events(), [dict(zip(names, row, strict=True)) for row in values])


def not_entered(connection: Connection, batches: list[Batch]) -> list[Batch]:
    """Those entries of a fallback log that are not in the database yet."""
    known = set(connection.scalars(select(SETTINGS.c.key).where(SETTINGS.c.key.in_([_mark(b) for b in batches]))))
    return [batch for batch in batches if _mark(batch) not in known]


def forget_marks(connection: Connection) -> None:
    """The fallback log is gone: nobody will ask any more what of it is entered."""
    connection.execute(delete(SETTINGS).where(SETTINGS.c.key.startswith(KEPT_MARK, autoescape=True)))


def _take_numbers(connection: Connection, run_id: str, epoch: int, count: int) -> int | None:
    """The run's last number after so many more events; None if its lease is another's by now."""
    if (driver := _sqlite(connection)) is None:
        values = {"run": run_id, "epoch": epoch, "events": count}
        number: int | None = connection.execute(_fence(), values).scalar()
        return number
    with _as_ours():
        row = driver.execute(SQLITE_FENCE, (count, run_id, epoch)).fetchone()
    return row[0] if row else None


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


@lru_cache
def _fence() -> Executable:
    """Prove the lease and take the next event numbers in one statement."""
    runs = rows.RUNS
    return (
        update(runs)
        .where(runs.c.id == bindparam("run"), runs.c.lease_epoch == bindparam("epoch"))
        .values(last_seq=runs.c.last_seq + bindparam("events"))
        .returning(runs.c.last_seq)
    )


@lru_cache
def _add_events() -> Executable:
    return insert(Base.metadata.tables["run_events"])


def _number(event: Event, run_id: str, seq: int, placed: rows.Placed) -> None:
    event.run_id, event.seq = run_id, seq
    event.data["run_id"] = run_id
    message = event.data.get("message")
    if message and message["id"] in placed:
        message.update(placed[message["id"]])
    event.text = rows.dumps(event.data)


def _merge_batches(batches: list[Batch]) -> list[Batch]:
    """Neighbouring batches that hold nothing but deltas become one, so that their pieces can become one event."""
    out: list[Batch] = []
    for batch in batches:
        if out and _is_loose(batch) and _is_loose(out[-1]):
            events = [*out[-1].events, *batch.events]
            out[-1] = Batch(batch.run_id, batch.epoch, [], events, batch.tell, awaited=False)
        else:
            out.append(batch)
    return out


def has_deltas(events: Sequence[Event]) -> bool:
    """True if a viewer sees text grow by one of them."""
    return any(event.type in DELTAS for event in events)


def _is_loose(batch: Batch) -> bool:
    return not batch.awaited and not batch.rows


def _merge(events: list[Event]) -> list[Event]:
    """Neighbouring deltas of one step and kind become one event with the first one's offset."""
    out: list[Event] = []
    for event in events:
        last = out[-1] if out else None
        if last and event.type in DELTAS and last.type == event.type and last.data["step"] == event.data["step"]:
            out[-1] = Event(event.type, {**last.data, "text": last.data["text"] + event.data["text"]})
        else:
            out.append(event)
    return out
