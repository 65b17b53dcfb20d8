"""A lock that is handed on in the order it was asked for, so that whoever writes often keeps nobody waiting for ever."""

import threading
from collections import deque
from types import TracebackType


class FairLock:
    """As `threading.Lock`, first come, first served."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; without `blocking` only if nobody has it, else False."""
        with self._guard:
            if not self._held:
                self._held = True
                return True
            if not blocking:
                return False
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        return turn.acquire()  # released by the one before, who hands the lock on

    def release(self) -> None:
        """Hand it on to whoever has waited longest."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
