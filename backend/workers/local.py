"""A bounded pool of threads that executes runs, fair between users, under leases that heartbeats keep."""

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from ..cancel import CancelToken
from ..errors import LeaseLost, StorageError
from ..services.running import receipts
from ..services.running.execution import Execution, mark_cancelled, recover_waiting
from ..stores.leases import HEARTBEAT_SECONDS, Lease, Leases

log = logging.getLogger(__name__)

STOP_SECONDS = 10.0
CANCEL_WAIT_SECONDS = 2.0
SWEEP_RUNS = 200


@dataclass(slots=True)
class _Active:
    """A run that a thread of this process has taken; the lease comes a moment later."""

    lease: Lease | None = None
    cancelled: CancelToken = field(default_factory=CancelToken)
    ended: threading.Event = field(default_factory=threading.Event)


class LocalQueue:
    """The queue of one process; `submit` and `cancel` may be called from any thread."""

    def __init__(self, execution: Execution, leases: Leases, threads: int) -> None:
        self._execution = execution
        self._leases = leases
        self._size = threads
        self._lock = threading.Condition()
        self._by_user: dict[str, deque[str]] = {}
        self._known: set[str] = set()
        self._active: dict[str, _Active] = {}
        self._stopping = threading.Event()
        self._cut_off = False
        self._threads: list[threading.Thread] = []

    # ---------------------------------------------------------------- life
    def start(self) -> None:
        """Take over what a dead process left, then work."""
        self._leases.free_all()
        for name, target in [("run-keeper", self._keep)] + [(f"run-{i}", self._work) for i in range(self._size)]:
            thread = threading.Thread(target=target, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)
        for run_id in recover_waiting(self._execution.runtime):
            self.submit(run_id)
        self._sweep()

    def stop(self) -> None:
        """Take no more work; running runs are given back at their next record, 10 s at most."""
        self._stopping.set()
        self._execution.handover.set()
        with self._lock:
            self._lock.notify_all()
            active = list(self._active.values())
        deadline = time.monotonic() + STOP_SECONDS
        for run in active:
            run.ended.wait(max(0.0, deadline - time.monotonic()))
        for run in active:
            if run.lease is not None:
                self._leases.release(run.lease)

    # ---------------------------------------------------------------- the queue
    def submit(self, run_id: str) -> None:
        """Hand over a run whose row is committed as `queued`; a run that waits already is not doubled."""
        self._put(run_id, receipts.owner_of(self._execution.runtime, run_id))

    def cancel(self, run_id: str) -> dict[str, Any]:
        """Stop a run and answer the receipt; idempotent."""
        runtime = self._execution.runtime
        before = receipts.look(runtime, run_id)
        mark_cancelled(runtime, run_id)
        with self._lock:
            active = self._active.get(run_id)
            if active is None and before.status == "queued":
                self._take_out(run_id)
                mine = self._active[run_id] = _Active()
        if active is not None:
            active.cancelled.set()
            active.ended.wait(CANCEL_WAIT_SECONDS)
        elif before.status == "queued":
            self._claim_and_execute(run_id, mine)
        return receipts.receipt(runtime, run_id, before)

    def look_again(self) -> None:
        """At the next heartbeat, start runs for messages that wait although no run is under way."""
        self._cut_off = True

    def depth(self) -> dict[str, int]:
        """How many runs wait and how many run here."""
        with self._lock:
            return {"waiting": len(self._known), "running": len(self._active), "threads": self._size}

    def _put(self, run_id: str, user_id: str) -> None:
        with self._lock:
            if run_id in self._known or run_id in self._active:
                return
            self._known.add(run_id)
            self._by_user.setdefault(user_id, deque()).append(run_id)
            self._lock.notify()

    def _take(self) -> tuple[str, _Active] | None:
        """The next run, one user after the other; None when stopping. From here on a cancel finds it."""
        with self._lock:
            while not self._by_user and not self._stopping.is_set():
                self._lock.wait()
            if self._stopping.is_set():
                return None
            user_id, runs = next(iter(self._by_user.items()))
            del self._by_user[user_id]
            run_id = runs.popleft()
            if runs:
                self._by_user[user_id] = runs  # to the end of the line
            self._known.discard(run_id)
            run = self._active[run_id] = _Active()
            return run_id, run

    def _take_out(self, run_id: str) -> None:
        """Of the line; the caller holds the lock."""
        for user_id, runs in list(self._by_user.items()):
            if run_id in runs:
                runs.remove(run_id)
                if not runs:
                    del self._by_user[user_id]
        self._known.discard(run_id)

    # ---------------------------------------------------------------- the work
    def _work(self) -> None:
        while (taken := self._take()) is not None:
            try:
                self._claim_and_execute(*taken)
            except Exception:
                log.exception("run %s ended in an unexpected error", taken[0])

    def _claim_and_execute(self, run_id: str, run: _Active) -> None:
        following = None
        try:
            self._execution.writer.enter_kept()  # its end may be waiting there
            run.lease = self._leases.claim(run_id)
            if run.lease is not None:
                following = self._execute(run.lease, run.cancelled)
        finally:
            with self._lock:
                self._active.pop(run_id, None)
            run.ended.set()
        if following and not self._stopping.is_set():
            self.submit(following)

    def _execute(self, lease: Lease, cancelled: CancelToken) -> str | None:
        """To its end; the id of the run that follows."""
        if lease.again:
            self._execution.runtime.meters.add("lease_takeovers")
        if receipts.cancel_requested(self._execution.runtime, lease.run_id):
            cancelled.set()
        try:
            return self._execution.execute(lease, cancelled)
        except LeaseLost:
            if not self._stopping.is_set():
                self._execution.runtime.meters.add("leases_lost")
            log.warning("run %s was taken over by another worker", lease.run_id)
        except StorageError as error:
            log.error("run %s could not be recorded: %s", lease.run_id, error.message)
        self._cut_off = True
        return None

    def _keep(self) -> None:
        """Extend leases, and look for runs that nobody has."""
        while not self._stopping.wait(HEARTBEAT_SECONDS):
            try:
                with self._lock:
                    leases = [run.lease for run in self._active.values() if run.lease]
                for lost in self._leases.heartbeat(leases):
                    self._drop(lost)
                self._sweep()
                self._start_what_waits()
            except SQLAlchemyError as fault:  # a disk that is full or locked says so every time: one line is enough
                log.error("leases could not be kept: %s", getattr(fault, "orig", None) or type(fault).__name__)
            except Exception:
                log.exception("leases could not be kept")

    def _drop(self, lease: Lease) -> None:
        with self._lock:
            run = self._active.get(lease.run_id)
        if run is not None and run.lease == lease:
            run.cancelled.set()

    def _sweep(self) -> None:
        for run_id, user_id in self._leases.waiting(SWEEP_RUNS):
            self._put(run_id, user_id)

    def _start_what_waits(self) -> None:
        """A run whose end could not be stored, or was hidden, started no run for the messages that wait for it."""
        if self._cut_off:
            self._cut_off = bool(self._execution.writer.fallback)
            for run_id in recover_waiting(self._execution.runtime):
                self.submit(run_id)
