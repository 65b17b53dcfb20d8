"""What the web side itself remembers in this process: rate limits and open streams."""

import threading
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


@dataclass(frozen=True, slots=True)
class _Place:
    user_id: str
    has_left: Callable[[], bool]


class StreamSlots:
    """How many event streams may be open: all together, and for one user."""

    def __init__(self, total: int, per_user: int = STREAMS_PER_USER) -> None:
        self._total = total
        self._per_user = per_user
        self._lock = threading.Lock()
        self._open: dict[object, _Place] = {}

    def take(
        self, user_id: str, *, automation: bool = False, has_left: Callable[[], bool] = lambda: False
    ) -> Callable[[], None]:
        """Count a stream; returns what gives its place back. Automation has no limit of its own.

        A reader that `has_left` keeps its thread until the next heartbeat, but nobody from opening another:
        a page is reloaded more often than that. Raises Unavailable when there are too many.
        """
        with self._lock:
            if len(self._open) >= self._total or (not automation and self._mine(user_id) >= self._per_user):
                raise Unavailable("Too many event streams are open; poll instead, or try again.")
            key = object()
            self._open[key] = _Place(user_id, has_left)
        return lambda: self._give_back(key)

    def _mine(self, user_id: str) -> int:
        mine = [place for place in self._open.values() if place.user_id == user_id]
        return len(mine) if len(mine) < self._per_user else sum(not place.has_left() for place in mine)

    def _give_back(self, key: object) -> None:
        with self._lock:
            self._open.pop(key, None)  # a response may be closed more than once

    def open(self) -> int:
        """How many are open."""
        with self._lock:
            return len(self._open)


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
