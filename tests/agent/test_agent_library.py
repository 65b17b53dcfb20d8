"""The engine as a library: the documented examples, the console, the store and the clock around it."""

import io
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from agent_kit import asks, call, says

from backend.agent.deadlines import call_at
from backend.agent.guardrails import GuardrailConfig, Guardrails
from backend.agent.types import Event
from backend.cancel import CancelToken
from backend.channels.console import ConsoleChannel

ROOT = Path(__file__).parents[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "engine.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_of_the_documentation_run(number, capsys):
    names = {}
    exec(compile(EXAMPLES[number], f"docs/engine.md, example {number}", "exec"), names)
    if number == 0:
        assert names["outcome"].output == "It is cold in Oslo."
        printed = capsys.readouterr().out
        assert "get_weather" in printed
        assert printed.endswith("It is cold in Oslo.\n")


def test_there_are_three_examples():
    assert len(EXAMPLES) == 3


def test_the_engine_is_imported_without_anything_heavy():
    heavy = "flask sqlalchemy requests urllib3 lxml pydantic numpy jinja2 openai"
    program = f"import sys, backend.agent.core; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- console
def shown_on_console(bench, *replies, **spec):
    out = io.StringIO()
    bench.channel = ConsoleChannel(out)
    bench.run(*replies, **spec)
    return out.getvalue()


def test_the_console_shows_text_and_calls(bench):
    bench.tool("t")
    lines = shown_on_console(bench, asks(call("t"), text="Let me look."), says("Found it.")).splitlines()
    assert lines[0] == "Let me look."
    assert lines[1].startswith("[t: ")
    assert lines[2] == "Found it."


def test_the_console_says_why_a_run_did_not_complete(bench):
    assert "[failed: The model gave no answer" in shown_on_console(bench, forever=says(""))
    bench.cancelled.set()
    assert "[cancelled: cancelled]" in shown_on_console(bench)


# ---------------------------------------------------------------- store, channel, clock
def test_events_are_numbered_from_one_without_gaps_for_each_run(bench):
    bench.run(says("one"))
    bench.run(says("two"), run_id="second")
    for run_id in ("run", "second"):
        numbers = [e.seq for e in bench.store.events if e.run_id == run_id]
        assert numbers == list(range(1, len(numbers) + 1))


def test_a_waiting_reader_is_told_of_an_event(bench):
    threading.Thread(target=bench.run, args=(says("done"),)).start()
    event = bench.channel.wait_for(lambda e: e.type == "run.finished")
    assert event.data["status"] == "completed"


def test_a_reader_that_waits_in_vain_is_told_so(bench):
    with pytest.raises(TimeoutError):
        bench.channel.wait_for(lambda e: False, timeout=0.01)
    bench.channel.send_progress([Event("x", {})])
    assert bench.channel.types() == ["x"]


def test_deadlines_call_in_the_order_of_their_moments_and_can_be_forgotten():
    called, all_called = [], threading.Event()
    now = time.monotonic()
    call_at(now + 0.06, lambda: (called.append("late"), all_called.set()))
    forget = call_at(now + 0.02, lambda: called.append("forgotten"))
    call_at(now + 0.03, lambda: called.append("early"))
    forget()
    assert all_called.wait(5)
    assert called == ["early", "late"]


def test_guardrails_check_cancel_first_then_clock_then_failures_then_steps():
    now = [0.0]
    cancelled = CancelToken()
    guard = Guardrails(GuardrailConfig(max_steps=3, run_timeout_seconds=10), cancelled, clock=lambda: now[0])
    assert guard.check_before_step() is None
    for _ in range(3):
        guard.step_done([False, False])
    assert guard.check_before_step().stop_reason == "consecutive_errors"
    guard.failed_steps = 0
    assert guard.check_before_step().stop_reason == "max_steps"
    now[0] = 10.0
    assert guard.check_before_step().stop_reason == "run_timeout"
    cancelled.set()
    assert guard.check_before_step().stop_reason == "cancelled"
    assert guard.token.is_set()
    guard.close()


def test_a_step_without_calls_neither_counts_as_failed_nor_resets():
    guard = Guardrails(GuardrailConfig(), CancelToken())
    guard.step_done([False])
    guard.step_done([])
    assert guard.failed_steps == 1
    guard.step_done([False, True])
    assert guard.failed_steps == 0
    guard.close()


def test_a_warning_comes_when_few_steps_are_left(bench):
    bench.tool("t")
    rounds = [asks(call("t", {"n": n})) for n in range(6)]
    bench.run(*rounds, says("done"), limits={"max_steps": 8})
    assert bench.notices() == ["limit_near"]
    assert "2 steps" in bench.events("run.notice")[0]["detail"]
