"""Rate limits: a token bucket for each user (or address) and subject, in this process."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import RateLimited

MAX_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """`burst` at once, and `per_minute` over time."""

    per_minute: float
    burst: int


MESSAGES = Rate(per_minute=30, burst=30)
SIGN_INS = Rate(per_minute=5, burst=5)


class RateLimiter:
    """Token buckets by key; the longest unused are forgotten first. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def forget(self) -> None:
        """Everybody starts anew."""
        with self._lock:
            self._buckets.clear()

    def take(self, subject: str, who: str, rate: Rate) -> None:
        """Count one act. Raises RateLimited, with the seconds until the next is allowed."""
        with self._lock:
            now = self._clock()
            tokens, then = self._buckets.pop((subject, who), (float(rate.burst), now))
            tokens = min(rate.burst, tokens + (now - then) * rate.per_minute / 60)
            allowed = tokens >= 1
            self._buckets[subject, who] = (tokens - 1 if allowed else tokens, now)
            while len(self._buckets) > MAX_BUCKETS:
                self._buckets.popitem(last=False)
        if not allowed:
            wait = math.ceil((1 - tokens) * 60 / rate.per_minute)
            raise RateLimited(f"Too many requests. Try again in {wait} s.", retry_after=wait)
