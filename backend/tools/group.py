"""Executes calls side by side: starts them, watches their time, and gives up on those that hang."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from ..cancel import CancelToken
from ..errors import ToolCancelled, ToolTimeout
from .calls import Call, stamp
from .context import CallContext
from .core import JsonObject
from .failures import as_error
from .plans import Plan
from .pool import Job, WorkerPool
from .results import Outcome

ABANDONED = "abandoned"  # in a CALL's `degraded`: it was given up, and may still take effect
CANCEL_GRACE_SECONDS = 1.0  # what can be interrupted may still tell how it ended
POLL_SECONDS = 0.05  # only for cancel signals that cannot call back

_now = time.perf_counter


class Host(Protocol):
    """The batch, as a group of its calls needs it."""

    def lead(self, call: Call, waiter: Callable[[Outcome | None], None]) -> bool:
        """False if an equal call is being executed elsewhere; then `waiter` is told its outcome."""

    def settle(self, call: Call, value: Any, error: Exception | None) -> float | None:
        """Record how the call ended, or say after how many seconds to run it (again)."""

    def adopt(self, call: Call, outcome: Outcome) -> None:
        """Record the outcome of the equal call."""

    def late_write(self) -> None:
        """A write that had been given up has ended after all."""


class Attempt:
    """One execution of a call on a thread, or the wait for an equal call elsewhere (`job` is None)."""

    __slots__ = ("call", "closed", "deadline", "ended", "error", "job", "landed", "plan", "started", "token", "value")

    def __init__(self, call: Call, plan: Plan) -> None:
        self.call = call
        self.plan = plan
        self.deadline = _now() + plan.definition.timeout
        self.job: Job | None = None
        self.token: CancelToken | None = None
        self.closed = False
        self.started = self.ended = 0.0
        self.value: Any = None
        self.error: BaseException | None = None
        self.landed: Outcome | None = None


class Group:
    """Runs each of its calls until the host has settled it; at most `max_workers` at once."""

    def __init__(self, host: Host, context: CallContext, pool: WorkerPool, max_workers: int) -> None:
        self._host = host
        self._context = context
        self._pool = pool
        self._max_workers = max(max_workers, 1)
        self._done: SimpleQueue[Attempt | None] = SimpleQueue()
        self._backlog: deque[Call] = deque()
        self._active: list[Attempt] = []
        self._due: list[tuple[float, Call]] = []
        self._stopping = False
        self._accepted = _now()

    def run(self, calls: Sequence[Call], later: Sequence[tuple[float, Call]] = ()) -> None:
        """Return when all are settled; `later` are calls that start after so many seconds.

        What the watcher or an interrupt raises passes through.
        """
        self._backlog.extend(call for call in calls if not _plan(call).inline)
        self._due.extend((_now() + seconds, call) for seconds, call in later)
        forget = self._listen()
        try:
            self._start_some()
            for call in calls:
                if _plan(call).inline:
                    self._start(call)
            while self._backlog or self._active or self._due:
                self._handle_next()
                self._start_some()
        except BaseException:
            self._give_up()
            raise
        finally:
            if forget is not None:
                forget()

    def _listen(self) -> Callable[[], None] | None:
        cancelled = self._context.cancelled
        if cancelled is None or not hasattr(cancelled, "on_cancel"):
            return None
        forget: Callable[[], None] = cancelled.on_cancel(lambda: self._done.put(None))
        return forget

    # ------------------------------------------------------------ starting
    def _start_some(self) -> None:
        while self._backlog and len(self._active) < self._max_workers:
            self._start(self._backlog.popleft())

    def _start(self, call: Call) -> None:
        if self._context.is_cancelled():
            self._settle(call, None, ToolCancelled("The run was cancelled before this call began."))
            return
        attempt = Attempt(call, _plan(call))
        if not self._host.lead(call, lambda outcome: self._land(attempt, outcome)):
            if call.outcome is None:
                self._active.append(attempt)
            return
        call.attempts += 1
        if attempt.plan.inline:
            _execute(attempt, self._arguments(attempt))
            self._take(attempt)
            return
        arguments = self._arguments(attempt)
        self._active.append(attempt)
        attempt.job = self._pool.submit(lambda: self._work(attempt, arguments))

    def _arguments(self, attempt: Attempt) -> JsonObject:
        """The handler's own copy, with what the tool needs from the context."""
        plan = attempt.plan
        arguments = plan.handed_over(attempt.call.arguments, attempt.call.id, self._context.values)
        if plan.cancel_argument is not None:
            attempt.token = CancelToken()
            arguments[plan.cancel_argument] = attempt.token
            if plan.inline and self._context.cancelled is not None:
                arguments[plan.cancel_argument] = self._context.cancelled
        return arguments

    def _work(self, attempt: Attempt, arguments: JsonObject) -> None:
        _execute(attempt, arguments)
        if attempt.closed and attempt.plan.writes:
            self._host.late_write()
        self._done.put(attempt)

    def _land(self, attempt: Attempt, outcome: Outcome | None) -> None:
        attempt.landed = outcome
        self._done.put(attempt)

    # ------------------------------------------------------------ ending
    def _handle_next(self) -> None:
        try:
            attempt = self._done.get(timeout=self._seconds_to_next())
        except Empty:
            if not self._stopping and self._context.is_cancelled():
                self._stop()
            self._close_overdue()
            return
        if attempt is None:
            self._stop()
        elif not attempt.closed:
            self._active.remove(attempt)
            self._take(attempt)

    def _take(self, attempt: Attempt) -> None:
        call = attempt.call
        attempt.closed = True
        if attempt.job is None and not attempt.plan.inline:
            self._take_landed(attempt)
            return
        error = None if attempt.error is None else as_error(attempt.error)
        call.execution_time += attempt.ended - attempt.started
        if call.attempts == 1:
            call.queued_ms = int((attempt.started - self._accepted) * 1000)
        self._settle(call, attempt.value, error)

    def _take_landed(self, attempt: Attempt) -> None:
        if attempt.landed is None:
            self._backlog.append(attempt.call)
        else:
            self._host.adopt(attempt.call, attempt.landed)

    def _settle(self, call: Call, value: Any, error: Exception | None) -> None:
        wait = self._host.settle(call, value, error)
        if wait is None:
            return
        if wait <= 0:
            self._start(call)
        else:
            self._due.append((_now() + wait, call))

    def _seconds_to_next(self) -> float | None:
        moments = [attempt.deadline for attempt in self._active] + [moment for moment, _ in self._due]
        seconds = max(min(moments) - _now(), 0.0) if moments else None
        if self._context.cancelled is not None and not hasattr(self._context.cancelled, "on_cancel"):
            return POLL_SECONDS if seconds is None else min(seconds, POLL_SECONDS)
        return seconds

    def _close_overdue(self) -> None:
        now = _now()
        for attempt in [attempt for attempt in self._active if attempt.deadline <= now]:
            self._active.remove(attempt)
            self._abandon(attempt)
            self._settle(attempt.call, None, self._overdue(attempt))
        ready = [call for moment, call in self._due if moment <= now]
        self._due = [(moment, call) for moment, call in self._due if moment > now]
        for call in ready:
            self._start(call)

    def _overdue(self, attempt: Attempt) -> Exception:
        name, writes = attempt.plan.definition.name, attempt.plan.writes
        check = "It may still take effect: check before you repeat it." if writes else None
        if self._stopping:
            if attempt.token is None:
                attempt.call.degraded = ABANDONED
            started = "was stopped" if attempt.token else "could not be interrupted and was given up"
            return ToolCancelled(f"The run was cancelled while {name!r} worked; it {started}.", suggestion=check)
        limit = f"{attempt.plan.definition.timeout:g} s"
        advice = check or "Ask for less at a time, or try another way."
        return ToolTimeout(f"{name!r} did not finish within its limit of {limit}.", suggestion=advice)

    def _abandon(self, attempt: Attempt) -> None:
        attempt.closed = True
        attempt.call.execution_time += max(_now() - attempt.started, 0.0) if attempt.started else 0.0
        if attempt.token is not None:
            attempt.token.set()
        if attempt.job is not None:
            self._pool.abandon(attempt.job)

    # ------------------------------------------------------------ stopping
    def _stop(self) -> None:
        """The run was cancelled: nothing more starts, what can be interrupted is, the rest is given up."""
        self._stopping = True
        waiting = [*self._backlog, *(call for _, call in self._due)]
        self._backlog.clear()
        self._due.clear()
        for call in waiting:
            self._settle(call, None, ToolCancelled("The run was cancelled before this call began."))
        now = _now()
        for attempt in self._active:
            if attempt.token is not None:
                attempt.token.set()
            # A write is nearly always done within the grace: better to know its outcome than to guess.
            grace = CANCEL_GRACE_SECONDS if attempt.token or attempt.plan.writes else 0.0
            attempt.deadline = min(attempt.deadline, now + grace)

    def _give_up(self) -> None:
        for attempt in self._active:
            self._abandon(attempt)
        self._active.clear()


def _plan(call: Call) -> Plan:
    if call.plan is None:
        raise RuntimeError("a call without a plan cannot be executed")
    return call.plan


def _execute(attempt: Attempt, arguments: JsonObject) -> None:
    attempt.started = _now()
    attempt.call.started_at = attempt.call.started_at or stamp()
    try:
        attempt.value = attempt.plan.handler(arguments)
    except BaseException as error:  # noqa: BLE001 - the tool boundary: nothing of a tool may kill a thread
        attempt.error = error
    attempt.ended = _now()
