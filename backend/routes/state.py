"""What the web side itself remembers in this process: rate limits and open streams."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from flask import current_app

from ..errors import Unavailable
from .http import identity
from .limits import MESSAGES, RateLimiter

EXTENSION = "nanoclaw.web"
STREAMS_PER_USER = 8
THREADS_FOR_OTHERS = 16


class StreamSlots:
    """How many event streams may be open: all together, and for one user."""

    def __init__(self, total: int, per_user: int = STREAMS_PER_USER) -> None:
        self._total = total
        self._per_user = per_user
        self._lock = threading.Lock()
        self._open: Counter[str] = Counter()

    def take(self, user_id: str, *, automation: bool = False) -> Callable[[], None]:
        """Count a stream; returns what gives its place back. Automation has no limit of its own.

        Raises Unavailable when there are too many.
        """
        with self._lock:
            mine = 0 if automation else self._open[user_id]
            if self._open.total() >= self._total or mine >= self._per_user:
                raise Unavailable("Too many event streams are open; poll instead, or try again.")
            self._open[user_id] += 1
        place = [user_id]  # a response may be closed more than once
        return lambda: self._give_back(place)

    def _give_back(self, place: list[str]) -> None:
        with self._lock:
            if place:
                self._open.subtract([place.pop()])

    def open(self) -> int:
        """How many are open."""
        with self._lock:
            return self._open.total()


@dataclass(slots=True)
class WebState:
    """One for each application."""

    slots: StreamSlots
    limiter: RateLimiter = field(default_factory=RateLimiter)


def web_state() -> WebState:
    """That of the current application."""
    return cast(WebState, current_app.extensions[EXTENSION])


def limiter() -> RateLimiter:
    """The rate limits of the current application."""
    return web_state().limiter


def is_automation() -> bool:
    """True for the operator's own token: whoever holds it owns the instance, and load tests are among its uses."""
    return identity().via == "admin_token"


def count_message() -> None:
    """Count a message or task of the caller. Raises RateLimited."""
    if not is_automation():
        limiter().take("message", identity().user_id, MESSAGES)
