"""Errors, boundaries, time limits, cancellation, retries, degradation, repetition: what the model is told."""

import json
import threading
import time
from typing import Any

import pytest

from backend.agent.guardrails import GuardrailConfig
from backend.cancel import CancelToken
from backend.errors import FetchRetryable, SsrfViolation, ToolError, WorkspaceViolation
from backend.tools import (
    ALTERNATIVE_TOOL,
    CACHED_RESULT,
    RETRY_ONLY,
    SKIP,
    ExecutorSettings,
    RetryPolicy,
    ToolExecutor,
    ToolRegistry,
    ToolResult,
)
from backend.tools.pool import WorkerPool

WAIT = 5.0
RUN = {"run_id": "r", "conversation_id": None}


def raising(error: BaseException) -> Any:
    def work(arguments: dict[str, Any]) -> None:
        raise error

    return work


def result_of(executor: ToolExecutor, call: Any, context: Any = None) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(executor.process_tool_calls([call], context)[0]["result"])
    return result


def test_nb_err_01_what_a_tool_raises_is_told_with_type_and_message(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    tools.add("boom", raising(ValueError("bad")))
    call = executor.process_tool_calls([ask("boom")])[0]
    assert (call["status"], call["success"]) == ("error", False)
    assert json.loads(call["result"]) == {
        "success": False, "tool": "boom", "status": "error", "code": "tool_failed", "error": "ValueError: bad",
        "retryable": False, "suggestion": json.loads(call["result"])["suggestion"],
    }  # fmt: skip


def test_nb_err_02_a_tool_reports_a_failure_without_raising(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("a", lambda _: {"success": False, "error": "no luck"})
    tools.add("b", lambda _: ToolResult.fail("no luck", code="x", suggestion="try c"))
    for name in ("a", "b"):
        call = executor.process_tool_calls([ask(name)])[0]
        assert (call["status"], call["success"], call["summary"]) == ("error", False, "no luck")
        told = json.loads(call["result"])
        assert told["error"] == "no luck"
        assert {"tool", "status", "code", "retryable", "suggestion"} <= told.keys()


def test_nb_err_03_a_success_that_begins_with_error_is_a_success(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("report", lambda _: "Error: report generated")
    assert executor.process_tool_calls([ask("report")])[0]["status"] == "success"


def test_nb_err_04_a_private_address_is_told_as_a_final_boundary(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("fetch", raising(SsrfViolation("169.254.169.254 is not public.", suggestion="try again")), read_only=True)
    told = result_of(executor, ask("fetch"))
    assert (told["code"], told["retryable"]) == ("address_refused", False)
    assert "cannot be crossed" in told["suggestion"]


def test_nb_err_05_the_third_try_outside_the_workspace_is_told_more_strongly(
    executor: ToolExecutor, tools: Any, ask: Any, watch: Any
) -> None:
    for name in ("file_read", "file_write", "file_list"):
        tools.add(
            name,
            lambda a: raising(WorkspaceViolation("Path is outside project directory", target=a["path"]))(a),
            needs=(),
        )
    told = []
    for name, path in (("file_read", "../secret"), ("file_write", "./../secret"), ("file_list", "../x/../secret")):
        call = executor.process_tool_calls([ask(name, path=path)], RUN, watcher=watch)[0]
        told.append(json.loads(call["result"]))
    assert [result["code"] for result in told] == ["outside_workspace"] * 3
    assert "ask" not in told[1]["suggestion"]
    assert "secret" in told[2]["suggestion"]
    assert "3 times" in told[2]["suggestion"]
    assert "ask" in told[2]["suggestion"]
    assert watch.notices() == ["repeated_violation"]


def test_nb_err_06_another_outside_path_has_its_own_count(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("peek", lambda a: raising(WorkspaceViolation("Path is outside", target=a["path"]))(a))
    suggestions = [
        result_of(executor, ask("peek", path=p, n=n), RUN)["suggestion"] for n, p in enumerate(["/a", "/a", "/b"])
    ]
    assert len(set(suggestions)) == 1


@pytest.mark.parametrize("signal", [KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("inline", [True, False])
def test_nb_err_07_signals_are_not_tool_errors(
    executor: ToolExecutor, tools: Any, ask: Any, signal: BaseException, inline: bool
) -> None:
    tools.add("quit", raising(signal), inline=inline)
    with pytest.raises(type(signal)):
        executor.process_tool_calls_parallel([ask("quit")])


def test_nb_err_08_the_same_call_is_told_the_third_time_and_refused_the_fourth(
    executor: ToolExecutor, tools: Any, ask: Any, watch: Any
) -> None:
    tools.add("fetch", read_only=True)
    tools.add("other", read_only=True)
    calls = []
    for _ in range(4):
        calls += executor.process_tool_calls([ask("fetch", url="u")], RUN, watcher=watch)
        executor.process_tool_calls([ask("other", n=len(calls))], RUN)
    assert [call["status"] for call in calls] == ["success"] * 3 + ["error"]
    assert calls[1]["cached"]
    assert "notice" not in json.loads(calls[1]["result"])
    assert "third time" in json.loads(calls[2]["result"])["notice"][0]
    assert json.loads(calls[3]["result"])["code"] == "repeated_call"
    assert tools.count("fetch") == 1
    assert watch.notices() == ["repeated_call", "repeated_call"]


def test_a_write_starts_the_count_of_equal_calls_anew(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("read", read_only=True, cacheable=False)
    tools.add("write")
    for number in range(5):
        assert result_of(executor, ask("read"), RUN) == {"success": True, "data": {"tool": "read"}}
        executor.process_tool_calls([ask("write", n=number)], RUN)


def test_the_same_write_again_and_again_is_refused_too(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("write")
    statuses = [executor.process_tool_calls([ask("write")], RUN)[0]["status"] for _ in range(4)]
    assert statuses == ["success"] * 3 + ["error"]
    assert tools.count("write") == 3


def test_what_changes_in_the_context_does_not_hide_a_repetition(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("spawn", needs=("limits", "project_id"))
    statuses = []
    for seconds in (300.0, 200.0, 100.0, 50.0):
        context = {**RUN, "limits": GuardrailConfig(run_timeout_seconds=seconds)}
        statuses.append(executor.process_tool_calls([ask("spawn")], context)[0]["status"])
    assert statuses == ["success"] * 3 + ["error"]


def test_another_run_has_its_own_counts(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("read", read_only=True)
    for run_id in ("one", "two", "three", "four", "five"):
        assert "notice" not in result_of(executor, ask("read"), {"run_id": run_id})


def test_nb_err_11_paths_of_the_server_are_not_told(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("open", raising(FileNotFoundError(2, "No such file or directory", "/srv/secret/place/a.txt")))
    tools.add("text", raising(ValueError("cannot read /srv/secret/place/a.txt, see https://example.org/a/b")))
    assert result_of(executor, ask("open"))["error"] == "FileNotFoundError: No such file or directory: a.txt"
    told = result_of(executor, ask("text"))["error"]
    assert "secret" not in told
    assert "https://example.org/a/b" in told


# ---------------------------------------------------------------- time
def test_nb_tmo_01_a_tool_over_its_time_is_answered_and_the_batch_goes_on(
    registry: ToolRegistry, tools: Any, ask: Any
) -> None:
    pool, release = WorkerPool(), threading.Event()
    executor = ToolExecutor(registry, settings=ExecutorSettings(pool=pool))
    tools.add("hang", lambda _: release.wait(WAIT), read_only=True, timeout=0.3)
    tools.add("next", read_only=True)
    calls = executor.process_tool_calls([ask("hang"), ask("next")])
    assert [call["status"] for call in calls] == ["timeout", "success"]
    told = json.loads(calls[0]["result"])
    assert (told["code"], told["retryable"]) == ("timeout", True)
    assert "0.3 s" in told["error"]
    assert pool.abandoned == 1
    release.set()
    end = time.monotonic() + WAIT
    while pool.abandoned and time.monotonic() < end:
        release.wait(0.01)
        time.sleep(0.001)
    assert pool.abandoned == 0


def test_a_thread_that_hangs_is_replaced(registry: ToolRegistry, tools: Any, ask: Any) -> None:
    pool, release = WorkerPool(max_threads=2), threading.Event()
    executor = ToolExecutor(registry, settings=ExecutorSettings(pool=pool))
    tools.add("hang", lambda _: release.wait(WAIT), read_only=True, timeout=0.3, cacheable=False)
    tools.add("ok", read_only=True)
    for number in range(3):  # more than the pool has threads
        executor.process_tool_calls([ask("hang", n=number)])
    assert executor.abandoned_threads >= 1
    assert executor.process_tool_calls([ask("ok")])[0]["success"]
    release.set()


def test_a_write_over_its_time_says_that_it_may_still_take_effect(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    release, looked = threading.Event(), []
    tools.add("write", lambda _: release.wait(WAIT), timeout=0.3)
    tools.add("look", lambda _: looked.append(1), read_only=True)
    told = result_of(executor, ask("write"), {"project_id": "p"})
    assert told["retryable"] is False
    assert "may still take effect" in told["suggestion"]
    release.set()


def test_a_tool_that_can_be_interrupted_is_at_its_limit(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    stopped = threading.Event()
    tools.add("fetch", lambda a: a["cancelled"].wait(WAIT) and stopped.set(), needs=("cancelled",), timeout=0.3)
    assert result_of(executor, ask("fetch"))["status"] == "timeout"
    assert stopped.wait(WAIT)


def test_a_cancelled_run_starts_nothing(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    token = CancelToken()
    token.set()
    tools.add("a", read_only=True)
    tools.add("here", read_only=True, inline=True)
    calls = executor.process_tool_calls_parallel([ask("a"), ask("here"), ask("nope")], {"cancelled": token})
    assert [call["status"] for call in calls] == ["cancelled", "cancelled", "error"]
    assert tools.log == []


@pytest.mark.parametrize("signal", [CancelToken, threading.Event])
def test_cancel_reaches_what_can_be_interrupted_and_gives_up_the_rest(
    executor: ToolExecutor, tools: Any, ask: Any, signal: Any
) -> None:
    token, both, release = signal(), threading.Barrier(3), threading.Event()
    tools.add(
        "fetch",
        lambda a: (both.wait(WAIT), a["cancelled"].wait(WAIT), "partial")[2],
        read_only=True,
        needs=("cancelled",),
    )
    tools.add("stuck", lambda _: (both.wait(WAIT), release.wait(WAIT)), read_only=True)
    tools.add("later")
    found: list[Any] = []
    requests = [ask("fetch"), ask("stuck"), ask("later")]
    thread = threading.Thread(
        target=lambda: found.extend(executor.process_tool_calls_parallel(requests, {"cancelled": token}))
    )
    thread.start()
    both.wait(WAIT)
    token.set()
    thread.join(WAIT)
    release.set()
    assert [call["status"] for call in found] == ["success", "cancelled", "cancelled"]
    assert "given up" in found[1]["result"]
    assert tools.count("later") == 0


# ---------------------------------------------------------------- retry and degradation
def flaky(failures: int) -> Any:
    left = [failures]

    def work(arguments: dict[str, Any]) -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise FetchRetryable("503")
        return "fine"

    return work


FAST = RetryPolicy(max_retries=2, base_delay=0.0)


def test_a_retryable_error_of_an_idempotent_tool_is_tried_again(
    quick: ToolExecutor, tools: Any, ask: Any, watch: Any
) -> None:
    tools.add("fetch", flaky(2), read_only=True, retry=FAST)
    call = quick.process_tool_calls([ask("fetch")], watcher=watch)[0]
    assert (call["status"], call["attempts"]) == ("success", 3)
    assert watch.notices() == ["tool_retry", "tool_retry"]


@pytest.mark.parametrize(
    ("options", "error", "limit"),
    [
        ({"retry": FAST}, FetchRetryable("503"), 2),  # not idempotent
        ({"retry": FAST, "read_only": True}, ToolError("no"), 2),  # not retryable
        ({"read_only": True}, FetchRetryable("503"), 2),  # no policy
        ({"retry": FAST, "read_only": True}, FetchRetryable("503"), 0),  # the run allows none
    ],
)
def test_nothing_else_is_tried_again(
    quick: ToolExecutor, tools: Any, ask: Any, options: Any, error: Exception, limit: int
) -> None:
    tools.add("t", raising(error), **options)
    limits = GuardrailConfig(max_retries_per_tool=limit)
    call = quick.process_tool_calls([ask("t")], {"limits": limits})[0]
    assert (call["attempts"], tools.count("t")) == (1, 1)


def test_waits_grow_by_two_with_jitter(registry: ToolRegistry, tools: Any, ask: Any, watch: Any) -> None:
    executor = ToolExecutor(registry, settings=ExecutorSettings(jitter=lambda: 0.01))
    tools.add("fetch", raising(FetchRetryable("503")), read_only=True, retry=RetryPolicy(2, 0.04))
    executor.process_tool_calls([ask("fetch")], watcher=watch)
    waits = [data[1] for kind, data in watch.told if kind == "notice"]
    assert ["in 0.1 s" in wait or "in 0.0 s" in wait for wait in waits] == [True, True]


def test_a_cancelled_run_does_not_wait_for_a_retry(registry: ToolRegistry, tools: Any, ask: Any) -> None:
    executor = ToolExecutor(registry, settings=ExecutorSettings(jitter=lambda: 60.0))
    token = CancelToken()
    tools.add("fetch", raising(FetchRetryable("503")), read_only=True, retry=FAST)

    class Stop:
        def calls_started(self, calls: Any) -> None: ...
        def call_finished(self, call: Any, full: Any) -> None: ...
        def notice(self, code: str, detail: str) -> None:
            token.set()

    call = executor.process_tool_calls([ask("fetch")], {"cancelled": token}, watcher=Stop())[0]
    assert call["status"] == "cancelled"


def test_retry_only_uses_the_usual_policy_and_says_how_many(quick: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("fetch", flaky(1), read_only=True, on_failure=RETRY_ONLY, retry=FAST)
    call = quick.process_tool_calls([ask("fetch")])[0]
    assert (call["status"], call["degraded"], call["attempts"]) == ("success", "RETRY_ONLY", 2)
    assert "2 attempts" in call["result"]


def test_skip_goes_on_without_the_result_and_says_why(quick: ToolExecutor, tools: Any, ask: Any, watch: Any) -> None:
    tools.add("extra", raising(ToolError("service is down")), on_failure=SKIP)
    call = quick.process_tool_calls([ask("extra")], watcher=watch)[0]
    assert (call["status"], call["degraded"]) == ("success", "SKIP")
    told = json.loads(call["result"])
    assert told["data"] is None
    assert "service is down" in told["notice"][0]
    assert watch.notices() == ["degraded"]


def test_an_earlier_result_stands_in_and_its_age_is_said(
    registry: ToolRegistry, tools: Any, ask: Any, watch: Any
) -> None:
    now = [0.0]
    executor = ToolExecutor(registry, cache_ttl=10, settings=ExecutorSettings(clock=lambda: now[0]))
    answers: list[Any] = ["yesterday's", None]
    tools.add("rate", lambda _: answers[0] or raising(ToolError("down"))({}), read_only=True, on_failure=CACHED_RESULT)
    executor.process_tool_calls([ask("rate")])
    answers[0] = None
    now[0] = 1000.0
    call = executor.process_tool_calls([ask("rate")], watcher=watch)[0]
    assert (call["status"], call["degraded"], call["cached"]) == ("success", "CACHED_RESULT", True)
    assert call["cached_at"] in call["result"]
    assert "down" in call["result"]
    assert executor.process_tool_calls([ask("rate", other=1)])[0]["status"] == "error"


def test_another_tool_is_asked_with_the_same_arguments(quick: ToolExecutor, tools: Any, ask: Any, watch: Any) -> None:
    tools.add("first", raising(ToolError("down")), read_only=True, on_failure=ALTERNATIVE_TOOL("second"))
    tools.add("second", lambda a: f"second {a['q']}", read_only=True)
    call = quick.process_tool_calls([ask("first", q="x")], watcher=watch)[0]
    assert (call["status"], call["degraded"]) == ("success", "ALTERNATIVE_TOOL")
    assert call["function"]["name"] == "first"
    assert json.loads(call["result"])["data"] == "second x"
    assert "'second' was asked instead" in call["result"]
    again = quick.process_tool_calls([ask("first", q="x")])[0]
    assert not again["cached"]  # a stand-in is not kept as the tool's own


def test_inline_tools_are_retried_and_replaced_like_others(quick: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add(
        "first",
        raising(FetchRetryable("down")),
        pure=True,
        inline=True,
        retry=FAST,
        on_failure=ALTERNATIVE_TOOL("second"),
    )
    tools.add("second", lambda a: "second", pure=True, inline=True)
    call = quick.process_tool_calls([ask("first")])[0]
    assert (call["status"], call["degraded"], tools.count("first")) == ("success", "ALTERNATIVE_TOOL", 3)


@pytest.mark.parametrize("policy", [{"second": "deny"}, {"second": "ask"}])
def test_the_alternative_is_bound_by_policy_too(quick: ToolExecutor, tools: Any, ask: Any, policy: Any) -> None:
    tools.add("first", raising(ToolError("down")), read_only=True, on_failure=ALTERNATIVE_TOOL("second"))
    tools.add("second", read_only=True)
    call = quick.process_tool_calls([ask("first")], {"policy": policy})[0]
    assert call["status"] == "error"
    assert tools.count("second") == 0


def test_alternatives_that_fail_in_a_ring_end(quick: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("a", raising(ToolError("a down")), read_only=True, on_failure=ALTERNATIVE_TOOL("b"))
    tools.add("b", raising(ToolError("b down")), read_only=True, on_failure=ALTERNATIVE_TOOL("a"))
    call = quick.process_tool_calls([ask("a")])[0]
    assert call["status"] == "error"
    assert (tools.count("a"), tools.count("b")) == (1, 1)


def test_a_boundary_is_never_degraded_away(quick: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("fetch", raising(SsrfViolation("no")), read_only=True, on_failure=SKIP)
    assert quick.process_tool_calls([ask("fetch")])[0]["status"] == "error"


# ---------------------------------------------------------------- who may
@pytest.mark.parametrize(
    ("options", "context", "status"),
    [
        ({"read_only": True}, {"policy": {}}, "success"),
        ({}, {"policy": {}}, "success"),
        ({"risk": "high"}, {"policy": {}}, "permission_denied"),
        ({"risk": "high"}, {}, "success"),  # a person decided
        ({"risk": "high"}, {"policy": {"t": "allow"}}, "success"),
        ({"read_only": True}, {"policy": {"t": "deny"}}, "permission_denied"),
        ({"read_only": True}, {"policy": {"t": "ask"}}, "permission_denied"),
        ({}, {"tools": ["t"]}, "success"),
        ({}, {"tools": []}, "permission_denied"),
        ({"egress": True}, {"scopes": ["project"]}, "permission_denied"),
        ({"egress": True}, {"scopes": ["network"]}, "success"),
        ({"needs": ("project_id",)}, {"scopes": []}, "permission_denied"),
        ({"unavailable": lambda: "no kernel walls here"}, {}, "error"),
        ({"unavailable": lambda: None}, {}, "success"),
        ({"unavailable": lambda: 1 / 0}, {}, "error"),
    ],
)
def test_policy_scopes_and_availability(
    executor: ToolExecutor, tools: Any, ask: Any, options: Any, context: Any, status: str
) -> None:
    tools.add("t", **options)
    call = executor.process_tool_calls([ask("t")], context)[0]
    assert call["status"] == status
    assert tools.count("t") == (status == "success")


def test_ask_explains_that_approval_cannot_be_given_yet(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("t", risk="high")
    assert "approval" in result_of(executor, ask("t"), {"policy": {}})["error"]


def test_unknown_tools_are_answered_with_the_names_granted_only(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("seen")
    tools.add("hidden")
    told = result_of(executor, ask("nope"), {"tools": ["seen"]})
    assert "seen" in told["error"]
    assert "hidden" not in told["error"]
