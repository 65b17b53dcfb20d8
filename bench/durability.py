"""What recording everything costs: the writer under many runs, a long conversation beside a short one, 200 viewers of 200 runs, upkeep."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import requests
from sqlalchemy import insert
from support.server import ROOT, TOKEN, Server, free_port

from backend import migrations
from backend.agent.types import Event, StepRecord
from backend.extensions import Database
from backend.ids import new_id, utc_now
from backend.models import Conversation, Message, Run, User
from backend.stores.sql import RunPlace, SqlRunStore
from backend.stores.writer import RunWriter
from bench import retention

DELTA_SECONDS = 0.02
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench durability")
    parser.add_argument(
        "part", nargs="?", choices=("writer", "conversation", "viewers", "retention", "all"), default="all"
    )
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--events", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.part in ("writer", "all"):
            for runs in (1, 20, 100):
                writer(Path(folder) / f"{runs}.db", runs, options.seconds)
        if options.part in ("conversation", "all"):
            conversation(Path(folder) / "conversation", options.messages)
        if options.part in ("viewers", "all"):
            viewers(Path(folder) / "viewers", options.viewers, options.seconds)
        if options.part in ("retention", "all"):
            retention.measure(fresh(Path(folder) / "retention.db"), options.events, say)
    return 0


def say(what: str, seconds: Sequence[float], extra: str = "") -> None:
    """One line: median, p99 and most, in milliseconds."""
    ms = sorted(s * 1000 for s in seconds) or [0.0]
    p99 = ms[min(len(ms) - 1, int(len(ms) * 0.99))]
    sys.stdout.write(
        f"{what}: median {statistics.median(ms):.1f} ms, p99 {p99:.1f}, max {ms[-1]:.1f}, n={len(seconds)}{extra}\n"
    )
    sys.stdout.flush()


# ---------------------------------------------------------------- the writer
def writer(path: Path, runs: int, seconds: float) -> None:
    """Runs that stream 50 deltas a second each, and record a step every second; in one process."""
    database = fresh(path)
    with database.write() as session:
        session.add_all([Run(id=f"r{i}", kind="task", owner_id="owner", lease_epoch=1) for i in range(runs)])
    writing = RunWriter(database, lambda text: "")
    lags: list[float] = []
    waits: list[float] = []
    threads = [threading.Thread(target=_stream, args=(database, writing, i, seconds, lags, waits)) for i in range(runs)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begun
    counts = {name: value for (name, _), value in writing.meters.counts().items()}
    writing.close()
    database.close()
    rate = f"; {counts['commits'] / took:.0f} commits/s, {counts['events'] / took:.0f} events/s, {len(lags) / took:.0f} deltas/s"
    say(f"writer, {runs} runs: delta to viewer", lags, rate)
    say(f"writer, {runs} runs: a record that is waited for", waits)


def _stream(
    database: Database, writing: RunWriter, number: int, seconds: float, lags: list[float], waits: list[float]
) -> None:
    store = SqlRunStore(database, writing, RunPlace(f"r{number}", 1, None))
    sent: dict[int, float] = {}

    def tell(events: Sequence[Event]) -> None:
        now = time.perf_counter()
        for event in events:
            if event.type == "text.delta":
                first = event.data["offset"] // 10
                lags.extend(now - sent.pop(first + i) for i in range(len(event.data["text"]) // 10))

    at = time.perf_counter() + number * DELTA_SECONDS / 100
    for i in range(int(seconds / DELTA_SECONDS)):
        at += DELTA_SECONDS
        time.sleep(max(0.0, at - time.perf_counter()))
        sent[i] = time.perf_counter()
        store.record([], [Event("text.delta", {"step": 0, "offset": i * 10, "text": "ten signs "})], tell, wait=False)
        if i % 50 == 49:
            begun = time.perf_counter()
            store.record([StepRecord(f"r{number}", 0, text="x")], [Event("run.notice", {"code": "x"})], tell)
            waits.append(time.perf_counter() - begun)


def fresh(path: Path) -> Database:
    """A migrated database with one user."""
    database = Database()
    database.open(f"sqlite:///{path}")
    migrations.upgrade(database.engine, path.parent)
    with database.write() as session:
        session.add(User(id="owner", name="Owner", role="admin", settings={}))
    return database


# ---------------------------------------------------------------- a long conversation
def conversation(instance: Path, messages: int) -> None:
    """Opening and writing into a conversation of many messages, beside one of 20."""
    server = Server(instance, NANOCLAW_SANDBOX="off")
    with server:
        ids = {size: server.post("/api/conversations", {"title": str(size)})["id"] for size in (20, messages)}
        server.stop()
        for size, conversation_id in ids.items():
            _fill(instance / "nanoclaw.db", conversation_id, size)
        server.start()
        for what, work in (("open", _open), ("send and be answered", _send)):
            taken: dict[int, list[float]] = {size: [] for size in ids}
            for _ in range(40):
                for size, conversation_id in ids.items():
                    taken[size].append(work(server, conversation_id))
            for size, seconds in taken.items():
                say(f"conversation of {size} messages: {what}", seconds[5:])


def _fill(path: Path, conversation_id: str, size: int) -> None:
    database = Database()
    database.open(f"sqlite:///{path}")
    ids = [new_id() for _ in range(size)]
    text = "Some words of a message that a person or a model has written. " * 8
    rows = [
        {
            "id": ids[i], "conversation_id": conversation_id, "parent_id": ids[i - 1] if i else None, "position": i + 1,
            "role": "user" if i % 2 == 0 else "assistant", "state": "sent", "content": text, "reasoning": "",
            "blocks": [{"type": "text", "text": text}] if i % 2 else [], "attachments": [], "model": "",
            "created_at": utc_now(),
        }
        for i in range(size)
    ]  # fmt: skip
    with database.write() as session:
        session.execute(insert(Message), rows)
        row = session.get_one(Conversation, conversation_id)
        row.active_leaf_id, row.last_position = ids[-1], size
    database.close()


def _open(server: Server, conversation_id: str) -> float:
    begun = time.perf_counter()
    server.get(f"/api/conversations/{conversation_id}")
    server.get(f"/api/conversations/{conversation_id}/messages")
    return time.perf_counter() - begun


def _send(server: Server, conversation_id: str) -> float:
    """From the request to the end of the answer; the answer itself is a sum."""
    begun = time.perf_counter()
    headers = {"X-Forwarded-For": "127.0.0.1"}
    sent = server.post(
        f"/api/conversations/{conversation_id}/messages", {"content": "/calculator 1+1"}, headers=headers
    )
    server.events(sent["run"]["id"])
    return time.perf_counter() - begun


# ---------------------------------------------------------------- many viewers
def viewers(instance: Path, count: int, seconds: float) -> None:
    """So many runs at 50 pieces a second, each with a viewer, and a plain request meanwhile; and the same of a bare app."""
    port, warm = free_port(), 6.0
    model = subprocess.Popen(
        [sys.executable, "-m", "bench.streams", "model", str(port), str(seconds + warm + 120)], cwd=ROOT
    )
    settings = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "x", "OPENAI_MODEL": "m"}
    limits = {"NANOCLAW_THREADS": str(count + 56), "NANOCLAW_RUNS": str(count), "NANOCLAW_SANDBOX": "off"}
    try:
        with Server(instance, **settings, **limits) as server:
            runs = [server.post("/api/tasks", {"input": "talk"})["id"] for _ in range(count)]
            _until(lambda: len(server.get(f"/api/runs?status=running&limit={count}")["items"]) == count)
            time.sleep(warm)  # every run streams by then
            paths = [f"/api/runs/{run}/events" for run in runs]
            _measure("nanoclaw", server.port, paths, f"/api/runs/{runs[0]}", seconds)
            server.kill()
    finally:
        model.kill()
        model.wait()
    _bare(count, seconds)


def _bare(count: int, seconds: float) -> None:
    port = free_port()
    argv = [sys.executable, "-m", "gunicorn", "-b", f"127.0.0.1:{port}", "-k", "gthread", "-w", "2", "--threads", "128"]
    bare = subprocess.Popen([*argv, "--log-level", "error", "--backlog", "1024", "bench.bare_app:app"], cwd=ROOT)
    try:
        _until(lambda: requests.get(f"http://127.0.0.1:{port}/ping", timeout=1).ok)
        _measure("bare Flask, 2 x 128 threads", port, [f"/stream/{i}" for i in range(count)], "/ping", seconds)
    finally:
        bare.terminate()
        bare.wait()


def _measure(name: str, port: int, paths: list[str], plain: str, seconds: float) -> None:
    asked = {"port": port, "paths": paths, "headers": f"Authorization: Bearer {TOKEN}\r\n", "seconds": seconds}
    watching = subprocess.Popen(
        [sys.executable, "-m", "bench.streams", "watch"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Any] = {}
    thread = threading.Thread(target=lambda: found.update(json.loads(watching.communicate(json.dumps(asked))[0])))
    thread.start()
    pings, session = [], requests.Session()
    session.trust_env = False
    while thread.is_alive():
        begun = time.perf_counter()
        session.get(f"http://127.0.0.1:{port}{plain}", headers=BEARER, timeout=30)
        pings.append(time.perf_counter() - begun)
        time.sleep(0.05)
    thread.join()
    session.close()
    rate = f"; {sum(found['events']) / seconds:.0f} events/s, {len(found['lags']) / seconds:.0f} pieces/s"
    say(f"{name}, {len(paths)} viewers: first event", found["first"])
    # What was said before a viewer came is old when it comes: only what followed counts.
    say(
        f"{name}, {len(paths)} viewers: from the model to the viewer",
        [lag for lag in found["lags"] if lag < seconds],
        rate,
    )
    say(f"{name}, {len(paths)} viewers: a plain request meanwhile", pings)


def _until(true: Callable[[], bool]) -> None:
    for _ in range(200):
        try:
            if true():
                return
        except (requests.ConnectionError, requests.Timeout):
            pass
        time.sleep(0.05)
    raise SystemExit("it did not start in time")


if __name__ == "__main__":
    sys.exit(main())
