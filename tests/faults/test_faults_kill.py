"""`kill -9` at seeded random moments: nothing that was shown is lost, nothing is done twice, everything ends."""

import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.evidence import Evidence
from faults.viewers import Viewer
from faults.workload import script
from support.model_server import ModelServer
from support.server import Server

SEED = int(os.environ.get("NANOCLAW_FAULT_SEED", "20260131"))
RUNS_AT_ONCE = 3
MOST_FRAMES_A_LIFE = 120  # two viewers a run: a run is some hundred events long
JITTER_SECONDS = 0.1
LONGEST_LIFE_SECONDS = 20.0
END_SECONDS = 30.0

Start = Callable[..., Server]


class Crashes:
    """Keeps a few runs going and kills their server, again and again."""

    def __init__(self, server: Server, seed: int) -> None:
        self._server = server
        self._random = random.Random(seed)
        self.viewers: list[Viewer] = []
        self.tags: dict[str, str] = {}
        project = server.post("/api/projects", {"name": "Crash"}, expect=201)
        server.post_file(f"/api/projects/{project['id']}/files/upload", "base.txt", b"base\n" * 500)
        self.project_id = str(project["id"])
        self.folder = server.instance / "workspaces" / self.project_id
        self._conversations = [server.post("/api/conversations", {"project_id": self.project_id})["id"] for _ in "123"]

    def go(self, kills: int) -> None:
        """So many lives of the server, each ended at a random moment; then one that may finish."""
        for number in range(kills):
            self._keep_busy()
            self._live(self._random.randrange(MOST_FRAMES_A_LIFE), self._random.uniform(0.0, JITTER_SECONDS))
            self._server.kill()
            self._server.restart()
            if number % 20 == 19:
                sys.stderr.write(f"{number + 1} kills, {len(self.tags)} runs\n")

    def _live(self, frames: int, more_seconds: float) -> None:
        """Until viewers have got so many more events, and a moment more: as far on a slow machine as on a fast one."""
        pause, until = threading.Event(), self._seen() + frames
        for _ in range(int(LONGEST_LIFE_SECONDS / 0.01)):
            if self._seen() >= until:
                break
            pause.wait(0.01)
        pause.wait(more_seconds)

    def _seen(self) -> int:
        return sum(len(viewer.seen.frames) for viewer in self.viewers)

    def finish(self) -> float:
        """Wait for the end of every run; the seconds it took since the last start."""
        begun = time.monotonic()
        for run_id in self.tags:
            self._server.wait_run(run_id)
        took = time.monotonic() - begun
        for viewer in self.viewers:
            viewer.seen.ended.wait(END_SECONDS)
            viewer.stop()
        return took

    def _keep_busy(self) -> None:
        for conversation in self._conversations[:RUNS_AT_ONCE]:
            if self._server.get(f"/api/conversations/{conversation}")["active_run_id"]:
                continue
            tag = f"r{len(self.tags)}x"
            sent = self._server.post(f"/api/conversations/{conversation}/messages", {"content": f"Work on [{tag}]"})
            if sent["run"] is None:
                continue  # a run had just begun; the message waits, and its run is found later
            run_id = sent["run"]["id"]
            self.tags[run_id] = tag
            self.viewers += [Viewer(self._server.url, run_id), Viewer(self._server.url, run_id, again=True)]


def crash_and_check(server: Server, model: ModelServer, kills: int, seed: int) -> None:
    script(model)
    crashes = Crashes(server, seed)
    crashes.go(kills)
    took = crashes.finish()
    server.stop()
    evidence = Evidence(server.instance / "nanoclaw.db")
    wrong = evidence.check([v.seen for v in crashes.viewers], crashes.folder, crashes.tags)
    unknown = [c for c in evidence.calls if c["status"] == "unknown"]
    sys.stderr.write(
        f"\nseed {seed}: {kills} kills, {len(evidence.runs)} runs, {len(evidence.calls)} calls, "
        f"{sum(map(len, evidence.events.values()))} events, {len(unknown)} unknown "
        f"({sorted(c['name'] for c in unknown)}), last start to last end {took:.1f} s\n"
    )
    ended = Counter(run["status"] for run in evidence.runs.values() if run["kind"] == "chat")
    sys.stderr.write(f"the runs of messages ended as {dict(ended)}\n")
    assert wrong == [], "\n".join(wrong[:20])
    assert took < END_SECONDS
    # Some may be given up, for it looks as if they killed their server; the work must get done all the same.
    assert ended["completed"] >= sum(ended.values()) / 2, ended
    assert [v for v in model.violations if "done" not in v] == []


@pytest.mark.timeout(240)
def test_twenty_kills(start_server: Start, model: ModelServer) -> None:
    crash_and_check(start_server(), model, 20, SEED)


@pytest.mark.full
@pytest.mark.timeout(7200)
def test_two_hundred_kills(start_server: Start, model: ModelServer, tmp_path: Path) -> None:
    crash_and_check(start_server(), model, 200, SEED + 1)
