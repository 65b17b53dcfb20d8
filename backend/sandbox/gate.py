"""A bounded number of executions at once, and a fair turn for every owner while others wait."""

import contextlib
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator

from ..cancel import CancelToken
from ..errors import ToolCancelled, Unavailable


class _Ticket:
    """One waiting execution."""

    def __init__(self) -> None:
        self.admitted = False
        self.wake = threading.Event()


class Gate:
    """At most `places` inside; owners take turns, each owner's executions in their order."""

    def __init__(self, places: int, waiting_max: int) -> None:
        self._free = places
        self._waiting_max = waiting_max
        self._lock = threading.Lock()
        self._queues: OrderedDict[str, deque[_Ticket]] = OrderedDict()

    @contextlib.contextmanager
    def place(self, owner: str, wait_seconds: float, cancelled: CancelToken | None = None) -> Iterator[float]:
        """Hold a place; gives the seconds waited. Raises Unavailable (full, or no turn in time) or ToolCancelled."""
        started = time.monotonic()
        self._enter(owner, wait_seconds, cancelled)
        try:
            yield time.monotonic() - started
        finally:
            self._leave()

    def waiting(self) -> int:
        """How many wait for a turn."""
        with self._lock:
            return sum(map(len, self._queues.values()))

    def _enter(self, owner: str, wait_seconds: float, cancelled: CancelToken | None) -> None:
        ticket = _Ticket()
        with self._lock:
            if self._free > 0 and not self._queues:
                self._free -= 1
                return
            if sum(map(len, self._queues.values())) >= self._waiting_max:
                raise Unavailable("Too many programs are waiting to run.", suggestion="Try again in a moment.")
            self._queues.setdefault(owner, deque()).append(ticket)
        forget = cancelled.on_cancel(ticket.wake.set) if cancelled else None
        ticket.wake.wait(wait_seconds)
        if forget:
            forget()
        self._settle(ticket, owner, cancelled)

    def _settle(self, ticket: _Ticket, owner: str, cancelled: CancelToken | None) -> None:
        """After the wait: inside, or out of the queue again with the reason."""
        stopped = cancelled is not None and cancelled.is_set()
        with self._lock:
            if ticket.admitted and not stopped:
                return
            if ticket.admitted:
                self._free += 1
                self._admit()
            else:
                self._withdraw(ticket, owner)
        if stopped:
            raise ToolCancelled("Stopped before the code ran.")
        raise Unavailable("No turn to run code came in time.", suggestion="Try again in a moment.")

    def _withdraw(self, ticket: _Ticket, owner: str) -> None:
        queue = self._queues[owner]
        queue.remove(ticket)
        if not queue:
            del self._queues[owner]

    def _leave(self) -> None:
        with self._lock:
            self._free += 1
            self._admit()

    def _admit(self) -> None:
        """Let the first of the next owner in, and put that owner at the end of the line."""
        while self._free > 0 and self._queues:
            owner, queue = next(iter(self._queues.items()))
            ticket = queue.popleft()
            if queue:
                self._queues.move_to_end(owner)
            else:
                del self._queues[owner]
            self._free -= 1
            ticket.admitted = True
            ticket.wake.set()
