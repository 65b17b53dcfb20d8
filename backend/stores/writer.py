"""The one writer of runs: groups what many runs record into few commits, and publishes only after the commit."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from ..agent.types import CallRecord, Record
from ..errors import NanoClawError, StorageError
from ..extensions import Database
from ..fair_lock import FairLock
from ..meters import Meters
from . import grouping
from .batches import Batch
from .fallback import Fallback, read
from .grouping import Told

log = logging.getLogger(__name__)

PACE_SECONDS = 0.05
# With more than a hundred runs that stream at once, each is shown less often, so that all are shown in time.
PACE_SECONDS_PER_RUN = 0.0005
LONGEST_PACE_SECONDS = 0.1
RETRY_DELAYS_SECONDS = (0.1, 0.5, 2.0)
CHECKPOINT_PAGES = 1000
TRY_AGAIN_SECONDS = 1.0
SAFE = (
    "Everything shown so far is stored. What happened last is kept in the fallback log and is entered as soon as "
    "the database takes writes again, at the latest at the next start."
)

NOT_WRITTEN = "The record could not be written."

KeepBlob = Callable[[str], str]


Outcome = Literal["written", "refused", "unavailable"]


class RunWriter:
    """Commits batches in the order they came; a waiting caller commits for all who wait with it.

    What nobody waits for is committed with the next that somebody waits for, or within 50 ms. Deltas are
    committed at once when the run's last ones are at least 50 ms old: the first of an answer always.
    Batches that somebody waits for or that hold calls are written with synchronous=FULL, others with NORMAL.

    A database that takes nothing is tried 4 times; then the batch goes to the fallback log, its caller gets
    StorageError, and it is entered as soon as the database takes writes again, before anything newer of its run.
    """

    def __init__(self, database: Database, keep_blob: KeepBlob, fallback: Fallback | None = None) -> None:
        self._db = database
        self._keep_blob = keep_blob
        self.fallback = Fallback(None) if fallback is None else fallback
        self.meters = Meters()
        self.on_trouble: Callable[[str], None] = lambda run_id: None
        self._committing = FairLock()
        self._waiting = threading.Condition()
        self._pending: list[Batch] = []
        self._last_deltas: dict[str, float] = {}
        self._failed: dict[tuple[str, int], NanoClawError] = {}  # by run and epoch: another lease is no part of it
        self._connection: Connection | None = None
        self._full = False
        self._closed = False
        self._flusher = threading.Thread(target=self._flush_loop, name="run-writer", daemon=True)
        self._flusher.start()

    def submit(self, batch: Batch, wait: bool) -> None:
        """Queue a batch; with `wait`, return when it is committed and told, or raise its error."""
        batch.blobs = self._keep_full_results(batch.rows)
        batch.events = self.fallback.without_known(batch)
        self._raise_earlier_failure(batch)
        batch.deltas = grouping.has_deltas(batch.events)
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
            self._enter_kept()
            self._drop_connection()
        self.fallback.close()

    def enter_kept(self) -> None:
        """Try once to write what waits in the fallback log, if anything does."""
        if self.fallback:
            with self._committing:
                self._enter_kept()

    def replay(self, path: Path) -> int:
        """At start, before any run is taken: enter what an earlier process left in its fallback log. How many moments."""
        left = read(path)
        if not left:
            return 0
        with self._committing:
            connection = self._ready_connection(full=True)
            with self._db.transaction(connection):
                fresh = grouping.not_entered(connection, left)
            for run_id in dict.fromkeys(batch.run_id for batch in fresh):
                self._enter_left(connection, run_id, [batch for batch in fresh if batch.run_id == run_id])
        path.unlink(missing_ok=True)
        with self._db.write() as session:
            grouping.forget_marks(session.connection())
        return len(fresh)

    def _enter_left(self, connection: Connection, run_id: str, batches: list[Batch]) -> None:
        """One run's, for itself: what can never be entered keeps neither the others nor the server from starting."""
        try:
            with self._db.transaction(connection):
                grouping.write_runs(connection, [batches])
        except OperationalError:
            raise
        except Exception:
            log.exception("run %s: what the fallback log held cannot be entered", run_id)

    # ---------------------------------------------------------------- when
    def _due(self, batch: Batch) -> float:
        """When a batch must be committed at the latest, if nobody waits for it."""
        last = self._last_deltas.get(batch.run_id, 0.0) if batch.deltas else time.monotonic()
        return last + min(max(PACE_SECONDS, len(self._last_deltas) * PACE_SECONDS_PER_RUN), LONGEST_PACE_SECONDS)

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
                while not self._pending and not self._closed and not self.fallback:
                    self._waiting.wait()
                if self._closed:
                    return
                if not self._pending:
                    self._waiting.wait(TRY_AGAIN_SECONDS)
                pause = min((batch.due for batch in self._pending), default=0.0) - time.monotonic()
                if pause > 0:
                    self._waiting.wait(pause)
                    continue
            try:
                with self._committing:
                    self._commit_pending()
                    self._enter_kept()
            except Exception:  # every run needs this thread
                log.exception("records could not be written; their runs have been told")

    # ---------------------------------------------------------------- what
    def _commit_pending(self) -> None:
        with self._waiting:
            batches, self._pending = self._pending, []
        if not batches:
            return
        try:
            outcome = self._try(batches)
            if outcome == "refused" and len(batches) > 1:
                for batch in batches:  # one that cannot be written must not take the others with it
                    batch.error = None
                    if self._try([batch]) == "unavailable":
                        self._keep([batch])
            elif outcome == "unavailable":
                self._keep(batches)
        except BaseException:
            _fail_all(batches, StorageError(NOT_WRITTEN))
            raise
        finally:
            for batch in batches:
                batch.done = True
                if batch.error and not batch.awaited:
                    self._failed[batch.run_id, batch.epoch] = batch.error

    def _try(self, batches: list[Batch]) -> Outcome:
        """Write, with retries while the database is unavailable."""
        for delay in (*RETRY_DELAYS_SECONDS, None):
            try:
                self._tell(self._write(batches))
                return "written"
            except OperationalError as fault:
                self._drop_connection()
                if delay is None:
                    _fail(batches, fault)
                    return "unavailable"
                self.meters.add("storage_retries")
                time.sleep(delay)
            except Exception as fault:  # a number or a text that the database cannot hold is no SQLAlchemyError
                if not isinstance(fault, SQLAlchemyError):
                    log.exception("a record cannot be written")
                _fail(batches, fault)
                return "refused"
        return "unavailable"

    def _tell(self, told: Told) -> None:
        """A listener that fails stops no run: what it missed is in the rows."""
        for tell, events in told:
            try:
                tell(events)
            except Exception:
                self.meters.add("events_untold", len(events))
                log.exception("committed events could not be told")

    def _keep(self, batches: list[Batch]) -> None:
        for batch in batches:
            self.fallback.keep(batch)
            self.meters.add("storage_kept")
        for run_id in dict.fromkeys(batch.run_id for batch in batches):
            self.on_trouble(run_id)

    def _enter_kept(self) -> None:
        """Once, without retries: it is tried again in a second."""
        for run_id in self.fallback.run_ids():
            try:
                self._tell(self._write([], run_id))
            except OperationalError:
                self._drop_connection()
                return
            except Exception:
                log.exception("run %s: what the fallback log holds cannot be entered", run_id)
                self.fallback.settled(run_id)

    def _measure(self, batches: list[Batch], told: Told, now: float) -> None:
        self.meters.add("commits")
        for batch in batches:
            self.meters.time("event_lag", now - batch.submitted)
            grouping.count_tokens(self.meters, batch)
        for _, events in told:
            self.meters.add("events", len(events))
            for event in events:
                grouping.count_event(self.meters, event)

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with suppress(SQLAlchemyError):
                self._connection.close()
            self._connection = None

    def _write(self, batches: list[Batch], kept_of: str | None = None) -> Told:
        """One transaction; what waits of the same runs in the fallback log goes first (all of `kept_of`)."""
        by_run: dict[str, list[Batch]] = {kept_of: []} if kept_of else {}
        for batch in batches:
            by_run.setdefault(batch.run_id, []).append(batch)
        connection = self._ready_connection(full=bool(kept_of) or any(b.must_survive_power_loss for b in batches))
        with self._db.transaction(connection):
            told = grouping.write_runs(connection, ([*self.fallback.of(run), *mine] for run, mine in by_run.items()))
        if self.fallback:
            for run_id in by_run:
                self.fallback.settled(run_id)
        now = time.monotonic()
        try:
            self._measure(batches, told, now)
        except Exception:  # what is committed is not to be written again
            log.exception("a commit could not be counted")
        for batch in batches:
            if batch.deltas:
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
        kept = {}
        for i, record in enumerate(records):
            if isinstance(record, CallRecord) and record.full_result is not None:
                try:
                    kept[i] = self._keep_blob(record.full_result)
                except (OSError, NanoClawError) as fault:  # the cut result that the model saw is stored all the same
                    log.error("the whole result of call %s could not be kept: %s", record.call["id"], fault)
        return kept

    def _raise_earlier_failure(self, batch: Batch) -> None:
        """A batch that nobody waited for has failed: its run hears of it now, and what has happened since is kept."""
        if self._failed and (error := self._failed.pop((batch.run_id, batch.epoch), None)):
            if isinstance(error, StorageError):
                # Whoever is told that a piece of text could not be recorded does not count it as said.
                batch.events = [event for event in batch.events if event.type not in grouping.DELTAS]
                if batch.events or batch.rows:
                    self._keep([batch])
            raise error


def _fail(batches: list[Batch], fault: Exception) -> None:
    why = str(fault.orig) if isinstance(fault, DBAPIError) else type(fault).__name__
    error = StorageError(f"The database did not take the record ({why}).", suggestion=SAFE)
    error.__cause__ = fault
    _fail_all(batches, error)


def _fail_all(batches: list[Batch], error: NanoClawError) -> None:
    for batch in batches:
        batch.error = batch.error or error
