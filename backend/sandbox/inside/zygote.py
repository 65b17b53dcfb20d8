"""The helper process: loads what code may use, walls itself in, then keeps children ready and reaps them."""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import kernel
from .jail import ON, Jail, measure_address_space

MESSAGE_MAX_BYTES = 1 << 16
FOREVER = 1e9  # seconds


@dataclass(slots=True)
class Running:
    """A child that is alive: `deadline` is on the monotonic clock, none while it waits for work."""

    number: int
    deadline: float | None = None
    late: bool = False


class Zygote:
    """Forks children, hands their sockets to the server, ends them on time and tells how they ended."""

    def __init__(self, control: socket.socket, jail: Jail, child_main: Callable[[int, Jail], None]) -> None:
        self._control = control
        self._child_main = child_main
        self._jail = jail
        self._children: dict[int, Running] = {}
        self._numbers = 0
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self, spares: int) -> None:
        """Work until the server goes away."""
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for _ in range(spares):
            self._spawn()
        while self._turn():
            pass

    def _turn(self) -> bool:
        sources: list[Any] = [self._control, self._wake_read]
        ready, _, _ = select.select(sources, [], [], self._patience())
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)
            self._reap()
        self._end_late_ones()
        return self._control not in ready or self._obey()

    def _patience(self) -> float:
        first = min((c.deadline for c in self._children.values() if c.deadline is not None), default=FOREVER)
        return max(0.0, min(first - time.monotonic(), 3600.0))

    def _obey(self) -> bool:
        """One order of the server; False when it is gone."""
        message = self._control.recv(MESSAGE_MAX_BYTES)
        if not message:
            return False
        order = json.loads(message)
        pid = next((p for p, c in self._children.items() if c.number == order["child"]), None)
        if order["op"] == "take":
            self._spawn()
            if pid is not None:
                self._children[pid].deadline = time.monotonic() + order["seconds"]
        elif pid is not None:
            os.kill(pid, signal.SIGKILL)
        return True

    def _spawn(self) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            self._become_child(theirs.fileno())
        theirs.close()
        self._numbers += 1
        self._children[pid] = Running(self._numbers)
        self._tell({"op": "spare", "child": self._numbers}, ours)
        ours.close()

    def _become_child(self, fd: int) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            self._child_main(fd, self._jail)
        finally:
            os._exit(70)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            gone = self._children.pop(pid, None)
            if gone is not None:
                self._report(gone, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)

    def _report(self, gone: Running, status: int, cpu_seconds: float, peak_kib: int) -> None:
        ended = {
            "op": "ended",
            "child": gone.number,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
            "late": gone.late,
            "cpu_seconds": cpu_seconds,
            "peak_kib": peak_kib,
        }
        self._tell(ended)

    def _end_late_ones(self) -> None:
        now = time.monotonic()
        for pid, running in self._children.items():
            if running.deadline is not None and running.deadline <= now:
                running.late, running.deadline = True, None
                os.kill(pid, signal.SIGKILL)

    def _tell(self, message: dict[str, Any], attached: socket.socket | None = None) -> None:
        data = json.dumps(message).encode()
        if attached is None:
            self._control.sendall(data)
        else:
            socket.send_fds(self._control, [data], [attached.fileno()])


def main(arguments: str) -> None:
    """Entry of the helper. `arguments` is JSON: fd, paths, wanted walls, profile, memory, processor seconds, spares."""
    given = json.loads(arguments)
    sys.path[:] = given["paths"]
    control = socket.socket(fileno=given["fd"])
    control.set_inheritable(False)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 0)
    jail = Jail(frozenset(given["walls"]), given["memory_bytes"], given["cpu_seconds"])
    jail.enter_namespaces()
    if jail.walls["pid_namespace"] == ON:
        _stay_behind(control)
    try:
        _start(control, jail, given)
    except ConnectionError:
        return
    except BaseException:
        with contextlib.suppress(OSError):
            control.sendall(json.dumps({"op": "failed", "error": traceback.format_exc()[-4000:]}).encode())
        raise


def _start(control: socket.socket, jail: Jail, given: dict[str, Any]) -> None:
    from . import child, library  # only here, so that the process that stays behind is small

    modules = library.load(given["profile"])
    measure_address_space()
    jail.confine_helper()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    _forget_the_host()
    gc.collect()
    gc.freeze()
    control.sendall(json.dumps({"op": "ready", "walls": jail.walls, "modules": modules}).encode())
    Zygote(control, jail, child.main).serve(given["spares"])


def _stay_behind(control: socket.socket) -> None:
    """The first process of the new pid namespace does the work; this one only waits for it, then ends."""
    inner = os.fork()
    if inner == 0:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    control.close()
    _, status = os.waitpid(inner, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _forget_the_host() -> None:
    """Nothing of the environment and no path of the server stays in sight."""
    os.environ.clear()
    sys.path[:] = []
    sys.argv[:] = ["<code>"]
    sys.path_importer_cache.clear()
    sys.executable = sys.prefix = sys.exec_prefix = sys.base_prefix = sys.base_exec_prefix = ""
