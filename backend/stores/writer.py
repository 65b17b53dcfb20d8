"""The one writer of runs: groups what many runs record into few commits, and publishes only after the commit."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from sqlalchemy import Connection, Executable, bindparam, insert, update
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from ..agent.ports import Tell
from ..agent.types import CallRecord, Event, Record
from ..errors import LeaseLost, NanoClawError, StorageError
from ..extensions import Database
from ..models import Base
from . import rows

PACE_SECONDS = 0.05
RETRY_DELAYS_SECONDS = (0.1, 0.5, 2.0)
CHECKPOINT_PAGES = 1000
DELTAS = ("text.delta", "reasoning.delta")

KeepBlob = Callable[[str], str]


@dataclass(slots=True)
class Batch:
    """Rows and events of one moment of one run, and who is told once they are committed.

    `awaited`: a caller waits for it. Without, it may be grouped with what comes within 50 ms.
    """

    run_id: str
    epoch: int
    rows: Sequence[Record]
    events: list[Event]
    tell: Tell
    awaited: bool
    due: float = 0.0
    blobs: dict[int, str] = field(default_factory=dict)
    done: bool = False
    error: NanoClawError | None = None


class RunWriter:
    """Commits batches in the order they came; a waiting caller commits for all who wait with it.

    What nobody waits for is committed with the next that somebody waits for, or within 50 ms. Deltas are
    committed at once when the run's last ones are at least 50 ms old: the first of an answer always.
    Batches that somebody waits for or that hold rows are written with synchronous=FULL, deltas with NORMAL.
    """

    def __init__(self, database: Database, keep_blob: KeepBlob) -> None:
        self._db = database
        self._keep_blob = keep_blob
        self._committing = threading.Lock()
        self._waiting = threading.Condition()
        self._pending: list[Batch] = []
        self._last_deltas: dict[str, float] = {}
        self._failed: dict[str, NanoClawError] = {}
        self._connection: Connection | None = None
        self._full = False
        self._closed = False
        self._flusher = threading.Thread(target=self._flush_loop, name="run-writer", daemon=True)
        self._flusher.start()

    def submit(self, batch: Batch, wait: bool) -> None:
        """Queue a batch; with `wait`, return when it is committed and told, or raise its error."""
        self._raise_earlier_failure(batch.run_id)
        batch.blobs = self._keep_full_results(batch.rows)
        batch.due = self._due(batch)
        with self._waiting:
            self._pending.append(batch)
        if wait:
            with self._committing:
                if not batch.done:
                    self._commit_pending()
            if batch.error:
                raise batch.error
        elif not self._commit_now_if_due(batch):
            with self._waiting:
                self._waiting.notify()

    def close(self) -> None:
        """Commit what is left and stop."""
        with self._waiting:
            self._closed = True
            self._waiting.notify()
        self._flusher.join(timeout=5)
        with self._committing:
            self._commit_pending()
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # ---------------------------------------------------------------- when
    def _due(self, batch: Batch) -> float:
        """When a batch must be committed at the latest, if nobody waits for it."""
        last = self._last_deltas.get(batch.run_id, 0.0) if _has_deltas(batch) else time.monotonic()
        return last + PACE_SECONDS

    def _commit_now_if_due(self, batch: Batch) -> bool:
        if time.monotonic() < batch.due:
            return False
        if not self._committing.acquire(blocking=False):
            return False
        try:
            self._commit_pending()
        finally:
            self._committing.release()
        return True

    def _flush_loop(self) -> None:
        while True:
            with self._waiting:
                while not self._pending and not self._closed:
                    self._waiting.wait()
                if self._closed:
                    return
                pause = min(batch.due for batch in self._pending) - time.monotonic()
                if pause > 0:
                    self._waiting.wait(pause)
                    continue
            with self._committing:
                self._commit_pending()

    # ---------------------------------------------------------------- what
    def _commit_pending(self) -> None:
        with self._waiting:
            batches, self._pending = self._pending, []
        if not batches:
            return
        try:
            if not self._try(batches) and len(batches) > 1:
                for batch in batches:  # one that cannot be written must not take the others with it
                    batch.error = None
                    self._try([batch])
        except BaseException:
            _fail_all(batches, StorageError("The record could not be written."))
            raise
        finally:
            for batch in batches:
                batch.done = True
                if batch.error and not batch.awaited:
                    self._failed[batch.run_id] = batch.error

    def _try(self, batches: list[Batch]) -> bool:
        """Write with retries; True if no batch failed for storage."""
        for delay in (*RETRY_DELAYS_SECONDS, None):
            try:
                told = self._write(batches)
                for tell, events in told:
                    tell(events)
                return True
            except OperationalError as fault:
                if delay is None:
                    return _fail(batches, fault)
                time.sleep(delay)
            except SQLAlchemyError as fault:
                return _fail(batches, fault)
        return False

    def _write(self, batches: list[Batch]) -> list[tuple[Tell, list[Event]]]:
        told: list[tuple[Tell, list[Event]]] = []
        connection = self._ready_connection(full=any(b.awaited or b.rows for b in batches))
        with self._db.transaction(connection):
            for run_id in dict.fromkeys(b.run_id for b in batches):
                told += _write_run(connection, [b for b in batches if b.run_id == run_id])
        now = time.monotonic()
        for batch in batches:
            if _has_deltas(batch):
                self._last_deltas[batch.run_id] = now
            elif any(event.type == "run.finished" for event in batch.events):
                self._last_deltas.pop(batch.run_id, None)
        return told

    def _ready_connection(self, full: bool) -> Connection:
        sqlite = self._db.engine.dialect.name == "sqlite"
        if self._connection is None:
            self._connection = self._db.engine.connect().execution_options(nanoclaw_write=True)
            self._full = False
            if sqlite:
                self._pragma(f"wal_autocheckpoint={CHECKPOINT_PAGES}")
        if sqlite and full != self._full:
            self._pragma(f"synchronous={'FULL' if full else 'NORMAL'}")
            self._full = full
        return self._connection

    def _pragma(self, words: str) -> None:
        assert self._connection is not None
        driver = self._connection.connection.driver_connection
        assert driver is not None
        driver.execute(f"PRAGMA {words}")

    def _keep_full_results(self, records: Sequence[Record]) -> dict[int, str]:
        return {
            i: self._keep_blob(record.full_result)
            for i, record in enumerate(records)
            if isinstance(record, CallRecord) and record.full_result is not None
        }

    def _raise_earlier_failure(self, run_id: str) -> None:
        if self._failed and (error := self._failed.pop(run_id, None)):
            raise error


def _write_run(connection: Connection, batches: list[Batch]) -> list[tuple[Tell, list[Event]]]:
    """Write the batches of one run; the fence and the event numbers are one statement."""
    merged = [(batch, _merge(batch.events)) for batch in _merge_batches(batches)]
    epoch = batches[0].epoch
    count = sum(len(events) for _, events in merged)
    last = connection.execute(_fence(), {"run": batches[0].run_id, "epoch": epoch, "events": count}).scalar()
    if last is None or any(batch.epoch != epoch for batch in batches):
        for batch in batches:
            batch.error = LeaseLost("Another worker has taken this run over.")
        return []
    seq = last - count
    values = []
    placed: rows.Placed = {}
    records = ((record, batch.blobs.get(i)) for batch, _ in merged for i, record in enumerate(batch.rows))
    rows.write_all(connection, records, placed)
    for batch, events in merged:
        for event in events:
            seq += 1
            _number(event, batch.run_id, seq, placed)
            values.append({"run_id": batch.run_id, "seq": seq, "type": event.type, "data": event.text})
    if values:
        connection.execute(_add_events(), values)
    return [(batch.tell, events) for batch, events in merged if events]


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


def _has_deltas(batch: Batch) -> bool:
    return any(event.type in DELTAS for event in batch.events)


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


def _fail(batches: list[Batch], fault: SQLAlchemyError) -> bool:
    why = str(fault.orig) if isinstance(fault, DBAPIError) else type(fault).__name__
    error = StorageError(f"The database did not take the record ({why}).")
    error.__cause__ = fault
    _fail_all(batches, error)
    return False


def _fail_all(batches: list[Batch], error: NanoClawError) -> None:
    for batch in batches:
        batch.error = batch.error or error
