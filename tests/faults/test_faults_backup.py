"""A backup that is made while runs work is whole: put back elsewhere, what went on then ends there, clearly."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.evidence import Evidence
from faults.workload import script
from support.model_server import ModelServer
from support.server import Server

Start = Callable[..., Server]
RUNS = 3


def command(server: Server, *words: str) -> subprocess.CompletedProcess[str]:
    """One of the program's commands, on the server's instance."""
    return subprocess.run(
        [sys.executable, "-m", "backend.cli", *words],
        cwd=server.instance.parent,
        env=dict(server.environment()),
        capture_output=True,
        text=True,
        timeout=120,
    )


def work(server: Server) -> list[str]:
    """A few runs of the whole workload in one project; their ids."""
    project = server.post("/api/projects", {"name": "Load"})["id"]
    server.post_file(f"/api/projects/{project}/files/upload", "base.txt", b"base\n" * 500)
    runs = []
    for i in range(RUNS):
        conversation = server.post("/api/conversations", {"project_id": project})["id"]
        sent = server.post(f"/api/conversations/{conversation}/messages", {"content": f"Work on [b{i}x]"})
        runs.append(str(sent["run"]["id"]))
    return runs


@pytest.mark.timeout(240)
def test_a_backup_during_work_is_put_back_elsewhere(start_server: Start, model: ModelServer, tmp_path: Path) -> None:
    server = start_server()
    script(model)
    runs = work(server)
    model.wait_requests(RUNS * 2, timeout=60)
    file = tmp_path / "backup.tar.gz"
    made = command(server, "backup", str(file))
    assert made.returncode == 0, made.stderr
    for run_id in runs:
        assert server.wait_run(run_id)["status"] == "completed"  # they were not disturbed

    refused = command(server, "restore", str(file))
    assert refused.returncode != 0
    assert "running" in refused.stderr
    assert "Traceback" not in refused.stderr

    other = start_server()
    other.stop()
    restored = command(other, "restore", str(file))
    assert restored.returncode == 0, restored.stderr
    other.restart()
    ends = {run_id: other.wait_run(run_id) for run_id in runs}
    assert {run["status"] for run in ends.values()} <= {"completed", "failed"}, ends
    assert all(run["error"] for run in ends.values() if run["status"] == "failed")
    other.stop()
    evidence = Evidence(other.instance / "nanoclaw.db")
    assert evidence.integrity == "ok"
    evidence.check_runs()
    evidence.check_logs()
    evidence.check_conversations()
    assert evidence.wrong == []


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"\x1f\x8b" + bytes(200)])
def test_a_file_that_is_no_backup_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "wrong.tar.gz"
    file.write_bytes(content)
    server = Server(tmp_path / "instance")
    refused = command(server, "restore", str(file))
    assert refused.returncode != 0
    assert "not a whole backup" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.full
@pytest.mark.timeout(900)
def test_ten_backups_at_any_moment_of_work_are_whole(start_server: Start, model: ModelServer, tmp_path: Path) -> None:
    server, other = start_server(), start_server()
    other.stop()
    script(model)
    runs = work(server)
    files = [tmp_path / f"{i}.tar.gz" for i in range(10)]
    for file in files:
        made = command(server, "backup", str(file))
        assert made.returncode == 0, made.stderr
        threading.Event().wait(0.2)
    for run_id in runs:
        server.wait_run(run_id)
    for file in files:
        restored = command(other, "restore", str(file))
        assert restored.returncode == 0, restored.stderr
        other.restart()
        for run_id in runs:
            other.wait_run(run_id)
        other.stop()
        evidence = Evidence(other.instance / "nanoclaw.db")
        assert evidence.integrity == "ok"
        evidence.check_runs()
        evidence.check_logs()
        evidence.check_conversations()
        assert evidence.wrong == []
