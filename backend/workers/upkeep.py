"""What is done beside the runs, in one thread: logs are folded and pruned, the sandbox tries its own escapes."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .. import sandbox
from ..errors import NanoClawError
from ..services import manual
from ..services.runtime import Runtime
from ..services.upkeep import Housekeeping

log = logging.getLogger(__name__)

MINUTE_SECONDS = 60.0
HOUR_SECONDS = 3600.0
DAY_SECONDS = 86_400.0


@dataclass(slots=True)
class _Chore:
    """Something to do every so many seconds; `due` is on the monotonic clock."""

    work: Callable[[], object]
    every_seconds: float
    due: float


class Upkeep:
    """The chores of one instance."""

    def __init__(self, runtime: Runtime) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="upkeep", daemon=True)
        house, now = Housekeeping(runtime, self._stopping), time.monotonic()
        self._chores = [
            _Chore(partial(check_sandbox, self._stopping), HOUR_SECONDS, now),
            _Chore(partial(manual.recover, runtime), MINUTE_SECONDS, now + MINUTE_SECONDS),
            _Chore(house.fold, MINUTE_SECONDS, now + MINUTE_SECONDS),
            _Chore(house.prune, HOUR_SECONDS, now + 2 * MINUTE_SECONDS),
            _Chore(house.expire, HOUR_SECONDS, now + 3 * MINUTE_SECONDS),
            _Chore(house.limit_history, HOUR_SECONDS, now + 4 * MINUTE_SECONDS),
            _Chore(house.purge, DAY_SECONDS, now + 5 * MINUTE_SECONDS),
        ]

    def start(self) -> None:
        """Begin; the sandbox is tried at once."""
        self._thread.start()

    def stop(self) -> None:
        """End before the next chore; one that is under way ends at its next small step."""
        self._stopping.set()

    def _work(self) -> None:
        while not self._stopping.is_set():
            chore = min(self._chores, key=lambda chore: chore.due)
            if self._stopping.wait(max(0.0, chore.due - time.monotonic())):
                return
            try:
                chore.work()
            except Exception:
                if not self._stopping.is_set():
                    log.exception("a chore failed; it is tried again in %.0f s", chore.every_seconds)
            chore.due = time.monotonic() + chore.every_seconds


def check_sandbox(stopping: threading.Event) -> None:
    """One success of the sandbox's own escapes switches the tool off."""
    try:
        sandbox.start()
        failures = sandbox.selftest()
    except NanoClawError as error:
        if not stopping.is_set():
            log.warning("code cannot run here: %s", error.message)
        return
    if failures:
        log.error("the sandbox failed its self-test and is switched off: %s", ", ".join(failures))
