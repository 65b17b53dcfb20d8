"""The limits of a run, and the check before every step that says whether it may go on."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..cancel import CancelToken
from .deadlines import call_at

# To end and record the last step may take so long after the limit.
WALL_CLOCK_SLACK_SECONDS = 120.0

RunStatus = Literal["queued", "running", "waiting_approval", "completed", "cancelled", "max_steps", "timeout", "failed"]
StopReason = Literal[
    "completed", "cancelled", "max_steps", "run_timeout", "error", "consecutive_errors", "empty_answer",
    "content_filter", "budget", "storage",
]  # fmt: skip
# The run itself goes on elsewhere or later; nobody is told of this as its end.
BrokenOff = Literal["interrupted", "lease_lost"]


@dataclass(frozen=True, slots=True)
class GuardrailConfig:
    """Limits of one run; the defaults and ceilings are those of the contract."""

    max_steps: int = 20
    step_timeout_seconds: float = 60.0
    run_timeout_seconds: float = 300.0
    max_retries_per_tool: int = 2
    max_consecutive_errors: int = 3


@dataclass(frozen=True, slots=True)
class TerminationResult:
    """Why a run ends: `status` and `stop_reason` of the contract; `error` is `{code, message, …}` or None."""

    status: RunStatus
    stop_reason: StopReason | BrokenOff
    error: dict[str, Any] | None = None


COMPLETED = TerminationResult("completed", "completed")
CANCELLED = TerminationResult("cancelled", "cancelled")
MAX_STEPS = TerminationResult("max_steps", "max_steps")


class RunStopped(Exception):
    """Raised inside a phase to end the run; carries the reason."""

    def __init__(self, result: TerminationResult) -> None:
        super().__init__(result.stop_reason)
        self.result = result


def _credible(elapsed_seconds: float, limit: float) -> float:
    """What a run used before its worker died is known by the wall clock: far over the limit, that clock was moved.

    A run that had really used its time would have ended by its own clock.
    """
    return elapsed_seconds if elapsed_seconds < limit + WALL_CLOCK_SLACK_SECONDS else 0.0


class Guardrails:
    """Counts steps, failures and time for one run.

    `token` is what every model call and tool of the run gets: it is set when the run is cancelled or its
    clock runs out, so both stop work that is under way. The clock is monotonic.
    """

    def __init__(
        self,
        config: GuardrailConfig,
        cancelled: CancelToken,
        elapsed_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config
        self.token = CancelToken()
        self.steps = 0
        self.failed_steps = 0
        self._cancelled = cancelled
        self._clock = clock
        self._ends_at = clock() + config.run_timeout_seconds - _credible(elapsed_seconds, config.run_timeout_seconds)
        self._unlink = [cancelled.on_cancel(self.token.set), call_at(self._ends_at, self.token.set)]

    def check_before_step(self) -> TerminationResult | None:
        """The reason to end the run now, or None: cancel, clock, failures in a row, steps; in that order."""
        if ended := self.interrupted():
            return ended
        if self.failed_steps >= self.config.max_consecutive_errors:
            return _too_many_failures(self.failed_steps)
        if self.steps >= self.config.max_steps:
            return MAX_STEPS
        return None

    def interrupted(self) -> TerminationResult | None:
        """The reason why running work must stop at once (cancel or clock), or None."""
        if self._cancelled.is_set():
            return CANCELLED
        if self.remaining_seconds() <= 0:
            return _out_of_time(self.config.run_timeout_seconds)
        return None

    def is_cancelled(self) -> bool:
        """True once someone cancelled the run."""
        return self._cancelled.is_set()

    def remaining_seconds(self) -> float:
        """What is left of the run's time; never negative."""
        return max(0.0, self._ends_at - self._clock())

    def steps_left(self) -> int:
        """How many steps with tools may still begin."""
        return max(0, self.config.max_steps - self.steps)

    def step_done(self, successes: Sequence[bool]) -> None:
        """Count one finished step; `successes` has one entry per call of it."""
        self.steps += 1
        if any(successes):
            self.failed_steps = 0
        elif successes:
            self.failed_steps += 1

    def close(self) -> None:
        """Forget the links to the caller's token and the clock."""
        for unlink in self._unlink:
            unlink()


def failed(stop_reason: StopReason, code: str, message: str, **fields: Any) -> TerminationResult:
    """A run that failed, with an error for people."""
    return TerminationResult("failed", stop_reason, {"code": code, "message": message, **fields})


def _too_many_failures(steps: int) -> TerminationResult:
    return failed(
        "consecutive_errors",
        "consecutive_errors",
        f"The run was stopped because every tool call failed in {steps} steps in a row.",
        suggestion="Look at the failed calls, then ask again or raise the limit.",
        retryable=False,
    )


def _out_of_time(seconds: float) -> TerminationResult:
    error = {
        "code": "run_timeout",
        "message": f"The run was stopped after {seconds:g} seconds, its limit.",
        "suggestion": "Ask for less at a time, or raise the run's time limit.",
        "retryable": True,
    }
    return TerminationResult("timeout", "run_timeout", error)
