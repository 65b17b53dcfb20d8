"""What ends a fetch from outside: a total time limit and the run's cancel, both by cutting the open connection."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Protocol

from ..errors import FetchRetryable, ToolCancelled


class Cancel(Protocol):
    """What is needed of a cancel token (backend.cancel.CancelToken)."""

    def is_set(self) -> bool:
        """True once cancelled."""

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on cancel; returns a function that forgets it."""


class Lifeline:
    """Holds the connection of one fetch; when time is up or the run is cancelled it is shut down at once."""

    def __init__(self, seconds: float, cancelled: Cancel | None = None) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._cut = threading.Event()
        self._why: Literal["time", "cancelled"] | None = None
        self._handle: socket.socket | None = None
        self._waiting: set[threading.Event] = set()
        self._timer = threading.Timer(seconds, self._end, ("time",))
        self._timer.daemon = True
        self._forget: Callable[[], None] = lambda: None
        self.cancelled = cancelled

    def __enter__(self) -> "Lifeline":
        self._timer.start()
        if self.cancelled is not None:
            self._forget = self.cancelled.on_cancel(lambda: self._end("cancelled"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._forget()
        self.release()

    @property
    def left(self) -> float:
        """Seconds until the time limit, never below zero."""
        return max(0.0, self._ends - time.monotonic())

    @property
    def timed_out(self) -> bool:
        """True if the time limit ended it (not a cancel)."""
        return self._why == "time"

    def check(self) -> None:
        """Raise ToolCancelled or FetchRetryable if the fetch has been ended."""
        if self._why == "cancelled":
            raise ToolCancelled("The fetch was cancelled.")
        if self._why == "time":
            raise FetchRetryable(f"The page did not arrive within {self.seconds:g} seconds.")

    def hold(self, sock: socket.socket) -> None:
        """Make `sock` the connection to cut. A duplicate is kept, so TLS may wrap the original."""
        handle = sock.dup()
        with self._lock:
            old, self._handle = self._handle, handle
            ended = self._why is not None
        if old is not None:
            old.close()
        if ended:
            self._shut()
        self.check()

    def release(self) -> None:
        """Forget the connection."""
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()

    def wait(self, event: threading.Event) -> None:
        """Wait for `event`, or raise like `check` as soon as the fetch is ended."""
        with self._lock:
            self._waiting.add(event)
            ended = self._why is not None
        if not ended:
            event.wait()
        with self._lock:
            self._waiting.discard(event)
        self.check()

    def _end(self, why: Literal["time", "cancelled"]) -> None:
        with self._lock:
            if self._why is not None:
                return
            self._why = why
            waiting = list(self._waiting)
        self._shut()
        for event in waiting:
            event.set()

    def _shut(self) -> None:
        with self._lock:
            if self._handle is not None:
                with contextlib.suppress(OSError):  # not connected yet, or already closed by the other side
                    self._handle.shutdown(socket.SHUT_RDWR)
