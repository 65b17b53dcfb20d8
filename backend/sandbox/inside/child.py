"""One execution: wall the process in, take the code from the pipe, run it, send back what it did, end."""

import contextlib
import io
import json
import os
import random
import resource
import sys
import time
from typing import Any

from . import kernel, library, runner, wire
from .jail import Jail
from .limits import STDERR_MAX_CHARS, STDOUT_MAX_CHARS

FD = 3
REHEARSAL = "class A:\n    x = 1\nf'{A().x:>3}'.format(*[i for i in range(3)])"


class Stream(io.TextIOBase):
    """Standard output of the code: goes out at once, so that it survives whatever comes, until the cap is reached."""

    def __init__(self, kind: int, limit: int) -> None:
        self._kind = kind
        self._left = limit
        self.truncated = False

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """What a terminal would say."""
        return "utf-8"

    @property
    def buffer(self) -> "_Bytes":
        """Where bytes are written."""
        return _Bytes(self)

    def reconfigure(self, **_: Any) -> None:
        """Nothing: it is UTF-8 already."""

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, text: str) -> int:
        """Send as much as the cap allows."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        part = text[: self._left]
        if part:
            self._left -= len(part)
            wire.write_frame(FD, self._kind, part.encode("utf-8", "backslashreplace"))
        if len(part) < len(text):
            self.truncated = True
        return len(text)


class _Bytes(io.RawIOBase):
    """The binary side of a stream, as sys.stdout.buffer."""

    def __init__(self, text: Stream) -> None:
        self._text = text

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: Any) -> int:
        """Show the bytes as UTF-8."""
        content = bytes(data)
        self._text.write(content.decode("utf-8", "backslashreplace"))
        return len(content)


def main(fd: int, jail: Jail) -> None:
    """Serve one request on `fd`; never returns."""
    if fd != FD:
        os.dup2(fd, FD)
    kernel.keep_only(FD)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    os.setsid()
    jail.confine_child()
    _rehearse()
    request = wire.read_request(FD)
    if request is None:
        os._exit(0)
    _execute(request)
    os._exit(0)


def _rehearse() -> None:
    """Run a line while nobody waits: the pages that every run writes to are then this child's own already."""
    _throw_the_dice_anew()
    runner.rehearse(REHEARSAL)


def _execute(request: wire.Request) -> None:
    started, cpu = time.monotonic(), time.thread_time()
    sys.stdout = out = Stream(wire.STDOUT, STDOUT_MAX_CHARS)
    sys.stderr = err = Stream(wire.STDERR, STDERR_MAX_CHARS)
    sys.stdin = io.StringIO()
    outcome = runner.run(request)
    for name, content in outcome.files.items():
        head = json.dumps(name).encode()
        wire.write_frame(FD, wire.FILE, len(head).to_bytes(4, "big") + head + content)
    final: dict[str, Any] = {
        "value": outcome.value,
        "value_json": outcome.value_json,
        "error_type": outcome.error_type,
        "error": outcome.error,
        "limit": outcome.limit,
        "truncated": out.truncated or err.truncated or outcome.truncated,
        "wall_seconds": time.monotonic() - started,
        "cpu_seconds": time.thread_time() - cpu,
        "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    with contextlib.suppress(BrokenPipeError):
        wire.write_frame(FD, wire.FINAL, json.dumps(final).encode())


def _throw_the_dice_anew() -> None:
    """Children are copies of one process: without this all of them would draw the same numbers."""
    random.seed()
    numpy = library.loaded("numpy")
    if numpy is not None:
        numpy.random.seed()
