"""Folding and pruning of logs: every viewer ends with the same text, however late it comes."""

import itertools
import json
import threading
from collections.abc import Callable
from datetime import timedelta

from faults.evidence import texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from backend.agent.types import Event, RunRecord
from backend.channels.log import EventLog
from backend.extensions import Database
from backend.ids import iso_now, new_id, utc_now
from backend.models import Project, Run, RunEvent
from backend.stores import folding, retention
from backend.stores.sql import SqlRunStore

MakeStore = Callable[..., SqlRunStore]
Log = list[tuple[int, str, str]]


def log_of(database: Database, run_id: str) -> Log:
    with database.read() as session:
        query = select(RunEvent.seq, RunEvent.type, RunEvent.data).where(RunEvent.run_id == run_id)
        return [(seq, kind, data) for seq, kind, data in session.execute(query.order_by(RunEvent.seq))]


def put(database: Database, run_id: str, events: list[tuple[str, dict]]) -> None:
    """A run that has ended, with these events."""
    with database.write() as session:
        ended = utc_now()
        session.add(
            Run(id=run_id, kind="task", status="completed", owner_id="owner", last_seq=len(events), finished_at=ended)
        )
        session.flush()
        for seq, (kind, data) in enumerate(events, 1):
            session.add(RunEvent(run_id=run_id, seq=seq, type=kind, data=json.dumps(data)))


def step(index: int, text: str, cuts: list[int], kind: str = "text.delta") -> list[tuple[str, dict]]:
    """The events of a step whose text comes in pieces cut at these places."""
    places = sorted({0, len(text), *(c % (len(text) + 1) for c in cuts)})
    pieces = [(a, text[a:b]) for a, b in itertools.pairwise(places)]
    return [("step.started", {"step": index})] + [(kind, {"step": index, "offset": a, "text": t}) for a, t in pieces]


STEPS = st.lists(st.tuples(st.text(max_size=30), st.lists(st.integers(0, 30), max_size=6)), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, again=st.booleans(), seen=st.integers(0, 60))
def test_a_viewer_that_comes_back_after_the_fold_ends_with_the_same_text(
    database: Database, steps: list[tuple[str, list[int]]], again: bool, seen: int
) -> None:
    events: list[tuple[str, dict]] = [("run.started", {})]
    for index, (text, cuts) in enumerate(steps):
        if again:  # the step began anew: its worker had died in the middle
            events += step(index, text[: len(text) // 2], cuts)
        events += [*step(index, text, cuts), ("step.finished", {"step": index})]
    events.append(("run.finished", {}))
    run_id = new_id()
    put(database, run_id, events)
    before = log_of(database, run_id)
    folding.fold(database, run_id)
    after = log_of(database, run_id)
    folding.fold(database, run_id)
    assert log_of(database, run_id) == after
    assert texts(after) == texts(before)
    assert [e for e in after if "delta" not in e[1]] == [e for e in before if "delta" not in e[1]]
    assert sum("delta" in e[1] for e in after) <= len(steps) * (2 if again else 1)
    came_back = before[:seen] + [e for e in after if e[0] > (before[:seen] or [(0, "", "")])[-1][0]]
    assert texts(came_back) == texts(before)


def test_only_runs_that_ended_a_while_ago_are_folded(database: Database, make_store: MakeStore) -> None:
    store = make_store("going")
    for i in range(3):
        store.record([], [Event("text.delta", {"step": 0, "offset": i, "text": "x"})], lambda e: None)
    put(database, "ended", [*step(0, "abc", [1, 2]), ("run.finished", {})])
    assert folding.fold_ended(database, utc_now() - timedelta(seconds=60)) == 0
    assert folding.fold_ended(database, utc_now() + timedelta(seconds=60)) == 1
    assert len(log_of(database, "going")) == 3
    assert [seq for seq, _, _ in log_of(database, "ended")] == [1, 4, 5]
    assert folding.fold_ended(database, utc_now() + timedelta(seconds=60)) == 0


def test_a_live_viewer_reads_on_while_the_log_is_folded(database: Database, make_store: MakeStore) -> None:
    store, log = make_store(), EventLog(database)
    store.record([], [Event("step.started", {"step": 0})], log.send_progress)
    for i in range(30):
        store.record([], [Event("text.delta", {"step": 0, "offset": i, "text": f"{i % 10}"})], log.send_progress)
    viewer = log.subscribe("run-1", after=0)
    got = [next(viewer) for _ in range(5)]
    ended = RunRecord("run-1", status="completed", finished_at=iso_now())
    store.record([ended], [Event("run.finished", {})], log.send_progress)
    folder = threading.Thread(target=folding.fold, args=(database, "run-1"))
    folder.start()
    got += list(viewer)
    folder.join()
    frames = [(e.seq, e.type, e.data) for e in got if e]
    assert texts(frames)[(0, "text.delta")] == "0123456789" * 3
    assert frames[-1][1] == "run.finished"


def test_logs_are_pruned_by_age_and_their_end_is_still_told(database: Database) -> None:
    with database.write() as session:
        session.add(Project(id="brief", owner_id="owner", name="p", retention_days=1, updated_at=utc_now()))
        session.add(Project(id="ever", owner_id="owner", name="p", retention_days=0, updated_at=utc_now()))
    for run_id, project, days in (("a", None, 8), ("b", None, 2), ("c", "brief", 2), ("d", "ever", 99)):
        put(database, run_id, [*step(0, "abc", [1]), ("run.finished", {"status": "completed"})])
        with database.write() as session:
            run = session.get_one(Run, run_id)
            run.project_id, run.finished_at = project, utc_now() - timedelta(days=days)
    assert retention.prune_by_age(database, 0) == 1
    assert retention.prune_by_age(database, 7) == 1
    assert retention.prune_by_age(database, 7) == 0
    assert [len(log_of(database, run_id)) for run_id in "abcd"] == [1, 4, 1, 4]
    assert [e.type for e in EventLog(database).subscribe("a") if e] == ["run.finished"]


def test_logs_are_pruned_by_size_until_the_database_is_small_enough(database: Database) -> None:
    for run_id in ("old", "new"):
        put(database, run_id, [*step(0, "x" * 300_000, list(range(0, 300_000, 3000))), ("run.finished", {})])
    used = retention.used_bytes(database)
    assert retention.prune_by_size(database, used) == 0
    assert retention.prune_by_size(database, 0) == 0
    assert retention.prune_by_size(database, used - 1) == 2
    assert retention.used_bytes(database) < used - 500_000
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(RunEvent)) == 2
