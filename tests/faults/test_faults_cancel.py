"""Stop means stop: at random moments of a run, one cancel ends the model's stream, children and code."""

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.evidence import Evidence
from faults.viewers import Viewer
from faults.workload import script
from support.model_server import ModelServer
from support.server import Server

Start = Callable[..., Server]
SEED = int(os.environ.get("NANOCLAW_FAULT_SEED", "20260131"))
ENDED = ("cancelled", "completed")


def cancel_often(server: Server, model: ModelServer, times: int) -> None:
    script(model)
    chance = random.Random(SEED)
    project = server.post("/api/projects", {"name": "Stop"})["id"]
    server.post_file(f"/api/projects/{project}/files/upload", "base.txt", b"base\n" * 500)
    tags: dict[str, str] = {}
    viewers: list[Viewer] = []
    cancelled = 0
    for i in range(times):
        conversation = server.post("/api/conversations", {"project_id": project})["id"]
        sent = server.post(f"/api/conversations/{conversation}/messages", {"content": f"Work on [c{i}x]"})
        run_id = sent["run"]["id"]
        tags[run_id] = f"c{i}x"
        viewers.append(Viewer(server.url, run_id))
        threading.Event().wait(chance.uniform(0.0, 1.5))
        receipt = server.post(f"/api/runs/{run_id}/cancel")
        assert receipt["status"] in ENDED, receipt
        assert receipt["abandoned"] == []
        assert server.post(f"/api/runs/{run_id}/cancel")["status"] == receipt["status"]
        cancelled += receipt["status"] == "cancelled"
        asked = len(model.requests())
        assert viewers[-1].seen.ended.wait(10)
        assert len(model.requests()) == asked  # nothing asks the model any more
    assert cancelled > times // 2
    for viewer in viewers:
        viewer.stop()
    server.stop()
    evidence = Evidence(server.instance / "nanoclaw.db")
    wrong = evidence.check([v.seen for v in viewers], Path(server.instance / "workspaces" / project), tags)
    assert wrong == [], "\n".join(wrong[:20])
    children = [run["status"] for run in evidence.runs.values() if run["kind"] == "child"]
    assert set(children) <= {"cancelled", "completed"}


@pytest.mark.timeout(120)
def test_ten_cancels(start_server: Start, model: ModelServer) -> None:
    cancel_often(start_server(), model, 10)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_hundred_cancels(start_server: Start, model: ModelServer) -> None:
    cancel_often(start_server(), model, 100)
