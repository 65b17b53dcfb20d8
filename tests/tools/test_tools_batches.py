"""Batches: what runs side by side, what waits, what runs once, and in which order all is told."""

import json
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cancel import CancelToken
from backend.tools import ToolExecutor, ToolRegistry
from backend.tools.factory import define

WAIT = 5.0


def data(call: dict[str, Any]) -> Any:
    return json.loads(call["result"])["data"]


def meet(barrier: threading.Barrier) -> Any:
    """Work that ends only when others do it at the same time."""
    return lambda arguments: barrier.wait(WAIT)


def test_nb_con_01_safe_calls_overlap_and_an_unsafe_one_waits(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    b_done = threading.Event()
    tools.add("a", lambda _: b_done.wait(WAIT), read_only=True)
    tools.add("b", lambda _: b_done.set(), read_only=True)
    tools.add("w")
    tools.add("c", read_only=True)
    calls = executor.process_tool_calls_parallel([ask("a"), ask("b"), ask("w"), ask("c")])
    assert all(call["success"] for call in calls)
    assert data(calls[0]) is True  # a saw b end while it ran
    log = tools.log
    assert log.index(("w", "start")) > max(log.index(("a", "end")), log.index(("b", "end")))
    assert log.index(("c", "start")) > log.index(("w", "end"))


def test_nb_con_02_results_follow_the_order_asked(executor: ToolExecutor, tools: Any, ask: Any, watch: Any) -> None:
    b_done = threading.Event()
    tools.add("a", lambda _: b_done.wait(WAIT) and "a", read_only=True)
    tools.add("b", lambda _: b_done.set() or "b", read_only=True)
    tools.add("w", lambda _: "w")
    calls = executor.process_tool_calls_parallel([ask("a", "1"), ask("b", "2"), ask("w", "3")], watcher=watch)
    assert [call["id"] for call in calls] == ["1", "2", "3"]
    assert [data(call) for call in calls] == ["a", "b", "w"]
    finished = [told[0]["id"] for kind, told in watch.told if kind == "finished"]
    assert finished == ["2", "1", "3"]  # told as each ends


def test_nb_con_03_a_read_only_tool_may_be_exclusive(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    for name, safe in (("a", True), ("x", False), ("b", True)):
        tools.add(name, read_only=True, concurrency_safe=safe)
    executor.process_tool_calls_parallel([ask("a"), ask("x"), ask("b")])
    assert [name for name, what in tools.log if what == "start"] == ["a", "x", "b"]
    assert [what for _, what in tools.log] == ["start", "end"] * 3


@pytest.mark.parametrize("method", ["one_worker", "sequential"])
def test_nb_con_04_without_parallelism_one_follows_the_other(
    executor: ToolExecutor, tools: Any, ask: Any, method: str
) -> None:
    tools.add("a", read_only=True)
    requests = [ask("a", n=number) for number in range(4)]
    if method == "sequential":
        executor.process_tool_calls(requests)
    else:
        executor.process_tool_calls_parallel(requests, max_workers=1)
    assert [what for _, what in tools.log] == ["start", "end"] * 4


def test_nb_con_05_one_of_a_batch_fails(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    def boom(arguments: dict[str, Any]) -> None:
        raise ValueError("middle")

    tools.add("a", read_only=True)
    tools.add("boom", boom, read_only=True)
    calls = executor.process_tool_calls_parallel([ask("a", n=1), ask("boom"), ask("a", n=2)])
    assert [call["status"] for call in calls] == ["success", "error", "success"]


def test_nb_con_06_an_unknown_tool_in_the_middle(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("a", read_only=True)
    tools.add("b", read_only=True)
    calls = executor.process_tool_calls_parallel([ask("a"), ask("nope"), ask("b")])
    assert [call["status"] for call in calls] == ["success", "error", "success"]
    assert (tools.count("a"), tools.count("b")) == (1, 1)


def test_sixteen_calls_run_at_once_with_the_defaults(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("meet", meet(threading.Barrier(16)), read_only=True)
    calls = executor.process_tool_calls_parallel([ask("meet", n=number) for number in range(16)])
    assert all(call["success"] for call in calls)


def test_no_more_than_max_workers_run_at_once(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    running, most, lock = [0], [0], threading.Lock()
    pair = threading.Barrier(2)

    def work(arguments: dict[str, Any]) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        pair.wait(WAIT)
        with lock:
            running[0] -= 1

    tools.add("work", work, read_only=True)
    executor.process_tool_calls_parallel([ask("work", n=number) for number in range(8)], max_workers=2)
    assert most[0] == 2


def test_a_twin_in_the_batch_runs_once_and_is_answered_with_the_same_value(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    tools.add("dice", lambda _: {"n": tools.count("dice")}, read_only=True, cacheable=False)
    requests = [ask("dice", "a", x=1, y=2), ask("dice", "b", y=2, x=1), ask("dice", "c", x=2)]
    calls = executor.process_tool_calls_parallel(requests)
    assert tools.count("dice") == 2
    assert calls[0]["result"] == calls[1]["result"]
    assert [call["skipped"] for call in calls] == [False, True, False]
    assert calls[1]["duplicate_of"] == "a"
    assert calls[1]["id"] == "b"


def test_a_writing_twin_is_not_run_again_and_says_so(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("append")
    calls = executor.process_tool_calls_parallel([ask("append", "a", line="x"), ask("append", "b", line="x")])
    assert tools.count("append") == 1
    assert calls[1]["skipped"]
    assert "not run a second time" in calls[1]["result"]
    assert data(calls[0]) == data(calls[1])


def test_twins_are_sought_between_barriers_only(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    content = ["old"]
    tools.add("read", lambda _: content[0], read_only=True)
    tools.add("write", lambda a: content.__setitem__(0, a["text"]))
    requests = [ask("read"), ask("write", text="new"), ask("read"), ask("write", text="newer"), ask("read")]
    calls = executor.process_tool_calls_parallel(requests, {"project_id": "p"})
    assert [data(calls[index]) for index in (0, 2, 4)] == ["old", "new", "newer"]
    assert not any(call["skipped"] or call["cached"] for call in calls)


def test_a_write_between_equal_writes_makes_them_different(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    content: list[str] = []
    tools.add("put", lambda a: content.append(a["text"]))
    executor.process_tool_calls_parallel([ask("put", text="a"), ask("put", text="b"), ask("put", text="a")])
    assert content == ["a", "b", "a"]


def test_nb_par_04_and_05_ids_are_unique_in_the_run_and_made_up_where_missing(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    tools.add("a", read_only=True)
    context = {"run_id": "r"}
    first = executor.process_tool_calls_parallel([ask("a", "x", n=1), ask("a", "x", n=2), ask("a", "", n=3)], context)
    second = executor.process_tool_calls([ask("a", "x", n=4)], context)
    other = executor.process_tool_calls([ask("a", "x", n=4)], {"run_id": "other"})
    assert [call["id"] for call in first[:2] + second + other] == ["x", "x_2", "x_3", "x"]
    assert [call["provider_id"] for call in first] == ["x", "x", ""]
    assert first[2]["id"]


def test_ids_of_an_earlier_worker_are_not_used_again(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("a", read_only=True)
    assert executor.process_tool_calls([ask("a", "x")], {"run_id": "r", "used_ids": ["x"]})[0]["id"] == "x_2"


def test_the_watcher_is_told_of_a_group_before_any_of_its_tools_starts(
    executor: ToolExecutor, tools: Any, ask: Any, watch: Any
) -> None:
    seen: list[int] = []
    tools.add("a", lambda _: seen.append(len(watch.told)), read_only=True)
    tools.add("w")
    requests = [ask("a", "1", n=1), ask("a", "2", n=2), ask("nope", "3"), ask("w", "4")]
    executor.process_tool_calls_parallel(requests, {"step": 7}, watcher=watch)
    started = [[call["id"] for call in told] for kind, told in watch.told if kind == "started"]
    assert started == [["1", "2"], ["4"]]
    assert min(seen) >= 1
    first = next(told for kind, told in watch.told if kind == "started")[0]
    assert (first["status"], first["result"], first["step"]) == ("executing", None, 7)
    finished = [told[0]["id"] for kind, told in watch.told if kind == "finished"]
    assert sorted(finished) == ["1", "2", "3", "4"]


def test_what_the_watcher_raises_stops_the_batch(executor: ToolExecutor, tools: Any, ask: Any, watch: Any) -> None:
    def lost(calls: list[Any]) -> None:
        raise RuntimeError("lease lost")

    tools.add("w")
    watch.calls_started = lost
    with pytest.raises(RuntimeError, match="lease lost"):
        executor.process_tool_calls_parallel([ask("w")], watcher=watch)
    assert tools.log == []


def test_a_watcher_that_fails_in_the_middle_stops_what_has_not_begun(
    executor: ToolExecutor, tools: Any, ask: Any, watch: Any
) -> None:
    def lost(call: Any, full: Any) -> None:
        raise RuntimeError("lost")

    tools.add("w")
    watch.call_finished = lost
    with pytest.raises(RuntimeError, match="lost"):
        executor.process_tool_calls_parallel([ask("w", n=1), ask("w", n=2)], watcher=watch)
    assert tools.count("w") == 1


def test_every_field_of_the_contract_is_in_a_call(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("a", lambda _: "x", read_only=True)
    call = executor.process_tool_calls([ask("a", "id")])[0]
    assert set(call) == {
        "id", "type", "function", "result", "success", "skipped", "execution_time", "status", "cached", "duplicate_of",
        "cached_at", "expires_at", "attempts", "degraded", "summary", "queued_ms", "result_truncated", "result_size",
        "provider_id", "step", "started_at", "finished_at",
    }  # fmt: skip
    assert call["result"] == '{"success": true, "data": "x"}'
    assert call["result_size"] == len(call["result"])
    assert call["started_at"] <= call["finished_at"]


def test_inline_tools_run_in_the_caller_s_thread_and_others_do_not(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    tools.add("here", lambda _: threading.get_ident(), read_only=True, inline=True)
    tools.add("there", lambda _: threading.get_ident(), read_only=True)
    calls = executor.process_tool_calls_parallel([ask("there"), ask("here")])
    assert data(calls[0]) != threading.get_ident()
    assert data(calls[1]) == threading.get_ident()


NAMES = ("read", "write", "fail", "nope", "inline")
RAW = ("{}", '{"n": 1}', '{"n": 2}', "[1]", "half {", "", '{"n": NaN}')


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(RAW), st.sampled_from(["", "a", "b"])), max_size=8),
    st.booleans(),
)
def test_every_call_of_a_random_batch_is_answered_once(batch: list[tuple[str, str, str]], cancelled: bool) -> None:
    registry = ToolRegistry()
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    runs: list[str] = []

    def fail(arguments: dict[str, Any]) -> None:
        raise KeyError("x")

    registry.register(define("read", "", schema, lambda a: runs.append("read"), read_only=True))
    registry.register(define("write", "", schema, lambda a: runs.append("write")))
    registry.register(define("fail", "", schema, fail, read_only=True))
    registry.register(define("inline", "", schema, lambda a: a, read_only=True, inline=True))
    token = CancelToken()
    if cancelled:
        token.set()
    requests = [{"id": id_, "function": {"name": name, "arguments": raw}} for name, raw, id_ in batch]
    calls = ToolExecutor(registry).process_tool_calls_parallel(requests, {"run_id": "r", "cancelled": token})
    assert [call["function"]["name"] for call in calls] == [name for name, _, _ in batch]
    assert len({call["id"] for call in calls}) == len(batch)
    for call in calls:
        result = json.loads(call["result"])
        assert result["success"] is call["success"] is (call["status"] == "success")
        assert call["finished_at"]
    if cancelled:
        assert runs == []
