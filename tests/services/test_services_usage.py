"""Figures for people: tools in the last 24 hours, how runs went, the queue, and the calls of each run in a list."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from backend.ids import iso, utc_now
from backend.models import Run, ToolCall
from backend.services import stats
from backend.services.run_calls import counts
from backend.services.runtime import Runtime
from backend.services.tool_stats import percentiles_query
from backend.services.tools import list_tools

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def add_run(runtime: Runtime, owner: str, **values: Any) -> str:
    with runtime.db.write() as session:
        run = Run(**{"kind": "task", "status": "completed", "owner_id": owner, "input": "x", **values})
        session.add(run)
        session.flush()
        return run.id


def add_calls(runtime: Runtime, run_id: str, calls: Iterable[dict[str, Any]]) -> None:
    with runtime.db.write() as session:
        for number, values in enumerate(calls):
            usual = {"name": "calculator", "status": "success", "execution_time": 1.0, "started_at": iso(utc_now())}
            session.add(
                ToolCall(run_id=run_id, id=f"c{number}", step=0, position=number, call={}, **{**usual, **values})
            )


def tool(runtime: Runtime, owner: str, name: str) -> dict[str, Any]:
    return next(item for item in list_tools(runtime, owner)["items"] if item["name"] == name)


def test_a_tools_day_tells_failures_reuse_and_how_long_calls_took(runtime: Runtime, owner: str, other: str) -> None:
    run = add_run(runtime, owner)
    timed = [{"execution_time": float(n)} for n in range(1, 101)]
    ended = [{"status": status, "execution_time": None} for status in ("error", "timeout", "cancelled")]
    before = [{"execution_time": 900.0, "started_at": iso(utc_now() - 25 * HOUR)}]
    add_calls(runtime, run, [*timed, *ended, {"cached": True, "execution_time": 0.0}, *before])
    add_calls(runtime, add_run(runtime, other), [{"execution_time": 500.0}])
    found = tool(runtime, owner, "calculator")["stats"]
    assert found["day"] == {"calls": 104, "errors": 2, "cached": 1, "p50_seconds": 50.0, "p95_seconds": 95.0}
    assert (found["calls"], found["errors"]) == (105, 2)
    unused = tool(runtime, owner, "get_weather")["stats"]
    assert unused["day"] == {"calls": 0, "errors": 0, "cached": 0, "p50_seconds": None, "p95_seconds": None}


def test_the_figures_of_a_day_read_only_that_part_of_the_index(runtime: Runtime, owner: str) -> None:
    query = percentiles_query(owner, ["calculator", "get_weather"], DAY)
    with runtime.db.read() as session:
        literal = query.compile(session.get_bind(), compile_kwargs={"literal_binds": True})
        plan = [row[3] for row in session.execute(text(f"EXPLAIN QUERY PLAN {literal}"))]
    assert any("ix_tool_calls_name_started (name=? AND started_at>?)" in line for line in plan), plan
    assert not any(line.startswith("SCAN tool_calls") or line.startswith("SCAN runs") for line in plan), plan


def test_a_tool_says_how_long_results_are_kept_and_what_it_lacks(runtime: Runtime, owner: str) -> None:
    calculator, python = tool(runtime, owner, "calculator"), tool(runtime, owner, "execute_python")
    assert calculator["cache_seconds"] == runtime.executor.cache_seconds
    assert python["cache_seconds"] is None
    assert (calculator["lacks"], tool(runtime, owner, "web_search")["lacks"]) == (None, "no_key")
    assert tool(runtime, owner, "multi_agent")["lacks"] == "no_model"


def test_calls_and_failures_of_many_runs_are_counted_at_once(runtime: Runtime, owner: str) -> None:
    first, second, third = (add_run(runtime, owner) for _ in range(3))
    add_calls(runtime, first, [{}, {"status": "permission_denied"}, {"status": "unknown"}, {"status": "cancelled"}])
    add_calls(runtime, second, [{}])
    with runtime.db.read() as session:
        assert counts(session, [first, second, third]) == {first: (4, 2), second: (1, 0)}


@pytest.mark.parametrize(("period", "known"), [("daily", 20), ("weekly", 20), ("monthly", 21)])
def test_how_runs_went_is_told_for_the_whole_period(runtime: Runtime, owner: str, period: Any, known: int) -> None:
    begun = utc_now()
    for seconds in range(1, 21):
        status = "failed" if seconds > 15 else "completed"
        add_run(
            runtime, owner, status=status, model="big" if seconds % 2 else "small", prompt_tokens=seconds,
            started_at=begun, finished_at=begun + timedelta(seconds=seconds),
        )  # fmt: skip
    add_run(runtime, owner, status="queued", created_at=begun - 100 * DAY, model="old")
    found = stats.runs(runtime, owner, period)
    assert (found["runs"], found["ended"], found["completed"], found["measured"]) == (known, 20, 15, 20)
    assert found["p95_seconds"] == 19.0
    tokens = {row["model"]: (row["runs"], row["total_tokens"]) for row in found["models"]}
    assert tokens == {"small": (10, 110), "big": (10, 100), **({"old": (1, 0)} if known > 20 else {})}
    assert found["models"][0]["model"] == "small"


def test_the_tools_of_a_time_are_told_the_most_used_first(runtime: Runtime, owner: str, other: str) -> None:
    ago = [{"name": "text_process", "started_at": iso(utc_now() - back)} for back in (40 * DAY, 40 * DAY, 100 * DAY)]
    add_calls(runtime, add_run(runtime, owner), [{}, {"status": "error"}, *ago])
    add_calls(runtime, add_run(runtime, owner, kind="copy"), [{}, {}])
    add_calls(runtime, add_run(runtime, other), [{"name": "get_weather"}])
    calculator = {"name": "calculator", "calls": 2, "errors": 1}
    text_tool = {"name": "text_process", "errors": 0}
    assert stats.runs(runtime, owner, "daily")["tools"] == [calculator]
    assert stats.runs(runtime, owner, "weekly")["tools"] == [calculator, {**text_tool, "calls": 2}]
    assert stats.runs(runtime, owner, "monthly")["tools"] == [{**text_tool, "calls": 3}, calculator]


def test_the_queue_tells_how_long_the_first_run_has_waited(runtime: Runtime, owner: str, other: str) -> None:
    assert stats.queue(runtime)["oldest_seconds"] is None
    add_run(runtime, owner, status="queued")
    add_run(runtime, other, status="queued", created_at=utc_now() - HOUR)
    add_run(runtime, other, status="running")
    found = stats.queue(runtime)
    assert (found["waiting"], found["running"]) == (2, 1)
    assert found["oldest_seconds"] >= 3600
    assert found["workers"] >= 1
