"""Whatever a model does, and wherever a run breaks off: it ends with a reason, nothing runs twice, what is shown is stored."""

import itertools
import json
from dataclasses import replace

import pytest
from agent_kit import Workbench, call, problems
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from backend.agent.guardrails import GuardrailConfig
from backend.agent.types import Delta, Message, ModelReply, RunSpec, Usage, WaitingMessage
from backend.cancel import CancelToken
from backend.errors import ContextTooLong, LeaseLost, ModelCancelled, ModelError
from backend.tools.executor import ToolExecutor

SEED = 20260131
LIMITS = GuardrailConfig(max_steps=6)
OPEN = {"pending", "executing", "waiting_approval"}

texts = st.sampled_from(["", " \n", "Some text. ", "天気。", "a\x00b\ud800"])
calls = st.lists(
    st.builds(
        call,
        st.sampled_from(["read", "write", "fails", "unknown", "", "raises"]),
        st.sampled_from([{}, {"n": 1}, '{"n": ', "[1]"]),
        id=st.sampled_from(["a", "a", "b", ""]),
        error=st.sampled_from([None, None, None, "cut off"]),
    ),
    max_size=4,
).map(tuple)
replies = st.builds(
    ModelReply,
    texts,
    st.sampled_from(["", "Hm."]),
    calls,
    st.sampled_from(["stop", "stop", "tool_calls", "length", "content_filter", "error"]),
    st.builds(Usage, st.integers(0, 50), st.integers(0, 50)),
)
busy = st.builds(
    lambda text, reasoning, own, usage: ModelReply(text, reasoning, own, "tool_calls", usage),
    texts,
    st.sampled_from(["", "Hm."]),
    st.lists(
        st.builds(
            call,
            st.sampled_from(["read", "write", "write", "fails"]),
            st.builds(dict, n=st.integers(0, 9)),
            id=st.sampled_from("abc"),
        ),
        min_size=1,
        max_size=4,
    ).map(tuple),
    st.builds(Usage, st.integers(0, 50), st.integers(0, 50)),
)
odd = st.one_of(
    replies,
    replies,
    st.builds(ModelError, st.just("It broke."), partial_text=texts),
    st.builds(ContextTooLong, st.just("Too long.")),
    st.just("cancel"),
    st.just("recall"),
)
with_message = st.builds(lambda reply: ("message", reply), st.one_of(busy, replies))
moves = st.one_of(busy, busy, busy, busy, busy, with_message, odd)


class Play:
    """A model that makes the moves of a script, then answers; it checks every request."""

    def __init__(self, bench, script):
        self.bench, self.script, self.asked = bench, list(script), 0

    def chat(self, request, on_delta, cancelled):
        self.asked += 1
        assert self.asked < 200, "the engine asks for ever"
        assert problems(request) == []
        move = self.script.pop(0) if self.script else ModelReply("The end.")
        if isinstance(move, Exception):
            on_delta(Delta("text", getattr(move, "partial_text", "")))
            raise move
        if move == "cancel":
            on_delta(Delta("text", "Half"))
            self.bench.cancelled.set()
            raise ModelCancelled("Cancelled.")
        if move == "recall":
            on_delta(Delta("text", "Thought"))
            on_delta(Delta("notice", "That was reasoning.", "text_was_reasoning"))
            return ModelReply("Said.", reasoning="Thought")
        if isinstance(move, tuple):
            self.bench.store.send_message(WaitingMessage(f"m{self.asked}", f"More {self.asked}"))
            move = move[1]
        for piece in move.text[:3], move.text[3:]:
            on_delta(Delta("text", piece))
        return move


class CrashingStore:
    """The bench's store; the write of that number never comes back, with or without having been stored."""

    def __init__(self, store, at, stored):
        self._store, self._at, self._stored = store, at, stored
        self._numbers = itertools.count()
        self.crashed = False

    def record(self, rows, events, tell, *, wait=True):
        if not self.crashed and next(self._numbers) == self._at:
            if self._stored:
                self._store.record(rows, events, tell, wait=wait)
            self.crashed = True
        if self.crashed:
            raise LeaseLost("The process is gone.")
        self._store.record(rows, events, tell, wait=wait)

    def __getattr__(self, name):
        return getattr(self._store, name)


def workbench():
    bench = Workbench()
    bench.tool("read", read_only=True)
    bench.tool("write")
    bench.tool("fails", lambda _: {"success": False, "error": "no"})
    bench.tool("raises", lambda _: 1 / 0)
    return bench


SPEC = RunSpec(
    "run",
    "chat",
    (Message("user", "Do it.", key="question"),),
    "You help.",
    "m",
    tools=("read", "write", "fails", "raises"),
    limits=LIMITS,
    conversation_id="c",
    parent_message_id="question",
)


def engine(bench, store, model):
    from backend.agent.core import AgentCore

    return AgentCore(model, ToolExecutor(bench.registry), store, bench.channel)


def check_end(bench, outcome):
    types = [e.type for e in bench.store.events]
    assert types.count("run.finished") == 1
    assert types[-1] == "run.finished"
    assert [e.seq for e in bench.store.events] == list(range(1, len(types) + 1))
    finished = bench.store.events[-1].data
    stored = bench.store.runs["run"]
    assert (finished["status"], finished["stop_reason"]) == (outcome.status, outcome.stop_reason)
    assert (stored.status, stored.stop_reason) == (outcome.status, outcome.stop_reason)
    assert (outcome.error is not None) == (outcome.status in ("failed", "timeout"))
    if outcome.error:
        assert outcome.error["code"]
        assert outcome.error["message"]
    if outcome.status == "completed":
        assert outcome.output.strip()
    assert bench.store.runs["run"].step_count == len(bench.store.steps) == outcome.step_count


def check_what_is_shown_is_stored(bench):
    shown, reasoned = bench.shown(), bench.shown("reasoning")
    for (_, index), step in bench.store.steps.items():
        assert step.status in ("completed", "failed")
        assert shown.get(index, "") == step.text
        assert reasoned.get(index, "") == step.reasoning
        step.text.encode("utf-8")
    assert sum((s.usage for s in bench.store.steps.values()), Usage()) == bench.store.runs["run"].usage


def check_messages(bench):
    parents = {m.id: m.parent_id for m in bench.store.messages.values()}
    assert all(p in parents or p == "question" for p in parents.values())
    assert len(set(parents.values())) == len(parents), "the messages of a run are one line"
    listed = [b["call_id"] for m in bench.store.messages.values() for b in m.blocks if b["type"] == "tool_call"]
    assert sorted(listed) == sorted(id for _, id in bench.store.calls)
    for message in bench.store.messages.values():
        assert message.blocks or message.error or message.role == "user"


def check_calls(bench):
    for record in bench.store.calls.values():
        assert record.call["status"] not in OPEN
        assert record.call["success"] in (True, False)
        json.dumps(record.call, ensure_ascii=False).encode("utf-8")
    finished = [e.data["call"]["id"] for e in bench.store.events if e.type == "tool_call.finished"]
    assert set(finished) <= {id for _, id in bench.store.calls}


def check_all(bench, outcome):
    check_end(bench, outcome)
    check_what_is_shown_is_stored(bench)
    check_messages(bench)
    check_calls(bench)


def play(script):
    bench = workbench()
    outcome = engine(bench, bench.store, Play(bench, script)).run(SPEC, bench.cancelled)
    check_all(bench, outcome)
    done = [r.call["function"]["name"] for r in bench.store.calls.values() if r.call["attempts"]]
    assert sorted(done) == sorted(name for name, _ in bench.executed)


def play_with_crash(script, at, stored):
    bench = workbench()
    model = Play(bench, script)
    broken = CrashingStore(bench.store, at, stored)
    try:
        outcome = engine(bench, broken, model).run(SPEC, bench.cancelled)
    except LeaseLost:
        written = bench.store.runs.get("run")
        if written is not None and written.status != "running":
            return  # only the answer to the last write was lost
        parents = [m.id for m in bench.store.messages.values() if m.role == "user"]
        resumed = replace(SPEC, resume=bench.store.resume("run"), parent_message_id=([*["question"], *parents])[-1])
        bench.cancelled = CancelToken()
        outcome = engine(bench, bench.store, model).run(resumed, bench.cancelled)
    check_all(bench, outcome)
    writes = sum(name == "write" for name, _ in bench.executed)
    stored_writes = [r.call for r in bench.store.calls.values() if r.call["function"]["name"] == "write"]
    assert writes <= len(stored_writes), "a writing call ran twice"
    assert all(c["status"] == "unknown" or c["success"] is not None for c in stored_writes)


def quietly(examples):
    return settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))


scripts = st.lists(moves, max_size=8)


@seed(SEED)
@quietly(300)
@given(scripts)
def test_whatever_a_model_does_the_run_ends_with_a_reason_and_all_is_in_order(script):
    play(script)


@seed(SEED)
@quietly(300)
@given(scripts, st.integers(0, 40), st.booleans())
def test_wherever_a_run_breaks_off_it_is_taken_up_and_no_write_runs_twice(script, at, stored):
    play_with_crash(script, at, stored)


@pytest.mark.full
@pytest.mark.timeout(1_200)
@seed(SEED)
@quietly(10_000)
@given(scripts, st.integers(0, 40), st.booleans())
def test_ten_thousand_crashes(script, at, stored):
    play(script)
    play_with_crash(script, at, stored)
