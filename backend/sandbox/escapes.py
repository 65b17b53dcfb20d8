"""The built-in escape list: tried at start and every hour without the policy, so that the kernel walls alone answer."""

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .pool import NOT_ENDED, Pool, SandboxRequest, SandboxResult

ATTEMPT_SECONDS = 2.0
CANARY_PREFIX = "nanoclaw-canary-"
# Trying takes seconds: what is so old was left by a process that was killed.
LEFT_BEHIND_SECONDS = 3600.0

_LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\n"


@dataclass(frozen=True, slots=True)
class Canaries:
    """What an escape would reach: a secret file in a folder, a place to write, a port that listens, an own process."""

    secret: str
    secret_file: Path
    folder: Path
    written: Path
    listener: socket.socket

    @property
    def port(self) -> int:
        """The loopback port."""
        return int(self.listener.getsockname()[1])

    def was_reached(self) -> bool:
        """True if a connection came in."""
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def canaries() -> Iterator[Canaries]:
    """Throw-away targets."""
    _sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=CANARY_PREFIX) as name, socket.socket() as listener:
        folder = Path(name)
        secret = secrets.token_hex(16)
        (folder / "secret.txt").write_text(secret)
        (folder / f"unnamed-{secret}").touch()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield Canaries(secret, folder / "secret.txt", folder, folder / "written", listener)


def _sweep(folder: Path) -> None:
    """Remove what killed processes of this user have left."""
    for left in folder.glob(f"{CANARY_PREFIX}*"):
        with contextlib.suppress(OSError):
            found = left.lstat()
            if found.st_uid == os.getuid() and found.st_mtime < time.time() - LEFT_BEHIND_SECONDS:
                shutil.rmtree(left)


#: name -> code; {file}, {folder}, {written}, {port}, {pid} stand for the canaries
ESCAPES = {
    "read a file": "print(open({file!r}).read())",
    "read a file through libc": _LIBC
    + "fd = libc.open({file!r}.encode(), 0)\nimport os\nprint(os.read(fd, 99) if fd >= 0 else fd)",
    "list a folder": "import os\nprint(os.listdir({folder!r}))",
    "write a file": "open({written!r}, 'w').write('x')",
    "write a file through libc": _LIBC + "print(libc.open({written!r}.encode(), 0o101, 0o600))",
    "make a folder": "import os\nos.mkdir({written!r})",
    "make a link": "import os\nos.symlink('/etc', {written!r})",
    "connect": "import _socket\ns = _socket.socket()\ns.settimeout(1)\ns.connect(('127.0.0.1', {port}))",
    "connect through libc": _LIBC
    + "import struct\nfd = libc.socket(2, 1, 0)\n"
    + "a = struct.pack('<H', 2) + struct.pack('!H', {port}) + bytes([127, 0, 0, 1]) + bytes(8)\n"
    + "print(fd >= 0 and libc.connect(fd, a, 16))",
    "run a program": "import os\nos.execv('/bin/sh', ['sh', '-c', 'echo x > {written}'])",
    "start a process": "import os\nif os.fork() == 0:\n    print('ESCAPED')\n    os._exit(0)",
    "signal the server": "import os\nos.kill({pid}, 0)\nprint('ESCAPED')",
    "trace the server": _LIBC + "print('ESCAPED' if libc.ptrace(16, {pid}, 0, 0) == 0 else '')",
    "mount": _LIBC + "print('ESCAPED' if libc.mount(b'none', b'/', b'tmpfs', 0, 0) == 0 else '')",
    "memory that runs": _LIBC + "libc.mmap.restype = ctypes.c_long\n"
    "print('ESCAPED' if libc.mmap(0, 4096, 7, 0x22, -1, 0) != -1 else '')",
    "raise a limit": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (99, 99))\nprint('ESCAPED')",
    "memory": "a = []\nwhile len(a) < 200:\n    a.append(bytearray(10 ** 7))\nprint('ESCAPED')",
    "time": "while True: pass",
}


def try_escapes(pool: Pool) -> list[str]:
    """The names of the escapes that worked, best none."""
    with canaries() as targets:
        return [name for name, code in ESCAPES.items() if escaped(pool, targets, _aimed(code, targets))]


def _aimed(code: str, targets: Canaries) -> str:
    return code.format(
        file=str(targets.secret_file),
        folder=str(targets.folder),
        written=str(targets.written),
        port=targets.port,
        pid=os.getpid(),
    )


def escaped(pool: Pool, targets: Canaries, code: str) -> bool:
    """Run one escape without the policy and look at the canaries."""
    seconds = 0.5 if code == ESCAPES["time"] else ATTEMPT_SECONDS
    result = pool.run(SandboxRequest(code, policy=False, owner="self-test", seconds=seconds))
    return any(look(targets, result) for look in _LOOKS)


def _told(targets: Canaries, result: SandboxResult) -> bool:
    text = "".join(str(result[key]) for key in ("stdout", "stderr", "value", "error"))
    return targets.secret in text or "ESCAPED\n" in result["stdout"]


def _wrote(targets: Canaries, _: SandboxResult) -> bool:
    return targets.written.exists() or targets.written.is_symlink()


def _connected(targets: Canaries, _: SandboxResult) -> bool:
    return targets.was_reached()


def _outlived(_: Canaries, result: SandboxResult) -> bool:
    return result["error_type"] == "CrashError" and NOT_ENDED in result["error"]


_LOOKS: tuple[Callable[[Canaries, SandboxResult], bool], ...] = (_told, _wrote, _connected, _outlived)
