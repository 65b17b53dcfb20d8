"""How much a project holds: counted by a walk now and then, kept up to date by what we write in between."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import QuotaExceeded
from .listing import total_size
from .paths import Root

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RECOUNT_SECONDS = 300.0
MAX_LOCK_WAIT_SECONDS = 5.0
LOCK_RETRY_SECONDS = 0.005


class Usage:
    """The bytes of one project, and the lock under which its files are changed."""

    def __init__(self, root: Root) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._root = root
        self._bytes = 0
        self._counted_at: float | None = None

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold this while a file is changed: one writer at a time, also between processes where the system can."""
        with self._lock:
            held = self._lock_folder() if self._depth == 0 else None
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if held is not None:
                    os.close(held)  # gives the lock back

    def _lock_folder(self) -> int | None:
        """An exclusive lock of the project's folder, or None: then the check for changes before a rename remains."""
        if fcntl is None:
            return None
        fd = self._root.open()
        end = time.monotonic() + MAX_LOCK_WAIT_SECONDS
        while time.monotonic() < end:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return fd
            except BlockingIOError:
                time.sleep(LOCK_RETRY_SECONDS)
            except OSError:
                break  # a file system without locks
        os.close(fd)
        return None

    def bytes(self, *, fresh: bool = False) -> int:
        """Bytes in use; counted anew if the last count is older than RECOUNT_SECONDS, or if `fresh`."""
        with self._lock:
            now = time.monotonic()
            if fresh or self._counted_at is None or now - self._counted_at > RECOUNT_SECONDS:
                self._bytes = total_size(self._root)
                self._counted_at = now
            return self._bytes

    def add(self, change: int) -> None:
        """Note that files grew (or shrank) by `change` bytes."""
        with self._lock:
            self._bytes = max(self._bytes + change, 0)

    def check(self, growth: int, quota: int) -> None:
        """QuotaExceeded if `growth` more bytes do not fit; the files are counted anew before it says so."""
        if growth <= 0 or self.bytes() + growth <= quota:
            return
        used = self.bytes(fresh=True)
        if used + growth > quota:
            raise QuotaExceeded(
                f"The project is full: it holds {used} of {quota} bytes, and this needs {growth} more. Nothing was written.",
                suggestion="Delete files that are no longer needed.",
            )


_usages: dict[str, Usage] = {}
_usages_lock = threading.Lock()


def usage_of(root: Root) -> Usage:
    """The one Usage of this folder in this process: every Workspace of a project shares it."""
    with _usages_lock:
        return _usages.setdefault(str(root.real), Usage(root))
