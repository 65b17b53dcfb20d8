"""What is done beside the runs, in one thread: the sandbox tries its own escapes at start and every hour."""

import logging
import threading

from .. import sandbox
from ..errors import NanoClawError

log = logging.getLogger(__name__)

HOUR_SECONDS = 3600.0


class Upkeep:
    """Hourly work of one instance."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="upkeep", daemon=True)

    def start(self) -> None:
        """Begin; the first round is at once."""
        self._thread.start()

    def stop(self) -> None:
        """End before the next round."""
        self._stopping.set()

    def _work(self) -> None:
        while True:
            self._check_sandbox()
            if self._stopping.wait(HOUR_SECONDS):
                return

    def _check_sandbox(self) -> None:
        try:
            sandbox.start()
            failures = sandbox.selftest()
        except NanoClawError as error:
            log.warning("code cannot run here: %s", error.message)
            return
        if failures:
            log.error("the sandbox failed its self-test and is switched off: %s", ", ".join(failures))
