"""Viewers that stop reading, a server that is stopped or put to sleep under load: runs go on and nothing is lost."""

import os
import signal
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing

import pytest
from faults.evidence import Evidence, texts
from faults.viewers import Viewer
from faults.workload import script
from support.model_server import ModelServer, Turn
from support.server import TOKEN, Server

from backend.extensions import Database
from backend.stores.leases import HEARTBEAT_SECONDS, LEASE_SECONDS, Leases

pytestmark = pytest.mark.timeout(300)

Start = Callable[..., Server]
LONG = [f"{i:05d} " * 800 for i in range(400)]


def stalled(server: Server, run_id: str) -> socket.socket:
    """A viewer that asks for the events and then never reads."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", server.port))
    head = f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    sock.sendall(head.encode())
    return sock


def test_twenty_viewers_that_stop_reading_hold_nothing_up(start_server: Start, model: ModelServer) -> None:
    server = start_server(NANOCLAW_SANDBOX="off")
    gate = threading.Event()
    turn = Turn(text=LONG, gate=gate)
    model.script("scripted-model", [turn])
    run_id = server.post("/api/tasks", {"input": "Write."})["id"]
    assert turn.held.wait(60)
    sockets = [stalled(server, run_id) for _ in range(20)]
    gate.set()
    viewer = Viewer(server.url, run_id)
    assert viewer.seen.ended.wait(120)
    assert texts(viewer.seen.frames)[(0, "text.delta")] == "".join(LONG)
    assert server.get(f"/api/runs/{run_id}")["status"] == "completed"
    assert server.stop() == 0  # they do not hold its end up either
    for sock in sockets:
        sock.close()


def test_sigterm_under_load_hands_every_run_over(start_server: Start, model: ModelServer) -> None:
    server = start_server()
    script(model)
    project = server.post("/api/projects", {"name": "Load"})["id"]
    server.post_file(f"/api/projects/{project}/files/upload", "base.txt", b"base\n" * 500)
    tags, viewers = {}, []
    for i in range(6):
        conversation = server.post("/api/conversations", {"project_id": project})["id"]
        sent = server.post(f"/api/conversations/{conversation}/messages", {"content": f"Work on [t{i}x]"})
        tags[sent["run"]["id"]] = f"t{i}x"
        viewers.append(Viewer(server.url, sent["run"]["id"]))
    for count in (10, 30):
        model.wait_requests(count, timeout=60)
        assert server.stop() == 0
        server.restart()
    for run_id in tags:
        assert server.wait_run(run_id)["status"] == "completed"
    for viewer in viewers:
        assert viewer.seen.ended.wait(60)
        viewer.stop()
    server.stop()
    evidence = Evidence(server.instance / "nanoclaw.db")
    wrong = evidence.check([v.seen for v in viewers], server.instance / "workspaces" / project, tags)
    assert wrong == [], "\n".join(wrong[:20])
    assert [c["name"] for c in evidence.calls if c["status"] == "unknown"] == []


def working(server: Server, model: ModelServer, tag: str) -> tuple[str, str, Viewer]:
    """A run of the whole workload that has come half way: its project, its id, its viewer."""
    script(model)
    project = server.post("/api/projects", {"name": "Sleep"})["id"]
    server.post_file(f"/api/projects/{project}/files/upload", "base.txt", b"base\n" * 500)
    conversation = server.post("/api/conversations", {"project_id": project})["id"]
    sent = server.post(f"/api/conversations/{conversation}/messages", {"content": f"Work on [{tag}]"})
    viewer = Viewer(server.url, sent["run"]["id"])
    model.wait_requests(4, timeout=60)
    return project, sent["run"]["id"], viewer


def check_all(server: Server, project: str, viewer: Viewer, tag: str) -> Evidence:
    viewer.stop()
    server.stop()
    evidence = Evidence(server.instance / "nanoclaw.db")
    wrong = evidence.check([viewer.seen], server.instance / "workspaces" / project, {viewer.seen.run_id: tag})
    assert wrong == [], "\n".join(wrong[:20])
    return evidence


@pytest.mark.full
def test_a_server_that_sleeps_longer_than_a_lease(start_server: Start, model: ModelServer) -> None:
    server = start_server()
    project, run_id, viewer = working(server, model, "s0x")
    os.killpg(server.pid, signal.SIGSTOP)
    threading.Event().wait(LEASE_SECONDS + 5)  # this is the fault
    os.killpg(server.pid, signal.SIGCONT)
    assert viewer.seen.ended.wait(120)
    assert server.get(f"/api/runs/{run_id}")["status"] == "completed"
    check_all(server, project, viewer, "s0x")


@pytest.mark.full
def test_a_server_that_slept_while_another_took_its_run(start_server: Start, model: ModelServer) -> None:
    server = start_server()
    project, run_id, viewer = working(server, model, "s1x")
    os.killpg(server.pid, signal.SIGSTOP)
    try:
        threading.Event().wait(LEASE_SECONDS + 1)  # this is the fault
        with pytest.raises(AssertionError, match="did not start"):  # a second server on the same instance
            Server(server.instance).start()
        other = other_worker(server, run_id)
        length = len(Evidence(server.instance / "nanoclaw.db").events[run_id])
    finally:
        os.killpg(server.pid, signal.SIGCONT)
    # The one that slept may write nothing more while the other has the run; requests are served.
    threading.Event().wait(HEARTBEAT_SECONDS + 2)  # longer than it would take it to notice
    assert server.get(f"/api/runs/{run_id}")["status"] == "running"
    assert len(Evidence(server.instance / "nanoclaw.db").events[run_id]) == length
    with closing(sqlite3.connect(server.instance / "nanoclaw.db", timeout=30)) as db, db:  # and the other one dies
        db.execute("UPDATE runs SET lease_expires_at = '2000-01-01 00:00:00' WHERE id = ?", (run_id,))
    assert viewer.seen.ended.wait(120)
    evidence = check_all(server, project, viewer, "s1x")
    assert (evidence.runs[run_id]["status"], evidence.runs[run_id]["lease_epoch"]) == ("completed", other + 1)


def other_worker(server: Server, run_id: str) -> int:
    """Another process takes the run over; its epoch."""
    database = Database()
    database.open(f"sqlite:///{server.instance / 'nanoclaw.db'}")
    lease = Leases(database, "another").claim(run_id)
    assert lease is not None
    assert lease.again
    database.close()
    return lease.epoch
