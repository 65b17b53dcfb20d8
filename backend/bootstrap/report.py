"""What a person sees while NanoClaw sets itself up: a line for each step, and one clear message when a step fails."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

TICK_SECONDS = 1.0


class SetupError(Exception):
    """A step failed: `what` went wrong and `remedy`, the exact thing to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def say(text: str) -> None:
    """Print a line for people."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


@contextmanager
def step(title: str) -> Iterator[None]:
    """Show `title … 12 s` while the body runs; counted live on a terminal, once at the end elsewhere."""
    started = time.monotonic()
    ended = threading.Event()
    live = sys.stderr.isatty()
    ticker = threading.Thread(target=_tick, args=(title, started, ended), daemon=True)
    if live:
        ticker.start()
    else:
        say(f"  {title} …")
    done = False
    try:
        yield
        done = True
    finally:
        ended.set()
        if live:
            ticker.join()
        mark = "✓" if done else "✗"
        clear = "\r\033[K" if live else ""
        say(f"{clear}  {mark} {title} ({time.monotonic() - started:.0f} s)")


def _tick(title: str, started: float, ended: threading.Event) -> None:
    while True:
        sys.stderr.write(f"\r\033[K  · {title} … {time.monotonic() - started:.0f} s")
        sys.stderr.flush()
        if ended.wait(TICK_SECONDS):
            return
