"""Writes what runs record into their rows and logs: under their leases, numbered, neighbouring deltas as one."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from ..agent.ports import Tell
from ..agent.types import Event, RunRecord
from ..errors import LeaseLost
from ..meters import Meters
from ..models import Base
from . import rows
from .batches import Batch
from .numbering import Asked, add_events, take_numbers

DELTAS = ("text.delta", "reasoning.delta")
KEPT_MARK = "fallback:"
SETTINGS = Base.metadata.tables["settings"]


Told = list[tuple[Tell, list[Event]]]


class _Entry(NamedTuple):
    """What one run records in a transaction: its batches, each with its events."""

    batches: list[Batch]
    merged: list[tuple[Batch, list[Event]]]
    asked: Asked


def write_runs(connection: Connection, by_run: Iterable[list[Batch]]) -> Told:
    """Write the rows and events of each run's batches, under its lease; what of it is to be told after the commit."""
    entries = [_entry(batches) for batches in by_run if batches]
    numbers = take_numbers(connection, [entry.asked for entry in entries])
    told: Told = []
    for entry in entries:
        last = numbers.get(entry.asked.run_id)
        if last is None:
            for batch in entry.batches:
                batch.error = _lost()
        else:
            told += _write(connection, entry, last - entry.asked.events)
    add_events(connection, [event for _, events in told for event in events])
    return told


def _entry(batches: list[Batch]) -> _Entry:
    batches = _newest(batches)
    merged = [(batch, _merge(batch.events)) for batch in _merge_batches(batches)]
    count = sum(len(events) for _, events in merged)
    return _Entry(batches, merged, Asked(count, batches[0].run_id, batches[0].epoch))


def _write(connection: Connection, entry: _Entry, seq: int) -> Told:
    """Write one run's rows and number its events from `seq` on."""
    placed: rows.Placed = {}
    records = ((record, batch.blobs.get(i)) for batch, _ in entry.merged for i, record in enumerate(batch.rows))
    rows.write_all(connection, records, placed)
    for batch, events in entry.merged:
        for event in events:
            seq += 1
            _number(event, batch.run_id, seq, placed)
    if marks := [{"key": _mark(batch), "value": ""} for batch in entry.batches if batch.kept_as]:
        connection.execute(insert(SETTINGS), marks)
    return [(batch.tell, events) for batch, events in entry.merged if events]


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
    """Those of the latest lease: whoever holds it has gone on without what comes late under an earlier one."""
    epoch = max(batch.epoch for batch in batches)
    for batch in batches:
        if batch.epoch != epoch and not batch.kept_as:
            batch.error = _lost()
    return [batch for batch in batches if batch.epoch == epoch]


def _lost() -> LeaseLost:
    return LeaseLost("Another worker has taken this run over.")


def _mark(batch: Batch) -> str:
    """Says in the database that an entry of the fallback log is entered: it is committed with it."""
    return f"{KEPT_MARK}{batch.kept_as}"


def not_entered(connection: Connection, batches: list[Batch]) -> list[Batch]:
    """Those entries of a fallback log that are not in the database yet."""
    known = set(connection.scalars(select(SETTINGS.c.key).where(SETTINGS.c.key.in_([_mark(b) for b in batches]))))
    return [batch for batch in batches if _mark(batch) not in known]


def forget_marks(connection: Connection) -> None:
    """The fallback log is gone: nobody will ask any more what of it is entered."""
    connection.execute(delete(SETTINGS).where(SETTINGS.c.key.startswith(KEPT_MARK, autoescape=True)))


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
