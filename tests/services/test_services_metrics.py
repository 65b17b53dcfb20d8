"""The numbers for Prometheus are in its format, and count what happened."""

import re
from collections.abc import Sequence

from backend.agent.types import Event, RunRecord, Usage
from backend.app import Instance, create_app
from backend.ids import iso_now
from backend.meters import SECONDS, Meters
from backend.models import Run
from backend.services import manual, metrics
from backend.stores.sql import RunPlace, SqlRunStore

SAMPLE = re.compile(r'(nanoclaw_[a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?[0-9.]+(?:e[+-][0-9]+)?)')
FAMILY = re.compile(r"# (HELP|TYPE) (nanoclaw_[a-z_]+) (.+)")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


def parsed(text: str) -> dict[str, float]:
    """Every series and its value. Strict: help, then type, then the family's samples, each series once."""
    series: dict[str, float] = {}
    family = kind = ""
    assert text.endswith("\n")
    for line in text.splitlines():
        if head := FAMILY.fullmatch(line):
            if head[1] == "HELP":
                family, kind = head[2], ""
                assert not any(name.split("{")[0] == family for name in series), f"{family} comes twice"
            else:
                assert (head[2], kind) == (family, "")
                kind = head[3]
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert sample[1] in {family + suffix for suffix in SUFFIXES[kind]}, line
        assert kind != "counter" or family.endswith("_total")
        name = line.rpartition(" ")[0]
        assert name not in series, line
        series[name] = float(sample[3])
    return series


def nobody(events: Sequence[Event]) -> None:
    """No viewer."""


def test_a_run_is_counted(instance: Instance, owner: str) -> None:
    runtime = instance.runtime
    with runtime.db.write() as session:
        session.add(Run(id="r", kind="task", status="running", owner_id=owner, lease_epoch=1))
    store = SqlRunStore(runtime.db, instance.writer, RunPlace("r", 1, None))
    for name in ("calculator", 'made"up', "made-up-again"):
        call = {"id": name, "function": {"name": name, "arguments": "{}"}, "status": "success"}
        store.record([], [Event("tool_call.finished", {"call": call})], nobody)
    going = parsed(metrics.text(runtime))
    assert going['nanoclaw_runs{kind="task",status="running"}'] == 1
    end = RunRecord("r", status="completed", usage=Usage(5, 7), finished_at=iso_now())
    store.record([end], [Event("run.finished", {"status": "completed", "stop_reason": "completed"})], nobody)
    series = parsed(metrics.text(runtime))
    assert series['nanoclaw_tool_calls_total{tool="calculator",outcome="success"}'] == 1
    assert series['nanoclaw_tool_calls_total{tool="other",outcome="success"}'] == 2
    assert series['nanoclaw_runs_ended_total{status="completed",reason="completed"}'] == 1
    assert [name for name in series if name.startswith("nanoclaw_runs{")] == []
    assert series['nanoclaw_tokens_total{kind="completion"}'] == 7
    assert series["nanoclaw_event_lag_seconds_count"] == 4
    assert series["nanoclaw_commits_total"] == 4
    for name in ("queue_waiting", "queue_running", "tool_threads_abandoned", "viewers", "fallback_records"):
        assert f"nanoclaw_{name}" in series


def test_a_hand_run_is_counted(instance: Instance, owner: str) -> None:
    manual.execute(instance.runtime, owner, manual.HandRun("calculator", {"expression": "1/0"}))
    series = parsed(metrics.text(instance.runtime))
    assert series['nanoclaw_tool_calls_total{tool="calculator",outcome="error"}'] == 1
    assert series['nanoclaw_runs_ended_total{status="failed",reason="error"}'] == 1
    assert series["nanoclaw_steps_total"] == 1


def test_a_histogram_adds_up(instance: Instance) -> None:
    meters = instance.runtime.meters
    for seconds in (0.0, SECONDS[0], SECONDS[-1], 99.0):
        meters.time("event_lag", seconds)
    lines = metrics.text(instance.runtime).splitlines()
    assert 'nanoclaw_event_lag_seconds_bucket{le="0.001"} 2' in lines
    assert 'nanoclaw_event_lag_seconds_bucket{le="10.0"} 3' in lines
    assert 'nanoclaw_event_lag_seconds_bucket{le="+Inf"} 4' in lines


def test_every_meter_has_a_help_text() -> None:
    assert Meters().counts() == {}
    assert all(text.endswith(".") for text in metrics.HELP.values())


def test_only_for_the_signed_in(instance: Instance) -> None:
    app = create_app(instance)
    assert app.test_client().get("/metrics", base_url="http://127.0.0.1:8000").status_code == 401
