"""What bounds a request: its limits, its cancelling, and the socket that it waits on just now."""

import contextlib
import socket
import threading
import time

from ..cancel import CancelToken
from ..errors import ModelTimeout

CONNECT_TIMEOUT_SECONDS = 10.0


class Deadline:
    """When to stop waiting: `idle` seconds without an event (None: no such limit), `total` seconds in all."""

    def __init__(self, idle: float | None, total: float | None) -> None:
        now = time.monotonic()
        self._idle = idle
        self._total = total
        self._end = now + total if total is not None else float("inf")
        self._idle_end = now + idle if idle is not None else float("inf")

    def event(self) -> None:
        """Something arrived that counts: the idle limit starts anew."""
        if self._idle is not None:
            self._idle_end = time.monotonic() + self._idle

    def expect_end(self, seconds: float) -> None:
        """What matters has arrived: wait only this long for more."""
        self._idle_end = min(self._idle_end, time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds left, more than zero; ModelTimeout when there are none."""
        now = time.monotonic()
        if now >= self._end:
            raise ModelTimeout(f"The model request timed out: no complete answer within {_seconds(self._total)}.")
        if now >= self._idle_end:
            raise ModelTimeout(f"The model request timed out: nothing was received for {_seconds(self._idle)}.")
        return min(self._end, self._idle_end) - now


def _seconds(value: float | None) -> str:
    return "the time that was left" if value is None else f"{value:g} seconds"


class Call:
    """One request under way. `abort` may be called from any thread, and ends every wait for it at once.

    `fresh`: it must not use a kept connection. `reused` tells that it did, `received` that the server sent something.
    """

    def __init__(self, deadline: Deadline, cancelled: CancelToken, fresh: bool = False) -> None:
        self.deadline = deadline
        self.cancelled = cancelled
        self.fresh = fresh
        self.reused = False
        self.received = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def hold(self, sock: socket.socket) -> None:
        """It waits on this socket from now on."""
        with self._lock:
            self._socket = sock
            if self.cancelled.is_set():
                _shut(sock)

    def let_go(self) -> None:
        """It has done with its socket, which may serve another call now."""
        with self._lock:
            self._socket = None

    def abort(self) -> None:
        """End its wait."""
        with self._lock:
            if self._socket is not None:
                _shut(self._socket)

    def check(self) -> None:
        """ConnectionAbortedError if it was cancelled."""
        if self.cancelled.is_set():
            raise ConnectionAbortedError("cancelled")

    def connect_seconds(self) -> float:
        """How long it may wait for one step of connecting; ModelTimeout if its time is over."""
        return min(CONNECT_TIMEOUT_SECONDS, self.deadline.left())


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # The plain method: SSLSocket's own would first touch the TLS state that a reader is using.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
