"""robots.txt: what a site allows programs to fetch, remembered for a while per origin (RFC 9309)."""

import threading
import time
from dataclasses import dataclass
from typing import Protocol

AGENT = "NanoClaw"
KEEP_SECONDS = 3600.0
KEEP_UNAVAILABLE_SECONDS = 30.0
MAX_ORIGINS = 512


class _Parsed(Protocol):
    def can_fetch(self, url: str, user_agent: str) -> bool: ...

    def crawl_delay(self, user_agent: str) -> float | None: ...


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of one site. `unavailable` is the 5xx status that kept them from being known, or 0."""

    parsed: _Parsed | None = None
    unavailable: int = 0

    @classmethod
    def none(cls) -> "RobotsRules":
        """Rules that forbid nothing."""
        return cls()

    @classmethod
    def from_answer(cls, status: int, body: bytes) -> "RobotsRules":
        """2xx: its rules; 5xx and 429: not known, so nothing may be fetched now; anything else: no rules."""
        if status >= 500 or status == 429:
            return cls(unavailable=status)
        if not 200 <= status < 300:
            return cls()
        from protego import Protego  # only fetching needs it

        return cls(Protego.parse(body.decode("utf-8-sig", "replace").replace("\0", "")))

    def allows(self, url: str) -> bool:
        """May this URL be fetched by us."""
        return self.parsed is None or bool(self.parsed.can_fetch(url, AGENT))

    @property
    def crawl_delay(self) -> float:
        """Seconds to wait between requests, 0 if the site asks for none."""
        return float(self.parsed.crawl_delay(AGENT) or 0.0) if self.parsed else 0.0


class RobotsCache:
    """Rules by origin, bounded in number and age."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: dict[str, tuple[float, RobotsRules]] = {}

    def known(self, origin: str) -> RobotsRules | None:
        """The rules if they were read lately."""
        with self._lock:
            until, rules = self._rules.get(origin, (0.0, None))
        return rules if time.monotonic() < until else None

    def keep(self, origin: str, rules: RobotsRules) -> None:
        """Remember the rules of an origin."""
        seconds = KEEP_UNAVAILABLE_SECONDS if rules.unavailable else KEEP_SECONDS
        with self._lock:
            self._rules.pop(origin, None)
            self._rules[origin] = (time.monotonic() + seconds, rules)
            while len(self._rules) > MAX_ORIGINS:
                del self._rules[next(iter(self._rules))]
