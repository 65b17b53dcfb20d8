"""Runs code: waits for a turn, takes a ready child, sends the request, reads the answer, explains the end."""

import importlib.util
import logging
import os
import re
import signal
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from ..cancel import CancelToken
from ..errors import SandboxUnavailable, ToolCancelled
from .answer import BrokenChannel, Collected, Reader
from .gate import Gate
from .helper import Child, Ending, Helper, HelperConfig
from .inside import limits, wire

log = logging.getLogger(__name__)

PLACES_MIN, PLACES_MAX = 4, 16  # executions at once
WAITING_MAX = 500
QUEUE_SECONDS = 20.0
READ_GRACE_SECONDS = 2.0  # past the helper's own deadline
ENDING_SECONDS = 2.0
CPU_TOLERANCE_SECONDS = 0.25
BACKOFF_MAX_SECONDS = 30.0
ATTEMPTS = 3  # a helper that died under a run is replaced; code has no effect outside, so it may run again

NOT_ENDED = "the process did not end in time"

HEAVY_MODULES = ("numpy", "pandas", "matplotlib")
_HEAVY_WORD = re.compile(r"\b(?:numpy|pandas|matplotlib)\b")


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """One execution. `owner` is whose turn it uses (a project or a user); `seconds` may only shorten the limit."""

    code: str
    files: dict[str, bytes] = field(default_factory=dict)
    policy: bool = True
    owner: str = ""
    seconds: float = limits.WALL_SECONDS


class SandboxResult(dict[str, Any]):
    """The contract's fields; `contents` holds the bytes of the proposed files beside them."""

    contents: dict[str, bytes]


class _HelperGone(Exception):
    """The helper ended under a run."""


class Pool:
    """Helpers of one process: a light one at once, one with the heavy modules beside it."""

    def __init__(self, config: HelperConfig | None = None, places: int | None = None) -> None:
        self._config = config or HelperConfig()
        self._gate = Gate(places or _default_places(), WAITING_MAX)
        self._lock = threading.Lock()
        self._helpers: dict[str, Helper] = {}
        self._failed = 0
        self._not_before = 0.0
        self._last_failure = ""
        self._closed = False
        self._prepared = False

    # ------------------------------------------------------------ helpers
    def start(self) -> Helper:
        """The light helper, running; the heavy one starts in the background."""
        helper = self._helper("light")
        self.prepare()
        return helper

    def prepare(self) -> None:
        """Start the heavy helper in the background, once, so that the first program with numpy need not wait."""
        with self._lock:
            if self._prepared or not has_heavy_modules():
                return
            self._prepared = True
        threading.Thread(target=self._prepare_heavy, name="sandbox-heavy", daemon=True).start()

    def _prepare_heavy(self) -> None:
        try:
            self._helper("heavy")
        except SandboxUnavailable:
            return  # noted in the back-off; the first call that needs it gets the reason

    def _helper(self, profile: str) -> Helper:
        with self._lock:
            helper = self._helpers.get(profile)
            if helper is None or not helper.alive:
                helper = self._helpers[profile] = self._new(profile)
        try:
            helper.wait_ready()
        except SandboxUnavailable as error:
            self._check_open()  # a helper that we ended ourselves has not failed
            self._note_failure(str(error.details.get("details_text", error.message)))
            raise
        self._failed = 0
        return helper

    def _new(self, profile: str) -> Helper:
        self._check_open()
        if time.monotonic() < self._not_before:
            raise SandboxUnavailable(f"The code sandbox does not start: {self._last_failure}")
        memory = self._config.memory_bytes
        if profile == "heavy":
            memory = max(memory, limits.MEMORY_HEAVY_BYTES)
        return Helper(replace(self._config, profile=profile, memory_bytes=memory))

    def _check_open(self) -> None:
        if self._closed:
            raise SandboxUnavailable("The code sandbox is shut down.")

    def _note_failure(self, reason: str) -> None:
        log.error("the code sandbox could not start: %s", reason)
        with self._lock:
            self._failed += 1
            self._last_failure = reason
            self._not_before = time.monotonic() + min(2.0**self._failed / 2, BACKOFF_MAX_SECONDS)

    def walls(self) -> dict[str, str]:
        """The walls of the helper that serves; starts it if need be."""
        return dict(self._helper("light").walls)

    def pids(self) -> list[int]:
        """Process ids of the helpers that run."""
        with self._lock:
            return [h.pid for h in self._helpers.values() if h.alive]

    def close(self) -> None:
        """End every helper and child for good."""
        with self._lock:
            self._closed = True
            helpers = list(self._helpers.values())
        for helper in helpers:
            helper.kill()

    def abandon(self) -> None:
        """In a forked process: let go of the helpers, which belong to the parent."""
        for helper in self._helpers.values():
            helper.let_go()

    # ------------------------------------------------------------ one execution
    def run(self, request: SandboxRequest, cancelled: CancelToken | None = None) -> SandboxResult:
        """Run the code; raises Unavailable, SandboxUnavailable or ToolCancelled, never for what the code does."""
        refusal = _refusal(request)
        if refusal is not None:
            return refusal
        with self._gate.place(request.owner, QUEUE_SECONDS, cancelled):
            for _ in range(ATTEMPTS):
                try:
                    return self._once(request, cancelled)
                except _HelperGone:
                    continue
        raise SandboxUnavailable("The code sandbox ended while it worked; try again.")

    def _once(self, request: SandboxRequest, cancelled: CancelToken | None) -> SandboxResult:
        profile = "heavy" if has_heavy_modules() and _HEAVY_WORD.search(request.code) else "light"
        helper = self._helper(profile)
        child = helper.take(min(request.seconds, self._config.wall_seconds))
        if child is None:
            raise _HelperGone
        forget = cancelled.on_cancel(lambda: helper.end(child)) if cancelled else None
        try:
            return _Execution(helper, child, request).result(cancelled)
        finally:
            if forget:
                forget()
            helper.end(child)
            helper.forget(child)


class _Execution:
    """One child at work."""

    def __init__(self, helper: Helper, child: Child, request: SandboxRequest) -> None:
        self._helper = helper
        self._child = child
        self._request = request
        self._seconds = min(request.seconds, helper.config.wall_seconds)
        self._started = time.monotonic()

    def result(self, cancelled: CancelToken | None) -> SandboxResult:
        """Send, read, explain."""
        reader = Reader(self._child.sock)
        broken: str | None = None
        try:
            self._send()
            reader.read_all()
        except BrokenChannel as error:
            broken = str(error)
        except TimeoutError:
            broken = NOT_ENDED
        if cancelled is not None and cancelled.is_set():
            raise ToolCancelled("The code was stopped.")
        if broken is not None:
            return self._crashed(reader.got, "CrashError", f"The result could not be read: {broken}.")
        if reader.got.final is None:
            return self._explain(reader.got)
        return self._finished(reader.got, reader.got.final)

    def _send(self) -> None:
        request = wire.Request(self._request.code, self._request.policy, self._request.files)
        self._child.sock.settimeout(self._seconds + READ_GRACE_SECONDS)
        try:
            self._child.sock.sendall(request.pack())
        except ConnectionError:
            return  # it is gone: reading says how

    def _finished(self, got: Collected, final: dict[str, Any]) -> SandboxResult:
        fields = {k: v for k, v in final.items() if k != "peak_kib"}
        fields["wall_seconds"] = time.monotonic() - self._started
        return self._make(got, **fields, peak_memory_mb=final["peak_kib"] / 1024)

    def _explain(self, got: Collected) -> SandboxResult:
        """The child went away without a closing frame: the helper knows why."""
        self._helper.end(self._child)
        self._child.ended.wait(ENDING_SECONDS)
        ending = self._child.ending
        if ending is None:
            raise _HelperGone
        if ending.cpu_seconds >= self._helper.config.cpu_seconds - CPU_TOLERANCE_SECONDS:
            ending.late = True  # the kernel's own clock was the first
        kind, text, limit = _why(ending, self._seconds)
        return self._crashed(got, kind, text, limit, ending)

    def _crashed(
        self, got: Collected, kind: str, text: str, limit: str | None = None, ending: Ending | None = None
    ) -> SandboxResult:
        ending = ending or Ending()
        return self._make(
            got,
            error_type=kind,
            error=text,
            limit=limit,
            wall_seconds=time.monotonic() - self._started,
            cpu_seconds=ending.cpu_seconds,
            peak_memory_mb=ending.peak_kib / 1024,
        )

    def _make(self, got: Collected, **fields: Any) -> SandboxResult:
        result = SandboxResult(
            stdout=got.stdout.decode("utf-8", "replace"),
            stderr=got.stderr.decode("utf-8", "replace"),
            value=None,
            value_json=None,
            error_type=None,
            error=None,
            truncated=got.truncated,
            limit=None,
        )
        result.update(fields)
        full = len(result["stdout"]) >= limits.STDOUT_MAX_CHARS or len(result["stderr"]) >= limits.STDERR_MAX_CHARS
        if full or result["truncated"]:
            result["truncated"] = True
            result["limit"] = result["limit"] or "output"
        for name in ("wall_seconds", "cpu_seconds"):
            result[name] = round(result[name], 4)
        result["peak_memory_mb"] = round(result["peak_memory_mb"], 1)
        result["files"] = [{"name": name, "size": len(content)} for name, content in got.files.items()]
        result["walls"] = {"policy": "on" if self._request.policy else "off: left out", **self._helper.walls}
        result.contents = got.files
        return result


def _why(ending: Ending, seconds: float) -> tuple[str, str, str | None]:
    """Error type, message and limit for an end without an answer."""
    if ending.late or ending.signal == signal.SIGXCPU:
        return "TimeoutError", f"The code ran longer than {seconds:g} s and was stopped.", "time"
    if ending.signal == signal.SIGSYS:
        return "SecurityError", "The code asked the system for something that is never allowed and was stopped.", None
    if ending.signal == signal.SIGKILL:
        return "CrashError", "The process was killed, most likely for want of memory.", "memory"
    name = signal.Signals(ending.signal).name if ending.signal else f"exit code {ending.code}"
    return "CrashError", f"The Python process ended ({name}), for example by too deep recursion.", None


def _refusal(request: SandboxRequest) -> SandboxResult | None:
    """What need not even be tried."""
    size = len(request.code.encode("utf-8", "surrogatepass"))
    files = sum(map(len, request.files.values()))
    if size > limits.CODE_MAX_BYTES:
        return _refused(f"The code is {size} bytes long; {limits.CODE_MAX_BYTES} are allowed.", "code")
    if len(request.files) > limits.FILES_IN_MAX or files > limits.FILES_IN_MAX_BYTES:
        most = limits.FILES_IN_MAX_BYTES // limits.MIB
        return _refused(f"At most {limits.FILES_IN_MAX} files of {most} MB together can be handed in.", "files")
    return None


def _refused(text: str, limit: str) -> SandboxResult:
    empty: dict[str, Any] = {
        "stdout": "",
        "stderr": "",
        "value": None,
        "value_json": None,
        "truncated": False,
        "files": [],
        "walls": {},
    }
    figures = {"wall_seconds": 0.0, "cpu_seconds": 0.0, "peak_memory_mb": 0.0}
    result = SandboxResult(empty | figures | {"error_type": "ValueError", "error": text, "limit": limit})
    result.contents = {}
    return result


def _default_places() -> int:
    return min(max(PLACES_MIN, 2 * (os.cpu_count() or 1)), PLACES_MAX)


def has_heavy_modules() -> bool:
    """True if any of the modules that need the second helper is installed."""
    return any(importlib.util.find_spec(name) is not None for name in HEAVY_MODULES)
