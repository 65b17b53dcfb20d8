"""The numbers for Prometheus are in its format, and count what happened."""

import re
from collections.abc import Sequence

from backend.agent.types import Event, RunRecord, Usage
from backend.app import Instance, create_app
from backend.ids import iso_now
from backend.meters import SECONDS, Meters
from backend.models import Run
from backend.services import metrics
from backend.stores.sql import RunPlace, SqlRunStore

LINE = re.compile(
    r'(# (HELP|TYPE) nanoclaw_\w+ .+|nanoclaw_\w+(\{\w+="([^"\\\n]|\\.)*"(,\w+="([^"\\\n]|\\.)*")*\})? [0-9.e+-]+)'
)


def nobody(events: Sequence[Event]) -> None:
    """No viewer."""


def test_a_run_is_counted(instance: Instance, owner: str) -> None:
    runtime = instance.runtime
    with runtime.db.write() as session:
        session.add(Run(id="r", kind="task", status="running", owner_id=owner, lease_epoch=1))
    store = SqlRunStore(runtime.db, instance.writer, RunPlace("r", 1, None))
    call = {"id": "c", "function": {"name": 'odd"name', "arguments": "{}"}, "status": "success"}
    store.record([], [Event("tool_call.finished", {"call": call})], nobody)
    end = RunRecord("r", status="completed", usage=Usage(5, 7), finished_at=iso_now())
    store.record([end], [Event("run.finished", {"status": "completed", "stop_reason": "completed"})], nobody)
    lines = metrics.text(runtime).splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert 'nanoclaw_tool_calls_total{tool="odd\\"name",outcome="success"} 1' in lines
    assert 'nanoclaw_runs_ended_total{status="completed",reason="completed"} 1' in lines
    assert 'nanoclaw_runs{kind="task",status="completed"} 1' in lines
    assert 'nanoclaw_tokens_total{kind="completion"} 7' in lines
    assert "nanoclaw_event_lag_seconds_count 2" in lines
    assert "nanoclaw_commits_total 2" in lines


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
