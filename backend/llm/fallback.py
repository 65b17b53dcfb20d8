"""A chain of providers: when one fails, the next one answers; one that keeps failing is left alone for a while."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..agent.ports import LLMProvider
from ..agent.types import Delta, ModelReply, ModelRequest, OnDelta
from ..cancel import CancelToken
from ..errors import ContentFiltered, ContextTooLong, ModelCancelled, ModelError, ModelTransient

BREAKER_FAILURES = 3
BREAKER_SECONDS = 60.0


class Breaker:
    """Closed, or open for a while after failures in a row; then one request at a time may try again."""

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float]) -> None:
        self._limit = failures
        self._seconds = seconds
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._probing = False
        self._lock = threading.Lock()

    def allows(self) -> bool:
        """Whether to ask now; an open breaker lets one probe through when its time is over."""
        with self._lock:
            if self._failures < self._limit:
                return True
            if self._probing or self._clock() < self._open_until:
                return False
            self._probing = True
            return True

    def succeeded(self) -> None:
        """The provider answered."""
        with self._lock:
            self._failures, self._probing = 0, False

    def failed(self) -> None:
        """The provider failed; at the limit the breaker opens (anew after a failed probe)."""
        with self._lock:
            self._failures += 1
            self._probing = False
            if self._failures >= self._limit:
                self._open_until = self._clock() + self._seconds

    def neither(self) -> None:
        """The request ended for a reason that says nothing about the provider."""
        with self._lock:
            self._probing = False


@dataclass(frozen=True, slots=True)
class Link:
    """One provider of the chain and what it is asked: its model, and its own settings where given."""

    provider: LLMProvider
    model: str
    name: str = ""
    max_tokens: int | None = None
    temperature: float | None = None

    def request(self, request: ModelRequest, first: bool) -> ModelRequest:
        """The request in this provider's terms."""
        out = replace(request, model=self.model)
        if not first and self.max_tokens is not None:
            out = replace(out, max_tokens=self.max_tokens)
        if not first and self.temperature is not None:
            out = replace(out, temperature=self.temperature)
        return out


@dataclass(slots=True)
class _Listener:
    """Passes pieces on and remembers whether the user has seen text."""

    on_delta: OnDelta | None
    announcement: str = ""
    text: bool = field(default=False)

    def __call__(self, delta: Delta) -> None:
        if delta.kind == "text" and delta.text:
            self.text = True
        if delta.kind != "notice":
            self.announce()
        if self.on_delta is not None:
            self.on_delta(delta)

    def announce(self) -> None:
        """Say once that another model answers, as soon as it does."""
        if self.announcement and self.on_delta is not None:
            self.on_delta(Delta("notice", self.announcement, "fallback"))
        self.announcement = ""


class FallbackProvider:
    """Asks the links in order. A failure after visible text, or one that the next would share, is final."""

    def __init__(self, links: Sequence[Link], clock: Callable[[], float] = time.monotonic,
                 failures: int = BREAKER_FAILURES, seconds: float = BREAKER_SECONDS) -> None:  # fmt: skip
        if not links:
            raise ValueError("a chain needs at least one provider")
        self._links = tuple(links)
        self._breakers = [Breaker(failures, seconds, clock) for _ in links]

    def chat(self, request: ModelRequest, on_delta: OnDelta | None, cancelled: CancelToken) -> ModelReply:
        """Answer by the first link that can. Raises the last link's error if none can."""
        problem: ModelError | None = None
        for position, link in enumerate(self._links):
            if not self._breakers[position].allows():
                continue
            listener = _Listener(on_delta, self._announcement(position, problem))
            try:
                reply = self._ask(position, link, request, listener, cancelled)
            except ModelError as e:
                if listener.text or _is_shared(e):
                    raise
                problem = e
                continue
            listener.announce()
            return reply
        raise problem or ModelTransient("Every model of the chain failed lately and is left alone for a minute.")

    def _ask(
        self, position: int, link: Link, request: ModelRequest, listener: _Listener, cancelled: CancelToken
    ) -> ModelReply:
        breaker = self._breakers[position]
        try:
            reply = link.provider.chat(link.request(request, position == 0), listener, cancelled)
        except ModelError as e:
            if _is_shared(e):
                breaker.neither()
            else:
                breaker.failed()
            raise
        except BaseException:
            breaker.neither()
            raise
        breaker.succeeded()
        return reply

    def _announcement(self, position: int, problem: ModelError | None) -> str:
        if position == 0:
            return ""
        why = f" ({problem.message})" if problem else ""
        first, now = self._links[0], self._links[position]
        return f"{first.name or first.model} does not answer{why}; {now.name or now.model} answers instead."


def _is_shared(error: ModelError) -> bool:
    """Errors of the request or of ours, that another provider would not cure."""
    return isinstance(error, ModelCancelled | ContextTooLong | ContentFiltered)
