"""Calls a function at a moment of the monotonic clock, with one sleeping thread for the whole process."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable

Callback = Callable[[], None]


class _Alarm:
    """A heap of callbacks and the thread that waits for the earliest; the thread starts with the first entry."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._heap: list[tuple[float, int]] = []
        self._callbacks: dict[int, Callback] = {}
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def add(self, moment: float, callback: Callback) -> Callback:
        with self._wake:
            number = next(self._numbers)
            self._callbacks[number] = callback
            heapq.heappush(self._heap, (moment, number))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            elif self._heap[0][1] == number:
                self._wake.notify()
        return lambda: self._forget(number)

    def _forget(self, number: int) -> None:
        with self._wake:
            self._callbacks.pop(number, None)
            while self._heap and self._heap[0][1] not in self._callbacks:
                heapq.heappop(self._heap)

    def _run(self) -> None:
        while True:
            self._next_due()()

    def _next_due(self) -> Callback:
        with self._wake:
            while True:
                wait = self._heap[0][0] - time.monotonic() if self._heap else None
                if wait is not None and wait <= 0:
                    callback = self._callbacks.pop(heapq.heappop(self._heap)[1], None)
                    if callback is not None:
                        return callback
                else:
                    self._wake.wait(wait)


_alarm = _Alarm()


def call_at(moment: float, callback: Callback) -> Callback:
    """Run `callback` (short, never raising) when `time.monotonic()` reaches `moment`; returns a function that forgets it."""
    return _alarm.add(moment, callback)
