"""One helper process as the server sees it: started by exec, hands out ready children, tells how they ended."""

import contextlib
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import SandboxUnavailable
from .inside import limits
from .inside.jail import NAMES

START_SECONDS = 30.0
MESSAGE_MAX_BYTES = 1 << 16
#: what a clean environment still needs: one thread for every numeric library, a place for shared objects
_FIXED_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "LC_ALL": "C.UTF-8"}
#: where a machine tunes them, arithmetic would differ from the rest of the machine in the last digit without them
_PASSED_ON = ("LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_START = "import sys; sys.path[:] = [sys.argv[1], *sys.path]; from inside.zygote import main; main(sys.argv[2])"


@dataclass(frozen=True, slots=True)
class HelperConfig:
    """How a helper is built. `left_out` names walls that a test wants off; no setting reaches it."""

    profile: str = "light"
    wall_seconds: float = limits.WALL_SECONDS
    cpu_seconds: int = int(limits.WALL_SECONDS) + limits.CPU_GRACE_SECONDS
    memory_bytes: int = limits.MEMORY_BYTES
    spares: int = 2
    left_out: frozenset[str] = frozenset()


@dataclass(slots=True)
class Ending:
    """How a child ended, as the helper saw it."""

    signal: int = 0
    code: int = 0
    late: bool = False
    cpu_seconds: float = 0.0
    peak_kib: int = 0


@dataclass(slots=True)
class Child:
    """A process that waits for one piece of code."""

    number: int
    sock: socket.socket
    ended: threading.Event = field(default_factory=threading.Event)
    ending: Ending | None = None


class Helper:
    """A running helper process. Thread-safe; once `alive` is False it stays so."""

    def __init__(self, config: HelperConfig) -> None:
        self.config = config
        self.walls: dict[str, str] = {}
        self.modules: list[str] = []
        self.alive = True
        self.failure = ""
        self._lock = threading.Lock()
        self._children: dict[int, Child] = {}
        self._spares: queue.SimpleQueue[Child | None] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = self._start(theirs)
        self._listener = threading.Thread(target=self._listen, name="sandbox-helper", daemon=True)
        self._listener.start()

    def _start(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        environment = {k: os.environ[k] for k in _PASSED_ON if k in os.environ} | _FIXED_ENVIRONMENT
        arguments = json.dumps(
            {
                "fd": theirs.fileno(),
                "paths": _import_paths(),
                "walls": [n for n in NAMES if n not in self.config.left_out],
                "profile": self.config.profile,
                "memory_bytes": self.config.memory_bytes,
                "cpu_seconds": self.config.cpu_seconds,
                "spares": self.config.spares,
            }
        )
        command = [sys.executable, "-I", "-S", "-c", _START, str(Path(__file__).parent), arguments]
        return subprocess.Popen(  # noqa: S603 - our own interpreter and our own text
            command,
            env=environment,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    # ------------------------------------------------------------ for the pool
    @property
    def pid(self) -> int:
        """The process id, for tests and reports."""
        return self._process.pid

    def wait_ready(self) -> None:
        """Block until it serves; SandboxUnavailable with the reason if it does not come up."""
        if not self._ready.wait(START_SECONDS):
            self.kill()
            raise SandboxUnavailable("The code sandbox did not start in time.")
        if not self.alive and self.failure:
            raise SandboxUnavailable("The code sandbox could not start.", details_text=self.failure)

    def take(self, seconds: float) -> Child | None:
        """A ready child, whose clock starts now; None if the helper is gone."""
        try:
            child = self._spares.get(timeout=START_SECONDS)
        except queue.Empty:
            self.kill()
            return None
        if child is None:
            self._spares.put(None)  # the next one must see it too
            return None
        if self._order("take", child, seconds):
            return child
        self.forget(child)
        return None

    def end(self, child: Child) -> None:
        """Kill one child; harmless if it has ended."""
        self._order("kill", child, 0.0)

    def forget(self, child: Child) -> None:
        """Close the socket of a child that is no longer needed."""
        child.sock.close()
        with self._lock:
            self._children.pop(child.number, None)

    def kill(self) -> None:
        """End the helper and with it every child."""
        self.alive = False
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._shut_control()

    def let_go(self) -> None:
        """In a forked process: close the copy of the control socket, so that the helper sees its owner's end."""
        self.alive = False
        os.close(self._control.detach())

    def _shut_control(self) -> None:
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def _order(self, op: str, child: Child, seconds: float) -> bool:
        try:
            self._control.send(json.dumps({"op": op, "child": child.number, "seconds": seconds}).encode())
        except OSError:
            return False
        return True

    # ------------------------------------------------------------ what the helper tells
    def _listen(self) -> None:
        try:
            while True:
                data, fds, _, _ = _receive(self._control)
                if not data:
                    break
                self._hear(json.loads(data), fds)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.failure = self.failure or f"the helper's messages broke off: {error}"
        self._over()

    def _hear(self, message: dict[str, Any], fds: list[int]) -> None:
        op = message["op"]
        if op == "spare":
            child = Child(message["child"], socket.socket(fileno=fds[0]))
            with self._lock:
                self._children[child.number] = child
            self._spares.put(child)
        elif op == "ended":
            with self._lock:
                gone = self._children.pop(message["child"], None)
            if gone is not None:
                gone.ending = Ending(**{k: message[k] for k in Ending.__slots__})
                gone.ended.set()
        elif op == "ready":
            self.walls, self.modules = message["walls"], message["modules"]
            self._ready.set()
        else:
            self.failure = str(message.get("error", "unknown message"))

    def _close_spares(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                child = self._spares.get_nowait()
                if child is not None:
                    child.sock.close()
        self._spares.put(None)

    def _over(self) -> None:
        """The helper is gone: let nobody wait for it."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        if not self._ready.is_set():
            self.failure = self.failure or f"ended at once with code {self._process.returncode}"
        self._ready.set()
        self._close_spares()
        with self._lock:
            left = list(self._children.values())
            self._children.clear()
        for child in left:
            child.ended.set()
        self._control.close()


def _receive(control: socket.socket) -> tuple[bytes, list[int], int, Any]:
    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    return socket.recv_fds(control, MESSAGE_MAX_BYTES, 1, flags)


def _import_paths() -> list[str]:
    """The standard library and the installed packages of this interpreter; nothing of the application."""
    here = str(Path(__file__).parent)
    backend_home = str(Path(__file__).parent.parent.parent)
    found = [p for p in sys.path if p and os.path.isabs(p) and p != backend_home and os.path.exists(p)]
    return [here, *(p for p in found if _is_library(p))]


def _is_library(path: str) -> bool:
    home = os.path.normpath(sys.base_prefix)
    return "site-packages" in path or "dist-packages" in path or os.path.normpath(path).startswith(home)
