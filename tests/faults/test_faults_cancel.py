"""Stop means stop: at random moments of a run, one cancel ends the model's stream, children and code."""

import os
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from faults.evidence import Evidence
from faults.viewers import Viewer
from faults.workload import LONG_CODE, script
from support.model_server import ModelServer
from support.server import Server

Start = Callable[..., Server]
SEED = int(os.environ.get("NANOCLAW_FAULT_SEED", "20260131"))
ENDED = ("cancelled", "completed")
QUIET_SECONDS = 2.0
FILE_TOOLS = {"file_read", "file_list", "file_write", "file_mkdir"}


def processes_below(pid: int) -> dict[int, str]:
    """The `stat` of every process that one of its children has started, and so on: the sandbox, not the server itself."""
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        with suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                children = Path(f"/proc/{parent}/task/{task}/children").read_text().split()
                waiting += map(int, children)
                if parent != pid:
                    found |= {int(child): Path(f"/proc/{child}/stat").read_text() for child in children}
    return found


def at_work(pid: int) -> bool:
    """True if a process below the server computes: code of a run does nothing else."""
    before = processes_below(pid)
    threading.Event().wait(0.05)
    after = processes_below(pid)
    return any(_ticks(after[child]) - _ticks(before[child]) >= 3 for child in before.keys() & after.keys())


def _ticks(stat: str) -> int:
    return sum(map(int, stat.rpartition(")")[2].split()[11:13]))


class Quiet:
    """How long after a cancel was sent the last of its work was still there."""

    def __init__(self, server: Server, model: ModelServer) -> None:
        self._server = server
        self._model = model
        self.slowest: dict[str, float] = {"answer": 0.0, "model": 0.0, "children": 0.0, "code": 0.0}

    def cancel(self, run_id: str) -> dict[str, Any]:
        """Cancel, and wait until the model is not asked any more and no child and no code of the run goes on."""
        begun = time.monotonic()
        receipt: dict[str, Any] = self._server.post(f"/api/runs/{run_id}/cancel")
        self._note("answer", begun)
        self._until("model", begun, lambda: self._model.streaming() == 0)
        self._until("children", begun, lambda: self._children(run_id) == 0)
        self._until("code", begun, lambda: not at_work(self._server.pid))
        return receipt

    def _until(self, what: str, begun: float, true: Callable[[], bool]) -> None:
        while not true():
            assert time.monotonic() - begun < 30, f"{what} never ends"
            threading.Event().wait(0.01)
        self._note(what, begun)

    def _note(self, what: str, begun: float) -> None:
        self.slowest[what] = max(self.slowest[what], time.monotonic() - begun)

    def _children(self, run_id: str) -> int:
        with closing(sqlite3.connect(f"file:{self._server.instance}/nanoclaw.db?mode=ro", uri=True)) as db:
            going = "SELECT COUNT(*) FROM runs WHERE (parent_run_id = ? OR id = ?) AND finished_at IS NULL"
            return int(db.execute(going, (run_id, run_id)).fetchone()[0])


def cancel_often(server: Server, model: ModelServer, times: int) -> None:
    script(model, LONG_CODE)
    quiet = Quiet(server, model)
    chance = random.Random(SEED)
    project = server.post("/api/projects", {"name": "Stop"})["id"]
    server.post_file(f"/api/projects/{project}/files/upload", "base.txt", b"base\n" * 500)
    tags: dict[str, str] = {}
    viewers: list[Viewer] = []
    cancelled = abandoned = 0
    for i in range(times):
        conversation = server.post("/api/conversations", {"project_id": project})["id"]
        sent = server.post(f"/api/conversations/{conversation}/messages", {"content": f"Work on [c{i}x]"})
        run_id = sent["run"]["id"]
        tags[run_id] = f"c{i}x"
        viewers.append(Viewer(server.url, run_id))
        threading.Event().wait(chance.uniform(0.0, 2.5))
        receipt = quiet.cancel(run_id)
        assert receipt["status"] in ENDED, receipt
        # A thread that reads or writes a file cannot be ended from outside: on a busy machine it may be given up.
        assert {item.get("name", "child") for item in receipt["abandoned"]} <= FILE_TOOLS, receipt
        abandoned += len(receipt["abandoned"])
        assert server.post(f"/api/runs/{run_id}/cancel")["status"] == receipt["status"]
        cancelled += receipt["status"] == "cancelled"
        asked = len(model.requests())
        assert viewers[-1].seen.ended.wait(60)
        assert len(model.requests()) == asked  # nothing asks the model any more
    sys.stderr.write(
        f"\n{cancelled} of {times} cancelled, {abandoned} file calls given up; the slowest, in seconds after the click: {quiet.slowest}\n"
    )
    assert cancelled > times // 2
    assert max(quiet.slowest.values()) < QUIET_SECONDS, quiet.slowest
    for viewer in viewers:
        viewer.stop()
    server.stop()
    evidence = Evidence(server.instance / "nanoclaw.db")
    wrong = evidence.check([v.seen for v in viewers], Path(server.instance / "workspaces" / project), tags)
    assert wrong == [], "\n".join(wrong[:20])
    children = [run["status"] for run in evidence.runs.values() if run["kind"] == "child"]
    assert set(children) <= {"cancelled", "completed"}


@pytest.mark.timeout(240)
def test_ten_cancels(start_server: Start, model: ModelServer) -> None:
    cancel_often(start_server(), model, 10)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_a_hundred_cancels(start_server: Start, model: ModelServer) -> None:
    cancel_often(start_server(), model, 100)
