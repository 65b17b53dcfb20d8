"""How much a project holds: counted by a walk now and then, kept up to date by what we write in between."""

import threading
import time

from ..errors import QuotaExceeded
from .listing import total_size
from .paths import Root

RECOUNT_SECONDS = 300.0


class Usage:
    """The bytes of one project, and the lock under which its files are changed."""

    def __init__(self, root: Root) -> None:
        self.lock = threading.RLock()
        self._root = root
        self._bytes = 0
        self._counted_at: float | None = None

    def bytes(self, *, fresh: bool = False) -> int:
        """Bytes in use; counted anew if the last count is older than RECOUNT_SECONDS, or if `fresh`."""
        with self.lock:
            now = time.monotonic()
            if fresh or self._counted_at is None or now - self._counted_at > RECOUNT_SECONDS:
                self._bytes = total_size(self._root)
                self._counted_at = now
            return self._bytes

    def add(self, change: int) -> None:
        """Note that files grew (or shrank) by `change` bytes."""
        with self.lock:
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
