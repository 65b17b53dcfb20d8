"""Injected messages, cancel, observers, storage faults and resume (NB-INJ, NB-HKS, NB-CKP)."""

import json
import threading

import pytest
from agent_kit import asks, call, says

from backend.agent.injection import MAX_DRAINS
from backend.agent.observers import Observers
from backend.agent.types import (
    CallRecord,
    Delta,
    Injection,
    Resume,
    StepRecord,
    Usage,
    WaitingMessage,
)
from backend.errors import LeaseLost, ModelCancelled, StorageError, ToolCancelled


# ---------------------------------------------------------------- INJ
def send(bench, *texts):
    for text in texts:
        bench.store.send_message(WaitingMessage(f"m-{text}", text))


def test_nb_inj_01_a_message_during_tools_is_in_the_next_request_after_all_results(bench):
    bench.tool("t", lambda _: send(bench, "hurry"))
    bench.run(asks(call("t"), text="Looking."), says("done"))
    assert [m["role"] for m in bench.sent()] == ["user", "assistant", "tool", "user"]
    assert bench.sent()[-1]["content"] == "hurry"
    first, injected, second = bench.store.messages.values()
    assert (first.role, first.content, first.parent_id) == ("assistant", "Looking.", "question")
    assert (injected.id, injected.role, injected.parent_id) == ("m-hurry", "user", first.id)
    assert (second.content, second.parent_id) == ("done", "m-hurry")
    assert bench.types().index("message.injected") < bench.types().index("step.started", 3)


def test_nb_inj_02_a_message_as_the_answer_is_ready_keeps_the_answer_and_goes_on(bench):
    def answers(request, on_delta, cancelled):
        send(bench, "and this?")
        return says("first answer")

    outcome = bench.run(answers, says("second answer"))
    assert [m["content"] for m in bench.sent()] == ["What is it?", "first answer", "and this?"]
    assert [m.content for m in bench.store.messages.values()] == ["first answer", "and this?", "second answer"]
    assert outcome.output == "second answer"


def test_nb_inj_03_at_most_three_at_a_time(bench):
    bench.tool("t", lambda a: send(bench, *"12345") if a["n"] == 0 else None)
    bench.run(asks(call("t", {"n": 0})), asks(call("t", {"n": 1})), says("done"))
    assert bench.sent(1)[-1]["content"] == "1\n\n2\n\n3"
    assert bench.sent(2)[-1]["content"] == "4\n\n5"
    assert bench.store.waiting_messages(9) == []


def test_nb_inj_04_at_most_five_rounds_and_the_rest_waits_for_the_next_run(bench):
    numbers = iter(range(100))

    def answers(request, on_delta, cancelled):
        send(bench, f"more {next(numbers)}")
        return says("answer")

    outcome = bench.run(forever=answers)
    assert outcome.status == "completed"
    assert len(bench.model.requests) == 1 + MAX_DRAINS
    assert [m.content for m in bench.store.waiting_messages(9)] == ["more 5"]


def test_nb_inj_05_blank_messages_are_ignored_and_hide_nothing(bench):
    bench.tool("t", lambda _: send(bench, "", " ", "\n", "\u200b", "real"))
    bench.run(asks(call("t")), says("done"))
    assert [m["content"] for m in bench.sent(role="user")] == ["What is it?", "real"]


def test_files_attached_to_an_injected_message_are_named(bench):
    attached = ({"path": "data/a.csv", "name": "a.csv"}, {"name": "b.txt"})
    bench.tool("t", lambda _: bench.store.send_message(WaitingMessage("m", "Use these.", attached)))
    bench.run(asks(call("t")), says("done"))
    assert bench.sent()[-1]["content"] == "Use these.\n\n[Attached project files: data/a.csv, b.txt]"
    assert bench.store.messages["m"].content == "Use these."
    assert bench.store.messages["m"].attachments == list(attached)


def test_a_message_that_the_limit_leaves_no_step_for_stays_waiting(bench):
    def answers(request, on_delta, cancelled):
        send(bench, "late")
        return says("answer")

    assert bench.run(answers, limits={"max_steps": 1}).status == "completed"
    assert [m.content for m in bench.store.waiting_messages(9)] == ["late"]


# ---------------------------------------------------------------- cancel
def test_cancel_during_a_model_call_keeps_the_partial_text(bench):
    def streams(request, on_delta, cancelled):
        on_delta(Delta("text", "half an answer"))
        bench.cancelled.set()
        assert cancelled.is_set()
        return ModelCancelled("cancelled")

    outcome = bench.run(streams)
    assert (outcome.status, outcome.stop_reason, outcome.output) == ("cancelled", "cancelled", "half an answer")
    assert outcome.error is None
    assert bench.answers()[0].content == "half an answer"
    assert bench.types()[-3:] == ["step.finished", "message.completed", "run.finished"]


def test_cancel_during_a_tool_ends_the_run_and_answers_every_call(bench):
    begun = threading.Event()

    def works(arguments):
        begun.set()
        assert arguments["cancelled"].wait(10)
        raise ToolCancelled("stopped")

    bench.tool("works", works, needs=("cancelled",))
    bench.tool("next")
    stopper = threading.Thread(target=lambda: begun.wait(10) and bench.cancelled.set())
    stopper.start()
    outcome = bench.run(asks(call("works", id="a"), call("next", id="b"), text="Working."))
    stopper.join()
    assert (outcome.status, outcome.output) == ("cancelled", "Working.")
    assert {r.call["status"] for r in bench.store.calls.values()} == {"cancelled"}
    assert [name for name, _ in bench.executed] == ["works"]


def test_cancel_before_the_first_step_asks_no_model(bench):
    bench.cancelled.set()
    assert bench.run().status == "cancelled"
    assert bench.types() == ["run.started", "run.finished"]


# ---------------------------------------------------------------- HKS
class Notes:
    def __init__(self):
        self.moments = []
        self.data = []

    def notify(self, moment, data):
        if moment != "model.delta":
            self.moments.append(moment)
        self.data.append((moment, data))


def test_nb_hks_01_the_order_of_moments(bench):
    bench.observer = Notes()
    bench.tool("t")
    bench.run(asks(call("t")), says("done"))
    assert bench.observer.moments == [
        "run.before",
        "step.before", "tools.before", "tool.before", "tool.after", "step.after",
        "step.before", "step.after",
        "run.after", "run.finally",
    ]  # fmt: skip
    assert [d["text"] for m, d in bench.observer.data if m == "model.delta"] == ["done"]


def test_nb_hks_02_an_observer_that_fails_disturbs_nobody(bench, caplog):
    class Broken:
        def notify(self, moment, data):
            raise RuntimeError(moment)

    good = Notes()
    bench.observer = Observers([Broken(), good])
    assert bench.run(says("done")).status == "completed"
    assert good.moments[-1] == "run.finally"
    assert "an observer failed" in caplog.text


def test_nb_hks_03_stop_is_not_an_error(bench):
    bench.observer = Notes()
    bench.cancelled.set()
    bench.run()
    moments = dict(bench.observer.data)
    assert moments["run.after"]["error"] is None
    assert moments["run.finally"]["status"] == "cancelled"


# ---------------------------------------------------------------- storage
class FailingStore:
    """The bench's store, refusing what `refuses(rows, events)` says, with the given error."""

    def __init__(self, store, refuses, error):
        self._store, self._refuses, self._error = store, refuses, error

    def record(self, rows, events, tell, *, wait=True):
        if self._refuses(rows, events):
            raise self._error
        self._store.record(rows, events, tell, wait=wait)

    def __getattr__(self, name):
        return getattr(self._store, name)


def starts_call(rows, events):
    return any(e.type == "tool_call.started" for e in events)


def test_a_lost_lease_stops_the_run_at_once_and_writes_nothing_more(bench):
    bench.tool("t")
    inner = bench.store
    bench.store = FailingStore(inner, starts_call, LeaseLost("taken over"))
    with pytest.raises(LeaseLost):
        bench.run(asks(call("t")), says("never"))
    assert bench.executed == []
    assert bench.types() == ["run.started", "step.started"]
    assert bench.channel.outcomes == []
    assert inner.runs["run"].status == "running"


def test_a_tool_does_not_start_when_its_call_cannot_be_stored(bench):
    bench.tool("t")
    inner = bench.store
    bench.store = FailingStore(inner, starts_call, StorageError("The disk is full."))
    outcome = bench.run(asks(call("t"), text="Trying."))
    assert (outcome.status, outcome.stop_reason) == ("failed", "storage")
    assert bench.executed == []
    assert inner.runs["run"].stop_reason == "storage"
    assert inner.calls["run", "call_1"].call["status"] == "cancelled"
    assert inner.messages[next(iter(inner.messages))].content == "Trying."


def test_when_not_even_the_end_can_be_stored_the_caller_still_learns_why(bench):
    bench.store = FailingStore(bench.store, lambda rows, events: True, StorageError("The disk is full."))
    outcome = bench.run()
    assert (outcome.status, outcome.stop_reason) == ("failed", "storage")
    assert bench.channel.events == []


# ---------------------------------------------------------------- CKP
def stored_call(id, name, status, step=0, position=0, result=None, idempotent=False):
    body = {
        "id": id, "type": "function", "function": {"name": name, "arguments": "{}"}, "status": status,
        "success": True if status == "success" else None, "result": result, "provider_id": id, "step": step,
    }  # fmt: skip
    return CallRecord("run", step, position, body, idempotent)


def test_nb_ckp_01_phases_are_recorded_in_order(bench):
    bench.tool("t")
    bench.run(asks(call("t", id="a"), call("t", {"n": 1}, id="b")), says("done"))
    seen = []
    for rows, _ in bench.store.history:
        calls = tuple(r.call["status"] for r in rows if isinstance(r, CallRecord))
        if calls and calls not in seen:
            seen.append(calls)
    assert seen[0] == ("executing", "pending")
    assert seen[-1] == ("success", "success")
    last_rows, last_events = bench.store.history[-1]
    assert [e.type for e in last_events] == ["step.finished", "message.completed", "run.finished"]
    assert {type(r).__name__ for r in last_rows} == {"StepRecord", "MessageRecord", "RunRecord"}


def interrupted_batch(**fields):
    step = StepRecord("run", 0, text="Both.", model_calls=1, usage=Usage(5, 1))
    done = stored_call("A", "t", "success", result='{"success": true, "data": "from before"}')
    return Resume((step,), (done, stored_call("B", "t", "executing", position=1, **fields)))


def test_nb_ckp_02_a_call_found_executing_is_unknown_and_never_repeated(bench):
    bench.tool("t")
    outcome = bench.run(says("done"), resume=interrupted_batch())
    assert bench.executed == []
    a, b = bench.sent(role="tool")
    assert "from before" in a["content"]
    assert json.loads(bench.store.calls["run", "B"].call["result"])["status"] == "unknown"
    assert "outcome is unknown" in b["content"]
    assert bench.store.calls["run", "B"].call["status"] == "unknown"
    assert bench.events("run.resumed") == [{"run_id": "run", "step": 0}]
    assert bench.shown() == {0: "Both.", 1: "done"}
    assert outcome.step_count == 2
    assert outcome.usage == Usage(5, 1)
    assert "run.started" not in bench.types()
    assert [b["type"] for b in bench.answers()[0].blocks] == ["text", "tool_call", "tool_call", "text"]


def test_a_call_found_executing_is_run_again_if_it_is_idempotent(bench):
    bench.tool("t")
    bench.run(says("done"), resume=interrupted_batch(idempotent=True))
    assert len(bench.executed) == 1
    assert bench.store.calls["run", "B"].call["status"] == "success"


def test_a_call_that_had_not_begun_is_run(bench):
    bench.tool("t")
    resume = Resume((StepRecord("run", 0, model_calls=1),), (stored_call("A", "t", "pending"),))
    bench.run(says("done"), resume=resume)
    assert len(bench.executed) == 1


def test_nb_ckp_03_finished_steps_stay_and_numbers_go_on(bench):
    bench.tool("t")
    first = StepRecord("run", 0, status="completed", text="First.", model_calls=1)
    result = '{"success": true, "data": 1}'
    calls = (stored_call("A", "t", "success", result=result),)
    outcome = bench.run(
        asks(call("t", {"n": 2}, id="A")), says("done"), resume=Resume((first, StepRecord("run", 1)), calls)
    )
    assert [r["content"] for r in bench.sent(0, role="assistant")] == ["First."]
    assert len(bench.sent(0, role="tool")) == 1
    assert [d["step"] for d in bench.events("step.started")] == [1, 2]
    assert set(bench.store.steps) == {("run", 1), ("run", 2)}
    assert ("run", "A_2") in bench.store.calls
    assert outcome.step_count == 3


def test_nb_ckp_04_a_turn_that_was_never_answered_leaves_legal_roles(bench):
    from backend.agent.types import Message

    bench.run(says("done"), transcript=(Message("user", "lost", key="1"), Message("user", "again", key="2")))
    assert [m["role"] for m in bench.sent()] == ["user"]
    assert "lost" in bench.sent()[0]["content"]


def test_messages_that_were_injected_before_a_crash_keep_their_place(bench):
    bench.tool("t")
    done = StepRecord("run", 0, status="completed", text="Looking.", model_calls=1)
    calls = (stored_call("A", "t", "success", result='{"success": true}'),)
    injected = Injection(1, (WaitingMessage("m1", "hurry"),))
    bench.run(says("done"), resume=Resume((done,), calls, injections=(injected,)))
    assert [m["role"] for m in bench.sent()] == ["user", "assistant", "tool", "user"]
    assert bench.answers()[0].parent_id == "m1"
    assert bench.answers()[0].blocks == [{"type": "text", "text": "done"}]


def test_a_step_that_was_under_way_is_seen_to_end_when_the_run_was_cancelled_meanwhile(bench):
    bench.cancelled.set()
    outcome = bench.run(resume=Resume((StepRecord("run", 0, model_calls=1),), ()))
    assert outcome.status == "cancelled"
    assert bench.model.requests == []
    assert [e["step"] for e in bench.events("step.finished")] == [0]
    assert bench.store.steps["run", 0].finished_at


def test_a_run_whose_answer_was_written_but_not_its_end_only_ends(bench):
    done = StepRecord("run", 0, status="completed", text="The answer.", model_calls=1)
    outcome = bench.run(resume=Resume((done,), ()))
    assert (outcome.status, outcome.output) == ("completed", "The answer.")
    assert bench.model.requests == []


def test_a_run_without_a_conversation_writes_no_message(bench):
    assert bench.run(says("done"), kind="task", conversation_id=None).output == "done"
    assert bench.store.messages == {}
    assert "message.completed" not in bench.types()
