"""Cache, history and single flight: never a stale, foreign or failed answer."""

import json
import threading
from typing import Any

import pytest

from backend.cancel import CancelToken
from backend.errors import FetchRetryable
from backend.tools import ExecutorSettings, RetryPolicy, ToolExecutor, ToolRegistry
from backend.tools.cache import Entry, Generations, ResultCache
from backend.tools.plans import Plans
from backend.tools.results import Outcome

WAIT = 5.0
P = {"project_id": "p", "user_id": "u"}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer", "default": 1}, "m": {"type": "integer"}}}


class Clock:
    """Monotonic seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def entry(text: str, scope: Any = "s") -> Entry:
    """A success that stays fresh."""
    outcome = Outcome("success", text, size=len(text))
    return Entry(outcome, scope, generation=0, size=len(text), expires=1e18, lifetime=60, stored_at=0, call_id="id")


def run(executor: ToolExecutor, call: Any, context: Any = None) -> dict[str, Any]:
    return executor.process_tool_calls([call], context)[0]


def test_an_equal_call_is_answered_from_the_cache_and_says_how_old(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    tools.add("look", read_only=True, parameters=NUMBER)
    first, second = run(executor, ask("look", n=1, m=2)), run(executor, ask("look", m="2"))
    assert tools.count("look") == 1
    assert (first["cached"], second["cached"]) == (False, True)
    assert second["result"] == first["result"]
    assert second["cached_at"] < second["expires_at"]
    assert (first["cached_at"], second["attempts"]) == (None, 0)


@pytest.mark.parametrize("other", [{"project_id": "q", "user_id": "u"}, {"project_id": "p", "user_id": "v"}, None])
def test_results_never_cross_projects_or_users(executor: ToolExecutor, tools: Any, ask: Any, other: Any) -> None:
    tools.add("look", read_only=True)
    run(executor, ask("look"), P)
    assert not run(executor, ask("look"), other)["cached"]
    assert run(executor, ask("look"), P)["cached"]


def test_a_pure_tool_is_cached_for_all(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("sum", pure=True)
    tools.add("write")
    run(executor, ask("sum"), P)
    run(executor, ask("write"), P)
    assert run(executor, ask("sum"), {"project_id": "q", "user_id": "v"})["cached"]


def test_what_is_injected_is_part_of_the_key(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("look", lambda a: a["model"], read_only=True, needs=("model",))
    assert "one" in run(executor, ask("look"), {**P, "model": "one"})["result"]
    assert "two" in run(executor, ask("look"), {**P, "model": "two"})["result"]


def test_a_write_drops_the_project_s_entries_and_no_other_s(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("look", read_only=True)
    tools.add("write")
    other = {"project_id": "q", "user_id": "u"}
    run(executor, ask("look"), P)
    run(executor, ask("look"), other)
    run(executor, ask("write"), {**P, "user_id": "v"})  # another member of the same project
    assert not run(executor, ask("look"), P)["cached"]
    assert run(executor, ask("look"), other)["cached"]


def test_a_failed_write_drops_them_too(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    def half(arguments: dict[str, Any]) -> None:
        raise OSError("disk full")

    tools.add("look", read_only=True)
    tools.add("write", half)
    run(executor, ask("look"), P)
    run(executor, ask("write"), P)
    assert not run(executor, ask("look"), P)["cached"]


def test_what_was_read_while_a_write_went_on_is_not_kept(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    reading, written = threading.Event(), threading.Event()

    def slow(arguments: dict[str, Any]) -> str:
        reading.set()
        written.wait(WAIT)
        return "old"

    tools.add("look", slow, read_only=True)
    tools.add("write")
    reader = threading.Thread(target=lambda: run(executor, ask("look"), P))
    reader.start()
    reading.wait(WAIT)
    run(executor, ask("write"), P)
    written.set()
    reader.join()
    assert not run(executor, ask("look"), P)["cached"]


def test_a_change_outside_the_tools_can_be_told(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("look", read_only=True)
    run(executor, ask("look"), P)
    executor.project_written("p")
    assert not run(executor, ask("look"), P)["cached"]


@pytest.mark.parametrize("name", ["file_read", "execute_python", "multi_agent"])
def test_reads_of_files_and_dice_are_always_fresh(executor: ToolExecutor, tools: Any, ask: Any, name: str) -> None:
    tools.add(name, read_only=True, cacheable=True, needs=())
    context = {**P, "conversation_id": "c"}
    run(executor, ask(name), context)
    assert not run(executor, ask(name), context)["cached"]
    assert tools.count(name) == 2


def test_errors_are_never_cached(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    answers = iter([{"success": False, "error": "not yet"}, {"success": True, "data": 1}])
    tools.add("look", lambda _: next(answers), read_only=True)
    assert run(executor, ask("look"))["status"] == "error"
    assert run(executor, ask("look"))["status"] == "success"


def test_the_cache_can_be_switched_off(registry: ToolRegistry, tools: Any, ask: Any) -> None:
    executor = ToolExecutor(registry, enable_cache=False)
    tools.add("look", read_only=True)
    run(executor, ask("look"), P)
    assert not run(executor, ask("look"), P)["cached"]


def test_results_expire_after_the_executor_s_time_or_the_tool_s_own(
    registry: ToolRegistry, tools: Any, ask: Any
) -> None:
    clock = Clock()
    executor = ToolExecutor(registry, cache_ttl=100, settings=ExecutorSettings(clock=clock))
    tools.add("long", read_only=True)
    tools.add("short", read_only=True, cache_ttl=10)
    for name in ("long", "short"):
        run(executor, ask(name))
    clock.now += 50
    assert run(executor, ask("long"))["cached"]
    assert not run(executor, ask("short"))["cached"]
    clock.now += 51
    assert not run(executor, ask("long"))["cached"]


def test_a_caller_may_ask_for_a_fresh_result(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("look", read_only=True)
    run(executor, ask("look"))
    assert not run(executor, ask("look"), {"fresh": True})["cached"]


def test_a_changed_tool_does_not_answer_with_its_predecessor_s_results(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    tools.add("look", lambda _: "old", read_only=True)
    run(executor, ask("look"))
    tools.add("look", lambda _: "new", read_only=True)
    assert "new" in run(executor, ask("look"))["result"]


def test_history_answers_within_a_conversation_and_names_the_earlier_call(
    registry: ToolRegistry, tools: Any, ask: Any
) -> None:
    executor = ToolExecutor(registry, enable_cache=False)
    tools.add("look", read_only=True)
    here, there = {**P, "conversation_id": "c"}, {**P, "conversation_id": "d"}
    run(executor, ask("look", "first"), here)
    again = run(executor, ask("look", "second"), here)
    assert (again["cached"], again["duplicate_of"]) == (True, "first")
    assert not run(executor, ask("look"), there)["cached"]
    executor.clear_history()
    assert not run(executor, ask("look"), here)["cached"]


def test_history_ends_with_a_write_and_is_only_for_tools_that_may_be_cached(
    registry: ToolRegistry, tools: Any, ask: Any
) -> None:
    executor = ToolExecutor(registry, enable_cache=False)
    here = {**P, "conversation_id": "c"}
    tools.add("look", read_only=True)
    tools.add("dice", read_only=True, cacheable=False)
    tools.add("write")
    for name in ("look", "dice", "write", "look", "dice", "write"):
        run(executor, ask(name), here)
    assert [tools.count(name) for name in ("look", "dice", "write")] == [2, 2, 2]


def test_history_can_be_switched_off(registry: ToolRegistry, tools: Any, ask: Any) -> None:
    executor = ToolExecutor(registry, enable_cache=False, dedup_history=False)
    tools.add("look", read_only=True)
    for _ in range(2):
        assert not run(executor, ask("look"), {"conversation_id": "c"})["cached"]


def test_equal_calls_at_the_same_time_run_once(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    started, release, results = threading.Event(), threading.Event(), []
    tools.add("slow", lambda _: (started.set(), release.wait(WAIT)) and "done", read_only=True)
    threads = [threading.Thread(target=lambda: results.append(run(executor, ask("slow"), P))) for _ in range(32)]
    for thread in threads:
        thread.start()
    started.wait(WAIT)
    release.set()
    for thread in threads:
        thread.join()
    assert tools.count("slow") == 1
    assert len(results) == 32
    assert {call["result"] for call in results} == {'{"success": true, "data": "done"}'}
    assert sum(not call["cached"] for call in results) == 1


def test_a_leader_that_is_cancelled_does_not_take_the_others_with_it(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    token, started, follower = CancelToken(), threading.Event(), []

    def work(arguments: dict[str, Any]) -> str:
        if tools.count("slow") == 1:
            started.set()
            arguments["stop"].wait(WAIT)
            raise RuntimeError("stopped")
        return "second"

    tools.add("slow", work, read_only=True, needs={"cancelled": "stop"})
    leader = threading.Thread(target=lambda: run(executor, ask("slow"), {**P, "cancelled": token}))
    leader.start()
    started.wait(WAIT)
    other = threading.Thread(target=lambda: follower.append(run(executor, ask("slow"), P)))
    other.start()
    token.set()
    leader.join()
    other.join()
    assert "second" in follower[0]["result"]


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("moment", ["calls_started", "notice", "call_finished"])
def test_a_watcher_that_fails_leaves_nobody_waiting(
    quick: ToolExecutor, tools: Any, ask: Any, watch: Any, moment: str, inline: bool
) -> None:
    def lost(*_: Any) -> None:
        raise RuntimeError("lost")

    def work(arguments: dict[str, Any]) -> str:
        if tools.count("look") == 1:
            raise FetchRetryable("503")
        return "fine"

    tools.add("look", work, read_only=True, inline=inline, retry=RetryPolicy(1, 0.0), timeout=WAIT)
    setattr(watch, moment, lost)
    with pytest.raises(RuntimeError, match="lost"):
        quick.process_tool_calls([ask("look")], P, watcher=watch)
    assert run(quick, ask("look"), P)["status"] == "success"


def test_the_cache_is_bounded_by_count_and_bytes() -> None:
    cache = ResultCache(Generations(), max_entries=3, max_bytes=10_000, clock=Clock())
    for number in range(5):
        cache.put(number, entry("x" * 100))
    assert len(cache) == 3
    assert cache.get(0) is None
    assert cache.get(4) is not None
    cache.put("big", entry("x" * 9000))
    assert cache.size <= 10_000
    cache.put("too big", entry("x" * 20_000))
    assert cache.get("too big") is None
    assert cache.get("big") is not None
    cache.clear()
    assert (len(cache), cache.size) == (0, 0)


def test_many_threads_may_use_the_cache_at_once() -> None:
    cache = ResultCache(Generations(), max_entries=50)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for number in range(2000):
                key = (seed * 31 + number) % 80
                cache.put(key, entry(str(key), key % 3))
                found = cache.get(key)
                assert found is None or found.outcome.text == str(key)
                if number % 200 == 0:
                    cache.drop_scope(key % 3)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(cache) <= 50


def test_long_arguments_are_told_apart_and_their_keys_stay_short(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("look", lambda a: a["text"][-1], pure=True)
    for last in "abab":
        call = run(executor, ask("look", text="x" * 100_000 + last))
        assert json.loads(call["result"])["data"] == last
    assert tools.count("look") == 2
    plan = Plans(tools.registry).get("look")
    assert plan is not None
    assert len(plan.key({"text": "x" * 100_000}, {}, None)[1]) < 100


def test_the_canonical_key_tells_one_from_true_and_text(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("look", lambda a: json.dumps(a["v"]), read_only=True)
    for value in (1, True, "1", [1], None):
        assert json.dumps(value) in json.loads(run(executor, ask("look", v=value))["result"])["data"]
    assert tools.count("look") == 5
