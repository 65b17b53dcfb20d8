"""When the database does not take writes: nothing shown is lost, what happened last is kept and entered later."""

import os
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from faults.evidence import texts
from faults.viewers import Viewer
from support.model_server import Call, ModelServer, Turn
from support.server import Server

pytestmark = pytest.mark.timeout(240)

Start = Callable[..., Server]
PIECES = [f"{i:04d} " * 2000 for i in range(50)]


def wait_for(true: Callable[[], bool], seconds: float = 90.0) -> None:
    """Poll a state that no event tells of."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if true():
            return
        pause.wait(0.05)
    raise AssertionError("it did not come to that")


def stream_until_half(server: Server, model: ModelServer) -> tuple[str, Viewer, threading.Event]:
    """A task that has written half of its text, and waits; its id, a viewer, and what lets it go on."""
    gate = threading.Event()
    turn = Turn(text=PIECES, gates={25: gate}, delay=0.02)
    model.script("scripted-model", [turn])
    run_id = str(server.post("/api/tasks", {"input": "Write."})["id"])
    viewer = Viewer(server.url, run_id)
    assert turn.held.wait(60)
    return run_id, viewer, gate


def waiting_records(server: Server) -> int:
    return int(server.get("/readyz")["details"]["database"]["records_waiting"])


def is_over(server: Server) -> bool:
    """True if no run is executed any more, and something waits for the database."""
    details = server.get("/readyz")["details"]
    return details["queue"]["running"] == 0 and details["database"]["records_waiting"] > 0


def check_end(server: Server, run_id: str, viewer: Viewer) -> None:
    """The run has ended, completed or for want of storage; what was written until then is there once, and was shown."""
    assert viewer.seen.ended.wait(60)
    run = server.get(f"/api/runs/{run_id}")
    log = viewer.seen.frames
    assert [seq for seq, _, _ in log] == list(range(1, len(log) + 1))
    assert [kind for _, kind, _ in log].count("step.finished") == 1
    shown = texts(log)[(0, "text.delta")]
    assert shown
    assert "".join(PIECES).startswith(shown)
    assert server.get(f"/api/runs/{run_id}/steps")["items"][0]["text"] == shown == run["output"]
    if run["status"] == "completed":  # everything had been said when the disk refused the first record
        assert shown == "".join(PIECES)
    else:
        assert (run["status"], run["stop_reason"]) == ("failed", "storage")
        assert "fallback log" in run["error"]["suggestion"]


@pytest.fixture
def disk() -> Iterator[Path]:
    """A small file system of its own; skipped where it cannot be had.

    Not below pytest's folders: if the tests are killed it stays, and must not be in their way.
    """
    folder = Path(tempfile.mkdtemp(prefix="nanoclaw-disk-"))
    if os.name != "posix" or shutil.which("mount") is None or os.geteuid() != 0:
        folder.rmdir()
        pytest.skip("a small file system can only be mounted by root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


@pytest.fixture
def server_on_disk(disk: Path, model: ModelServer) -> Iterator[Server]:
    """A server whose instance lies on the small disk."""
    settings = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "x", "OPENAI_MODEL": "scripted-model"}
    server = Server(disk / "instance", NANOCLAW_SANDBOX="off", **settings)
    server.start()
    yield server
    server.kill()
    server.session.close()


def fill(disk: Path) -> Path:
    """Take all the room there is."""
    hog = disk / "hog"
    with open(hog, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return hog


def test_a_full_disk_that_is_freed_again(server_on_disk: Server, disk: Path, model: ModelServer) -> None:
    server = server_on_disk
    run_id, viewer, gate = stream_until_half(server, model)
    hog = fill(disk)
    gate.set()
    wait_for(lambda: waiting_records(server) >= 2)
    assert server.get(f"/api/runs/{run_id}")["status"] == "running"  # reading goes on
    assert server.call("POST", "/api/tasks", expect=503, json={"input": "more"})["retryable"] is True
    hog.unlink()
    check_end(server, run_id, viewer)
    assert waiting_records(server) == 0
    model.script("scripted-model", [Turn(text="as before")])
    assert server.wait_run(server.post("/api/tasks", {"input": "again"})["id"])["output"] == "as before"


def test_a_server_that_is_killed_on_a_full_disk(server_on_disk: Server, disk: Path, model: ModelServer) -> None:
    server = server_on_disk
    run_id, viewer, gate = stream_until_half(server, model)
    hog = fill(disk)
    gate.set()
    wait_for(lambda: is_over(server))
    server.kill()
    hog.unlink()
    server.restart()
    check_end(server, run_id, viewer)
    server.stop()
    assert not (server.instance / "fallback.jsonl").exists()
    server.restart()
    assert server.events(run_id)[-1][0] == viewer.seen.frames[-1][0]  # entered once


def test_nothing_at_all_can_be_written_for_a_while(start_server: Start, model: ModelServer) -> None:
    server = start_server(NANOCLAW_SANDBOX="off")
    run_id, viewer, gate = stream_until_half(server, model)
    worker = children_of(server.pid)[0]
    before = resource.prlimit(worker, resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    gate.set()
    wait_for(lambda: waiting_records(server) >= 2)
    resource.prlimit(worker, resource.RLIMIT_FSIZE, before)
    check_end(server, run_id, viewer)


@pytest.fixture
def immutable(start_server: Start) -> Iterator[Callable[[], Server]]:
    """A server, and what makes its database refuse every write, root's too; skipped where that cannot be had."""
    servers: list[Server] = []

    def start() -> Server:
        servers.append(start_server(NANOCLAW_SANDBOX="off"))
        try:
            chattr(servers[0], "+i")
        except (OSError, subprocess.CalledProcessError) as fault:
            pytest.skip(f"files cannot be made immutable here: {fault}")
        chattr(servers[0], "-i")
        return servers[0]

    yield start
    for server in servers:
        chattr(server, "-i")


def chattr(server: Server, flag: str) -> None:
    # Not -shm: it lies in memory, and a process that touches what has become immutable there gets SIGBUS.
    files = [str(server.instance / name) for name in ("nanoclaw.db", "nanoclaw.db-wal")]
    subprocess.run(["chattr", flag, *filter(os.path.exists, files)], check=True, capture_output=True)


def test_a_database_that_becomes_read_only(immutable: Callable[[], Server], model: ModelServer) -> None:
    server = immutable()
    run_id, viewer, gate = stream_until_half(server, model)
    chattr(server, "+i")
    with pytest.raises(OSError, match="not permitted"):
        open(server.instance / "nanoclaw.db", "r+b").close()
    gate.set()
    wait_for(lambda: is_over(server))
    assert server.get(f"/api/runs/{run_id}")["status"] == "running"  # reading goes on
    assert server.call("POST", "/api/tasks", expect=503, json={"input": "more"})["code"] == "storage"
    server.kill()
    before = len(server.log.read_text())
    with pytest.raises(AssertionError, match="did not start"):
        server.restart()
    said = server.log.read_text()[before:]
    assert "The database cannot be used" in said
    assert "Traceback" not in said
    chattr(server, "-i")
    server.restart()
    check_end(server, run_id, viewer)
    assert waiting_records(server) == 0


def children_of(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("seconds", [2, *(pytest.param(seconds, marks=pytest.mark.full) for seconds in (10, 13))])
def test_a_locked_database_is_waited_for(start_server: Start, model: ModelServer, seconds: int) -> None:
    server = start_server(NANOCLAW_SANDBOX="off")
    run_id, viewer, gate = stream_until_half(server, model)
    with closing(sqlite3.connect(server.instance / "nanoclaw.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        gate.set()
        threading.Event().wait(seconds)  # this is the fault, not a wait for something
        assert server.get(f"/api/runs/{run_id}")["status"] == "running"
        other.execute("ROLLBACK")
    assert viewer.seen.ended.wait(60)
    assert texts(viewer.seen.frames)[(0, "text.delta")] == "".join(PIECES)
    assert server.get(f"/api/runs/{run_id}")["status"] == "completed"


def test_a_call_whose_start_cannot_be_stored_does_not_start(
    server_on_disk: Server, disk: Path, model: ModelServer
) -> None:
    server = server_on_disk
    project = server.post("/api/projects", {"name": "P"})["id"]
    gate = threading.Event()
    write = Call("file_write", {"path": "a.md", "content": "x" * 200_000})
    turn = Turn(text=["I write."], tool_calls=[write], gates={1: gate})
    model.script("scripted-model", [turn])
    run_id = server.post("/api/tasks", {"input": "Write.", "project_id": project})["id"]
    viewer = Viewer(server.url, run_id)
    assert turn.held.wait(60)
    hog = fill(disk)
    gate.set()
    wait_for(lambda: is_over(server))  # the disk is full until the run has ended for want of it
    hog.unlink()
    assert viewer.seen.ended.wait(60)
    call = server.get(f"/api/runs/{run_id}/steps")["items"][0]["tool_calls"][0]
    assert call["status"] == "cancelled"
    assert server.get(f"/api/projects/{project}/files")["items"] == []
