"""Tools and calls as odd as they come: arguments in every shape, results that cannot be shown, files that cannot be loaded."""

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from backend.cancel import CancelToken
from backend.tools import ToolExecutor, init_tools
from backend.tools.factory import define

CASES = json.loads((Path(__file__).parent / "cases" / "argument_cases.json").read_text(encoding="utf-8"))
WAIT = 5.0


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class Broken(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")


class Unusual(BaseException):
    """Neither an error nor a signal."""


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: ascii(case["raw"])[:60])
def test_arguments_arrive_as_they_were_meant_or_are_refused(
    case: Any, executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    tools.add("take", lambda arguments: arguments, parameters=CASES["parameters"], read_only=True)
    request = {"id": "a", "function": {"name": "take", "arguments": case["raw"]}}
    result = json.loads(executor.process_tool_calls([request])[0]["result"])
    if "data" in case:
        assert json.dumps(result["data"], sort_keys=True) == json.dumps(case["data"], sort_keys=True)
    else:
        assert result["code"] == "invalid_arguments"
        assert case["problem"] in result["error"]
        assert tools.count("take") == 0


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("value", [Mute(), [Mute()], {"a": Mute()}, {(1, 2): Mute()}, Broken(a=Mute())], ids=range(5))
def test_a_result_that_cannot_be_shown_stays_with_its_tool(
    executor: ToolExecutor, tools: Any, ask: Any, value: Any, inline: bool
) -> None:
    tools.add("odd", lambda _: value, read_only=True, inline=inline)
    tools.add("fine", lambda _: 1, read_only=True)
    odd, fine = executor.process_tool_calls_parallel([ask("odd"), ask("fine")])
    assert fine["success"]
    assert json.loads(odd["result"])["success"] is odd["success"]


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize(
    "fault", [MuteError(), Unusual("x"), GeneratorExit(), asyncio.CancelledError(), StopIteration(), RecursionError()]
)
def test_whatever_a_tool_raises_is_its_own_failure(
    executor: ToolExecutor, tools: Any, ask: Any, fault: BaseException, inline: bool
) -> None:
    def work(arguments: dict[str, Any]) -> None:
        raise fault

    tools.add("bad", work, read_only=True, inline=inline)
    call = executor.process_tool_calls_parallel([ask("bad")])[0]
    assert json.loads(call["result"])["error"].startswith(type(fault).__name__)


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("signal", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_signals_pass(executor: ToolExecutor, tools: Any, ask: Any, signal: BaseException, inline: bool) -> None:
    def work(arguments: dict[str, Any]) -> None:
        raise signal

    tools.add("end", work, read_only=True, inline=inline)
    with pytest.raises(type(signal)):
        executor.process_tool_calls_parallel([ask("end")])


def test_five_hundred_calls_are_answered_in_order(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("echo", lambda a: a["n"], read_only=True)
    tools.add("put", lambda a: a["n"])
    names = ["put" if number % 50 == 7 else "echo" for number in range(500)]
    calls = executor.process_tool_calls_parallel([ask(name, str(n), n=n) for n, name in enumerate(names)])
    assert [json.loads(call["result"])["data"] for call in calls] == list(range(500))
    assert len({call["id"] for call in calls}) == 500
    assert (tools.count("put"), tools.count("echo")) == (10, 490)


def test_equal_calls_on_both_sides_of_a_write_are_run_anew(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    state = {"value": 0}
    tools.add("read", lambda _: state["value"], read_only=True, needs=["project_id"])
    tools.add("write", lambda a: state.update(value=a["v"]), needs=["project_id"])
    requests = [ask("read"), ask("read"), ask("write", v=1), ask("read"), ask("write", v=2), ask("read"), ask("read")]
    calls = executor.process_tool_calls_parallel(requests, {"project_id": "p", "conversation_id": "c", "run_id": "r"})
    assert [json.loads(call["result"])["data"] for call in calls] == [0, 0, None, 1, None, 2, 2]
    assert [call["skipped"] for call in calls] == [False, True, False, False, False, False, True]
    assert tools.count("read") == 3


def test_a_run_that_is_cancelled_answers_every_call(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    token, release = CancelToken(), threading.Event()
    tools.add("stop", lambda _: token.set(), read_only=True)
    tools.add("hang", lambda _: release.wait(WAIT), read_only=True)
    tools.add("write")
    requests = [ask("hang", n=1), ask("stop"), ask("hang", n=2), ask("write"), ask("hang", n=3)]
    calls = executor.process_tool_calls_parallel(requests, {"cancelled": token})
    release.set()
    assert [calls[number]["status"] for number in (0, 2, 3, 4)] == ["cancelled"] * 4
    assert tools.count("write") == 0


def test_a_large_result_is_shown_in_part_and_kept_whole(
    executor: ToolExecutor, tools: Any, ask: Any, watch: Any
) -> None:
    tools.add("much", lambda _: "港" * 17_000_000, read_only=True)
    call = executor.process_tool_calls_parallel([ask("much")], watcher=watch)[0]
    whole = next(told[1] for kind, told in watch.told if kind == "finished")
    assert len(call["result"]) <= 16_000
    assert len(whole.encode()) > 50_000_000
    json.loads(call["result"])


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"timeout": 0}, "timeout"), ({"timeout": -1}, "timeout"), ({"timeout": "60"}, "timeout"), ({"timeout": float("inf")}, "timeout"),
        ({"risk": "extreme"}, "risk"), ({"on_failure": "SKIP"}, "on_failure"), ({"retry": 3}, "retry"), ({"needs": "project_id"}, "needs"),
        ({"parameters": {"type": "array"}}, "parameters"), ({"nonsense": 1}, "nonsense"),
    ],
)  # fmt: skip
def test_a_field_that_cannot_be_is_told_at_loading(options: dict[str, Any], part: str) -> None:
    parameters = options.pop("parameters", None)
    with pytest.raises((TypeError, ValueError), match=part):
        define("t", "d", parameters, lambda arguments: None, **options)


def test_only_plain_functions_are_tools() -> None:
    async def later(arguments: dict[str, Any]) -> None: ...

    def some(arguments: dict[str, Any]) -> Any:
        yield 1

    for handler in (later, some, 5):
        with pytest.raises(TypeError):
            define("t", "d", None, handler)  # type: ignore[arg-type]


GOOD = 'from backend.tools import tool\n\n\n@tool(name="good", description="d")\ndef good(arguments):\n    return 1\n'
BAD_FILES = {
    "secret.py": 'API_KEY = "hunter2-hunter2"\nraise RuntimeError("cannot use " + API_KEY)\n',
    "mute.py": "class E(Exception):\n    def __str__(self):\n        raise ValueError('x')\nraise E\n",
    "unusual.py": "class K(BaseException): pass\nraise K('x')\n",
    "nul.py": "a = 1\0\n",
    "deep.py": "def f(): f()\nf()\n",
    "quits.py": "import sys\nsys.exit(1)\n",
    "eternal.py": 'from backend.tools import tool\n@tool(name="e", description="d", timeout=-1)\ndef e(a): ...\n',
}


def test_files_broken_in_any_way_leave_the_others_alone(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir(mode=0o755)
    for name, text in {"good.py": GOOD, **BAD_FILES}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)
    os.mkfifo(folder / "pipe.py", 0o644)
    (folder / "dir.py").mkdir(mode=0o755)
    (folder / "gone.py").symlink_to(tmp_path / "nothing")
    report = init_tools(folder)
    try:
        assert report.files["good"] == "good.py"
        assert {error.file for error in report.errors} == {*BAD_FILES, "pipe.py", "dir.py", "gone.py"}
        secret = next(error for error in report.errors if error.file == "secret.py")
        assert secret.line == 2
        assert "hunter2" not in secret.error
    finally:
        init_tools()
