"""Batches, errors of tools and what they mean for the run (NB-CON, NB-ERR, NB-TMO, NB-PER as far as the engine)."""

import json
import threading
import time

import pytest
from agent_kit import asks, call, says

from backend.errors import FileMissing, SsrfViolation, ToolCancelled, WorkspaceViolation
from backend.tools.executor import ExecutorSettings, ToolExecutor

SAFE = {"read_only": True}
READ_ONLY_ALONE = {"read_only": True, "concurrency_safe": False}


class Diary:
    """When each tool began and ended, in one order."""

    def __init__(self):
        self.lines = []
        self._lock = threading.Lock()

    def tool(self, bench, name, waits_for=None, **options):
        begun = threading.Event()

        def handler(_):
            with self._lock:
                self.lines.append(f"+{name}")
            begun.set()
            if waits_for is not None:
                assert waits_for.wait(5)
            with self._lock:
                self.lines.append(f"-{name}")

        bench.tool(name, handler, **options)
        return begun

    def at(self, line):
        return self.lines.index(line)


def ask_all(*names):
    return asks(*(call(name, id=name) for name in names))


def test_nb_con_01_and_nb_con_02_safe_calls_overlap_an_unsafe_one_is_a_barrier_and_results_keep_their_order(bench):
    diary = Diary()
    b_begun = diary.tool(bench, "b", **SAFE)
    diary.tool(bench, "a", waits_for=b_begun, **SAFE)
    diary.tool(bench, "w")
    diary.tool(bench, "c", **SAFE)
    bench.run(ask_all("a", "b", "w", "c"), says("done"))
    assert max(diary.at("+a"), diary.at("+b")) < diary.at("-a")
    assert diary.lines[4:] == ["+w", "-w", "+c", "-c"]
    assert [m["tool_call_id"] for m in bench.sent(role="tool")] == ["a", "b", "w", "c"]
    assert [b["call_id"] for b in bench.answers()[0].blocks if b["type"] == "tool_call"] == ["a", "b", "w", "c"]


def test_nb_con_03_a_read_only_tool_that_wants_to_be_alone_is(bench):
    diary = Diary()
    diary.tool(bench, "a", **SAFE)
    diary.tool(bench, "x", **READ_ONLY_ALONE)
    diary.tool(bench, "b", **SAFE)
    bench.run(ask_all("a", "x", "b"), says("done"))
    assert diary.lines == ["+a", "-a", "+x", "-x", "+b", "-b"]


def test_nb_con_04_without_parallelism_calls_run_one_after_the_other(bench):
    class OneByOne(ToolExecutor):
        def process_tool_calls_parallel(self, tool_calls, context=None, max_workers=1, *, watcher=None):
            return self.process_tool_calls(tool_calls, context, watcher=watcher)

    diary = Diary()
    diary.tool(bench, "a", **SAFE)
    diary.tool(bench, "b", **SAFE)
    bench.run(ask_all("a", "b"), says("done"), executor=OneByOne(bench.registry))
    assert diary.lines == ["+a", "-a", "+b", "-b"]


def raises(error):
    def handler(_):
        raise error

    return handler


def test_nb_con_05_one_of_a_batch_fails_and_the_others_finish(bench):
    bench.tool("a", **SAFE)
    bench.tool("bad", raises(ValueError("no")), **SAFE)
    bench.tool("b", **SAFE)
    assert bench.run(ask_all("a", "bad", "b"), says("done")).status == "completed"
    assert [r.call["status"] for r in bench.store.calls.values()] == ["success", "error", "success"]
    assert len(bench.sent(role="tool")) == 3


def test_nb_con_06_an_unknown_tool_in_the_middle_is_answered(bench):
    bench.tool("a", **SAFE)
    bench.tool("b", **SAFE)
    bench.run(ask_all("a", "nope", "b"), says("done"))
    assert sorted(name for name, _ in bench.executed) == ["a", "b"]
    assert [m["tool_call_id"] for m in bench.sent(role="tool")] == ["a", "nope", "b"]
    assert json.loads(bench.store.calls["run", "nope"].call["result"])["code"] == "unknown_tool"


def test_every_call_is_stored_as_executing_before_its_tool_starts(bench):
    seen = {}

    def look(arguments):
        seen.update({key[1]: r.call["status"] for key, r in bench.store.calls.items()})

    bench.tool("w", look)
    bench.run(asks(call("w", {"n": 1}, id="first"), call("w", {"n": 2}, id="second")), says("done"))
    assert seen == {"first": "success", "second": "executing"}
    states = [{r.call["id"]: r.call["status"] for r in rows if hasattr(r, "call")} for rows, _ in bench.store.history]
    assert {"first": "executing", "second": "pending"} in states
    assert bench.store.calls["run", "second"].call["status"] == "success"


def test_nothing_is_told_before_it_is_stored(bench):
    stored = []
    told = bench.channel.send_progress

    def check(events):
        for event in events:
            if event.type == "tool_call.finished":
                kept = bench.store.calls["run", event.data["call"]["id"]]
                stored.append(kept.call["status"] == event.data["call"]["status"])
            if event.type == "run.finished":
                stored.append(bench.store.runs["run"].status == event.data["status"])
        told(events)

    bench.channel.send_progress = check
    bench.tool("t")
    bench.run(asks(call("t")), says("done"))
    assert stored == [True, True]


# ---------------------------------------------------------------- ERR
def error_of(bench, call_id="call_1"):
    return json.loads(bench.store.calls["run", call_id].call["result"])


def test_nb_err_01_a_tool_that_raises_is_an_error_with_its_message(bench):
    bench.tool("t", raises(ValueError("bad")))
    assert bench.run(asks(call("t")), says("done")).status == "completed"
    error = error_of(bench)
    assert error["success"] is False
    assert "ValueError" in error["error"]
    assert "bad" in error["error"]
    assert bench.events("tool_call.finished")[0]["call"]["status"] == "error"


def test_nb_err_02_a_failure_without_an_exception_is_an_error_too(bench):
    bench.tool("t", lambda _: {"success": False, "error": "nothing there"})
    bench.run(asks(call("t")), says("done"))
    call_ = bench.store.calls["run", "call_1"].call
    assert (call_["status"], call_["success"]) == ("error", False)
    assert "nothing there" in call_["result"]


def test_nb_err_03_success_that_begins_with_error_is_success(bench):
    bench.tool("t", lambda _: "Error: report generated")
    bench.run(asks(call("t")), says("done"))
    assert bench.store.calls["run", "call_1"].call["success"] is True


def test_nb_err_04_a_private_address_is_a_boundary_and_the_run_goes_on(bench):
    bench.tool("fetch", raises(SsrfViolation("The address is not public.")))
    assert bench.run(asks(call("fetch")), says("done")).status == "completed"
    error = error_of(bench)
    assert error["code"] == "address_refused"
    assert error["retryable"] is False


def test_nb_err_05_the_third_try_outside_the_workspace_gets_a_stronger_text(bench):
    def outside(arguments):
        raise WorkspaceViolation("Path is outside project directory", target=arguments["path"])

    bench.tool("read", outside)
    bench.tool("ok")
    tries = [asks(call("read", {"path": "/etc/passwd", "n": n}), call("ok", {"n": n}, id="ok")) for n in range(3)]
    bench.run(*tries, says("done"))
    texts = [json.dumps(error_of(bench, f"call_1{suffix}")) for suffix in ("", "_2", "_3")]
    assert "/etc/passwd" in texts[2]
    assert len(texts[2]) > len(texts[1]) == len(texts[0])


def test_nb_err_06_another_outside_path_has_its_own_count(bench):
    def outside(arguments):
        raise WorkspaceViolation("Path is outside project directory", target=arguments["path"])

    bench.tool("read", outside)
    bench.tool("ok")
    paths = ["/a", "/a", "/b"]
    bench.run(
        *(asks(call("read", {"path": p, "n": n}), call("ok", {"n": n}, id="ok")) for n, p in enumerate(paths)),
        says("x"),
    )
    texts = [error_of(bench, f"call_1{suffix}")["error"] for suffix in ("", "_2", "_3")]
    assert len(set(map(len, texts))) == 1


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_nb_err_07_signals_are_not_tool_errors(bench, signal):
    bench.tool("t", raises(signal()), inline=True)
    with pytest.raises(signal):
        bench.run(asks(call("t")), says("never"))
    assert len(bench.model.requests) == 1


def test_nb_err_08_the_same_call_again_and_again_is_told_and_then_refused(bench):
    # Ours: the third equal call in a run is told, the fourth refused; equal reads are answered from memory.
    bench.tool("fetch", cacheable=False, read_only=True)
    bench.run(*(asks(call("fetch", {"url": "http://a"})) for _ in range(4)), says("done"))
    calls = [r.call for r in bench.store.calls.values()]
    assert len(bench.executed) == 3
    assert [c["success"] for c in calls] == [True, True, True, False]
    assert "results" in calls[3]["result"] or "result" in calls[3]["result"]


def test_nb_err_10_what_counts_as_done_is_what_succeeded(bench):
    bench.tool("ok")
    bench.tool("bad", raises(FileMissing("No such file.")))
    bench.tool("forbidden")
    bench.run(ask_all("ok", "bad", "forbidden"), says("done"), tools=("ok", "bad"))
    done = [r.call["function"]["name"] for r in bench.store.calls.values() if r.call["success"]]
    assert done == ["ok"]
    assert [name for name, _ in bench.executed] == ["ok", "bad"]


def test_steps_in_which_every_call_failed_end_the_run_after_three(bench):
    bench.tool("bad", raises(ValueError("no")))
    outcome = bench.run(*(asks(call("bad", {"n": n})) for n in range(3)))
    assert (outcome.status, outcome.stop_reason) == ("failed", "consecutive_errors")
    assert outcome.error["message"]
    assert outcome.step_count == 3


def test_any_success_in_a_step_resets_the_count_of_failures(bench):
    bench.tool("bad", raises(ValueError("no")))
    bench.tool("ok")
    bad, good = call("bad", id="bad"), call("ok", id="ok")
    steps = [asks(bad), asks(bad), asks(bad, good), asks(bad), asks(bad), asks(good)]
    numbered = [asks(*(call(c.name, {"n": n}, id=c.id) for c in step.tool_calls)) for n, step in enumerate(steps)]
    assert bench.run(*numbered, says("done")).status == "completed"


# ---------------------------------------------------------------- TMO, PER
def test_nb_tmo_01_a_tool_over_its_time_is_an_error_and_the_run_goes_on(bench):
    release = threading.Event()
    bench.tool("slow", lambda _: release.wait(20), timeout=0.2)
    try:
        assert bench.run(asks(call("slow")), says("done")).status == "completed"
    finally:
        release.set()
    record = bench.store.calls["run", "call_1"].call
    assert record["status"] == "timeout"
    assert "0.2" in record["result"]


def test_nb_tmo_03_a_model_that_hangs_ends_the_run_and_the_conversation_goes_on(bench):
    from backend.errors import ModelTimeout

    def hangs(request, on_delta, cancelled):
        cancelled.wait(request.idle_timeout)
        return ModelTimeout("The model sent nothing for 0.1 s.")

    assert bench.run(hangs, limits={"step_timeout_seconds": 0.1}).error["code"] == "model_timeout"
    assert bench.run(says("here again"), run_id="run2").status == "completed"


def test_the_run_clock_ends_a_model_call_and_keeps_what_was_shown(bench):
    def endless(request, on_delta, cancelled):
        from backend.agent.types import Delta
        from backend.errors import ModelCancelled

        on_delta(Delta("text", "begun"))
        assert cancelled.wait(10)
        return ModelCancelled("stopped")

    outcome = bench.run(endless, limits={"run_timeout_seconds": 0.2})
    assert (outcome.status, outcome.stop_reason, outcome.output) == ("timeout", "run_timeout", "begun")


def test_the_run_clock_ends_a_tool(bench):
    def works(arguments):
        assert arguments["cancelled"].wait(10)
        raise ToolCancelled("stopped")

    bench.tool("works", works, needs=("cancelled",))
    began = time.monotonic()
    outcome = bench.run(asks(call("works")), limits={"run_timeout_seconds": 0.3})
    assert (outcome.status, outcome.stop_reason) == ("timeout", "run_timeout")
    assert time.monotonic() - began < 5
    assert bench.store.calls["run", "call_1"].call["status"] == "cancelled"


def test_time_spent_before_a_crash_counts(bench):
    from backend.agent.types import Resume

    outcome = bench.run(resume=Resume((), (), elapsed_seconds=400))
    assert outcome.stop_reason == "run_timeout"
    assert bench.model.requests == []


def test_a_clock_that_was_moved_before_a_crash_ends_no_run(bench):
    from backend.agent.types import Resume

    outcome = bench.run(says("done"), resume=Resume((), (), elapsed_seconds=86_400))
    assert outcome.stop_reason == "completed"


def test_nb_per_01_a_large_result_goes_to_the_store_whole_and_to_the_model_cut(bench):
    bench.tool("big", lambda _: "x" * 20_000)
    executor = ToolExecutor(bench.registry, settings=ExecutorSettings(result_limit=2_048))
    bench.run(asks(call("big")), says("done"), executor=executor)
    record = bench.store.calls["run", "call_1"]
    assert "x" * 20_000 in record.full_result
    assert len(bench.sent(role="tool")[0]["content"]) < 2_300
    assert record.call["result_truncated"] is True
    assert record.call["result_size"] >= 20_000


def test_nb_err_09_there_is_no_fail_fast_a_failed_call_never_ends_a_run(bench):
    bench.tool("bad", raises(ValueError("no")))
    assert bench.run(asks(call("bad")), says("I could not do it.")).output == "I could not do it."


def test_a_tool_that_was_given_up_adds_nothing_after_the_end(bench):
    begun, release, spoken = threading.Event(), threading.Event(), threading.Event()

    def deaf(arguments):
        begun.set()
        assert release.wait(10)
        arguments["announce"]("child.finished", child_run_id="x", call_id="y")
        spoken.set()

    bench.tool("deaf", deaf, needs=("announce",))
    stopper = threading.Thread(target=lambda: begun.wait(10) and bench.cancelled.set())
    stopper.start()
    outcome = bench.run(asks(call("deaf")))
    stopper.join()
    assert outcome.status == "cancelled"
    assert bench.store.calls["run", "call_1"].call["status"] == "cancelled"
    release.set()
    assert spoken.wait(10)
    assert bench.channel.types()[-1] == "run.finished"
