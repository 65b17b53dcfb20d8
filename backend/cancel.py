"""One way to stop work: a token that can be asked, waited for, and that calls back at once."""

import threading
from collections.abc import Callable


class CancelToken:
    """Set once, never reset. `is_set` and `wait` are those of threading.Event."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def is_set(self) -> bool:
        """True once cancelled."""
        return self._event.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until cancelled or `timeout` seconds passed; True if cancelled."""
        return self._event.wait(timeout)

    def set(self) -> None:
        """Cancel: wakes waiters and runs every callback once, in this thread."""
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for call in callbacks:
            call()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run `callback` on cancel (at once if already cancelled); returns a function that forgets it."""
        with self._lock:
            if not self._event.is_set():
                key = self._next
                self._next += 1
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)
