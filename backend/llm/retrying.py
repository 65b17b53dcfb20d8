"""When a model request is sent again, and how long is waited before."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..agent.types import Delta, OnDelta
from ..cancel import CancelToken
from ..errors import ModelCancelled, ModelError, ModelRateLimited, ModelTimeout

RETRY_WAITS_SECONDS = (1.0, 2.0, 4.0)
RETRY_AFTER_CAP_SECONDS = 60.0
TIMEOUT_RETRIES = 1
JITTER_SECONDS = 0.25
ASKED_JITTER_SECONDS = 1.0


def wait_cancellable(seconds: float, cancelled: CancelToken) -> bool:
    """Wait; True if cancelled meanwhile."""
    return cancelled.wait(seconds)


@dataclass(slots=True)
class RetryPolicy:
    """The waits between attempts; clock, waiting and chance can be replaced in tests.

    A time-out is tried once more only: a server that was silent twice will be silent again.
    """

    waits: tuple[float, ...] = RETRY_WAITS_SECONDS
    wait: Callable[[float, CancelToken], bool] = wait_cancellable
    chance: Callable[[], float] = random.random
    now: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Attempts:
    """The attempts of one request."""

    policy: RetryPolicy
    end: float | None = None
    _failed: int = 0
    _timeouts: int = 0
    _started: float = field(default=0.0)

    def next_wait(self, error: ModelError) -> float | None:
        """Seconds before the next attempt, or None if there is none."""
        if not error.retryable or self._failed >= len(self.policy.waits):
            return None
        if isinstance(error, ModelTimeout):
            self._timeouts += 1
            if self._timeouts > TIMEOUT_RETRIES:
                return None
        seconds = self.policy.waits[self._failed] + self.policy.chance() * JITTER_SECONDS
        if isinstance(error, ModelRateLimited) and error.retry_after is not None:
            asked = min(error.retry_after, RETRY_AFTER_CAP_SECONDS)
            seconds = asked + self.policy.chance() * ASKED_JITTER_SECONDS
        self._failed += 1
        if self.end is not None and self.policy.now() + seconds >= self.end:
            return None
        return seconds

    @property
    def used(self) -> int:
        """Attempts that failed and are to be repeated."""
        return self._failed

    def pause(self, error: ModelError, seconds: float, on_delta: OnDelta | None, cancelled: CancelToken) -> None:
        """Announce the wait and wait; ModelCancelled."""
        if on_delta is not None:
            text = f"{error.message} Trying again in {seconds:.0f} s (attempt {self._failed + 1} of {len(self.policy.waits) + 1})."
            on_delta(Delta("notice", text, "retry_wait"))
        if self.policy.wait(seconds, cancelled):
            raise ModelCancelled("The request was cancelled.")
