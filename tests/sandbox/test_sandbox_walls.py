"""Each kernel wall alone, with the others left out and without the policy: it must hold what it is there for."""

import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backend.sandbox.escapes import Canaries, canaries
from backend.sandbox.helper import HelperConfig
from backend.sandbox.inside.jail import NAMES
from backend.sandbox.pool import Pool, SandboxRequest, SandboxResult

Run = Callable[..., SandboxResult]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can lose root's rights")


@pytest.fixture
def targets() -> Iterator[Canaries]:
    with canaries() as found:
        found.folder.chmod(0o755)
        found.secret_file.chmod(0o644)
        yield found


@pytest.fixture
def behind() -> Iterator[Run]:
    """Runs code behind the named walls only."""
    pools: dict[tuple[str, ...], Pool] = {}

    def run(code: str, *walls: str, seconds: float = 5.0) -> SandboxResult:
        if walls not in pools:
            pools[walls] = Pool(HelperConfig(left_out=frozenset(NAMES) - set(walls), spares=1))
        result = pools[walls].run(SandboxRequest(code, policy=False, seconds=seconds))
        for name in NAMES:
            assert (result["walls"][name] == "on") == (name in walls), (name, result["walls"])
        return result

    yield run
    for pool in pools.values():
        pool.close()


def test_without_any_wall_the_attacks_would_work(behind: Run, targets: Canaries) -> None:
    read = behind(f"print(open({str(targets.secret_file)!r}).read())")
    assert targets.secret in read["stdout"]
    behind(f"import _socket\ns = _socket.socket()\ns.connect(('127.0.0.1', {targets.port}))")
    assert targets.was_reached()
    assert behind(f"import os\nos.kill({os.getpid()}, 0)")["error"] is None


def test_the_process_alone_brings_no_environment_and_no_descriptor(
    behind: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "do-not-leak")
    seen = behind(
        "import os, ctypes\n"
        "fds = []\n"
        "for fd in range(256):\n"
        "    try:\n"
        "        os.fstat(fd)\n"
        "        fds.append(fd)\n"
        "    except OSError: pass\n"
        "print(dict(os.environ), ctypes.CDLL(None).getenv(b'SECRET_OF_THE_SERVER'))\n"
        "print(fds, os.getsid(0) == os.getpid())"
    )
    assert seen["stdout"] == "{} 0\n[3] True\n"


def test_rlimits_alone_bound_memory_files_descriptors_and_time(behind: Run, tmp_path: Path) -> None:
    memory = behind("a = []\nwhile True: a.append(bytearray(10 ** 7))", "rlimits")
    assert (memory["error_type"], memory["limit"]) == ("MemoryError", "memory")
    assert memory["peak_memory_mb"] < 400
    tmp_path.chmod(0o777)
    disk = behind(f"f = open({str(tmp_path / 'x')!r}, 'w')\nf.write('x' * 10000)\nf.flush()", "rlimits")
    assert "File too large" in disk["error"]
    descriptors = behind("import os\na = [os.dup(3) for _ in range(100)]", "rlimits")
    assert "Too many open files" in descriptors["error"]


def test_rlimits_alone_bound_processor_time() -> None:
    pool = Pool(HelperConfig(wall_seconds=30, cpu_seconds=1, left_out=frozenset(NAMES) - {"rlimits"}, spares=1))
    try:
        result = pool.run(SandboxRequest("while True: pass", policy=False, seconds=30))
        assert (result["error_type"], result["limit"]) == ("TimeoutError", "time")
        assert result["cpu_seconds"] < 5
    finally:
        pool.close()


@as_root
def test_rlimits_of_an_unprivileged_process_bound_processes(behind: Run) -> None:
    assert "Resource temporarily unavailable" in behind("import os\nos.fork()", "rlimits", "unprivileged")["error"]


@pytest.mark.parametrize(
    "act",
    [
        "open({file!r}).read()",
        "os.listdir({folder!r})",
        "open({written!r}, 'w')",
        "os.stat({file!r})",
        "_socket.socket()",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.kill({pid}, 0)",
        "os.dup(3)",
        "os.pipe()",
        "os.setuid(0)",
    ],
)
def test_seccomp_alone_refuses_the_call(behind: Run, targets: Canaries, act: str) -> None:
    code = act.format(
        file=str(targets.secret_file), folder=str(targets.folder), written=str(targets.written), pid=os.getpid()
    )
    result = behind(f"import os, _socket\n{code}", "seccomp", "no_new_privs")
    assert result["error_type"] == "PermissionError", result
    assert not targets.written.exists()


@pytest.mark.parametrize("call", ["ptrace(0, 0, 0, 0)", "mount(b'n', b'/', b'tmpfs', 0, 0)", "unshare(0)"])
def test_seccomp_alone_ends_a_process_that_asks_for_more(behind: Run, call: str) -> None:
    result = behind(f"import ctypes\nctypes.CDLL(None).{call}", "seccomp", "no_new_privs")
    assert result["error_type"] == "SecurityError"


def test_seccomp_alone_gives_no_memory_that_runs(behind: Run) -> None:
    code = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_long\nlibc.mmap(0, 4096, {}, 0x22, -1, 0)"
    assert behind(code.format(7), "seccomp", "no_new_privs")["value"] == "-1"
    assert behind(code.format(3), "seccomp", "no_new_privs")["value"] != "-1"


def test_landlock_alone_closes_files_ports_and_outside_processes(behind: Run, targets: Canaries) -> None:
    walls = ("landlock", "no_new_privs")
    for act in (
        f"open({str(targets.secret_file)!r})",
        f"os.listdir({str(targets.folder)!r})",
        f"open({str(targets.written)!r}, 'w')",
        "os.execv('/bin/true', ['true'])",
        f"_socket.socket().connect(('127.0.0.1', {targets.port}))",
        f"os.kill({os.getpid()}, 0)",
    ):
        result = behind(f"import os, _socket\n{act}", *walls)
        assert result["error_type"] == "PermissionError", (act, result)
    assert not targets.written.exists()


def test_an_empty_root_alone_hides_every_file(behind: Run, targets: Canaries) -> None:
    gone = behind(f"open({str(targets.secret_file)!r})", "empty_root", *_user())
    assert gone["error_type"] == "FileNotFoundError"
    assert behind("import os\nos.listdir('/')", "empty_root", *_user())["value"] == "[]"
    up = behind("import os\nos.chdir('../../..')\nos.listdir('.')", "empty_root", *_user())
    assert up["value"] == "[]"
    assert behind("open('/x', 'w')", "empty_root", *_user())["error_type"] in ("OSError", "PermissionError")


@as_root
def test_an_unprivileged_process_alone_cannot_touch_what_is_roots(behind: Run, targets: Canaries) -> None:
    targets.secret_file.chmod(0o600)
    assert behind(f"open({str(targets.secret_file)!r})", "unprivileged")["error_type"] == "PermissionError"
    assert behind(f"import os\nos.kill({os.getpid()}, 0)", "unprivileged")["error_type"] == "PermissionError"
    assert behind("import os\nos.setuid(0)", "unprivileged")["error_type"] == "PermissionError"


def test_a_network_namespace_alone_has_no_way_out(behind: Run, targets: Canaries) -> None:
    code = f"import _socket\ns = _socket.socket()\ns.settimeout(1)\ns.connect(('127.0.0.1', {targets.port}))"
    assert behind(code, "network_namespace", *_user())["error_type"] == "OSError"
    assert not targets.was_reached()


def test_a_pid_namespace_alone_hides_the_server(behind: Run) -> None:
    code = (
        f"import os\ntry:\n    os.kill({os.getpid()}, 0)\nexcept ProcessLookupError:\n    print('hidden', os.getppid())"
    )
    assert behind(code, "pid_namespace", *_user())["stdout"] == "hidden 1\n"


def test_an_ipc_namespace_alone_hides_shared_memory(behind: Run) -> None:
    libc = ctypes.CDLL(None)
    key = os.getpid()
    shared = libc.shmget(key, 4096, 0o1666)
    assert shared >= 0
    try:
        code = f"import ctypes\nctypes.CDLL(None).shmget({key}, 4096, 0o666)"
        assert behind(code)["value"] == str(shared)
        assert behind(code, "ipc_namespace", *_user())["value"] == "-1"
    finally:
        libc.shmctl(shared, 0, None)


def test_a_user_namespace_alone_has_no_rights_outside(behind: Run) -> None:
    result = behind("import os\nos.sethostname if 0 else os.chroot('/')", "user_namespace")
    if os.geteuid() == 0:
        assert result["error_type"] == "PermissionError"
    mounted = behind("import ctypes\nctypes.CDLL(None).mount(b'n', b'/mnt', b'tmpfs', 0, 0)", "user_namespace")
    assert mounted["value"] == "-1"


def test_no_new_privs_alone_is_seen_by_the_kernel(behind: Run) -> None:
    code = "[line.split()[1] for line in open('/proc/self/status') if line.startswith('NoNewPrivs')]"
    assert behind(code)["value"] == "['0']"
    assert behind(code, "no_new_privs")["value"] == "['1']"


def _user() -> tuple[str, ...]:
    """An ordinary user gets the other namespaces only together with its own user namespace."""
    return () if os.geteuid() == 0 else ("user_namespace",)


def test_what_killed_processes_left_is_swept_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, young, other = (tmp_path / name for name in ("nanoclaw-canary-old", "nanoclaw-canary-new", "somebody"))
    for folder in (old, young, other):
        folder.mkdir()
        (folder / "secret.txt").write_text("x")
    for folder in (old, other):
        os.utime(folder, (0, 0))
    with canaries():
        assert not old.exists()
        assert young.exists()
        assert other.exists()
