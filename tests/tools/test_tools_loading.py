"""Loading: built-in tools, files of an instance folder, reloads, and files that break."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from backend.errors import ToolUnavailable
from backend.tools import (
    ToolExecutor,
    ToolRegistry,
    builtin_names,
    get_service,
    init_tools,
    register_service,
    registry,
)
from backend.tools.factory import define
from backend.tools.loader import load_folder

GOOD = """
from backend.tools import tool

@tool(name="{name}", description="d", parameters={{"type": "object", "properties": {{}}}}, read_only=True)
def work(arguments):
    return "{answer}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tools"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture(autouse=True)
def _back_to_builtin() -> Any:
    yield
    init_tools()


def put(folder: Path, name: str, text: str, mode: int = 0o600) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_file_adds_a_tool_that_works(folder: Path) -> None:
    put(folder, "mine.py", GOOD.format(name="mine", answer="hello"))
    report = init_tools(folder)
    assert (report.files, report.errors) == ({"mine": "mine.py"}, [])
    assert registry.execute("mine", {}) == {"success": True, "data": "hello"}


def test_a_reload_swaps_changes_and_drops_what_is_gone(folder: Path) -> None:
    path = put(folder, "mine.py", GOOD.format(name="mine", answer="one"))
    put(folder, "other.py", GOOD.format(name="other", answer="x")).rename(folder / "b.py")
    init_tools(folder)
    before = registry.all()
    path.write_text(GOOD.format(name="mine", answer="two"))
    (folder / "b.py").unlink()
    init_tools(folder)
    assert registry.execute("mine", {})["data"] == "two"
    assert registry.get("other") is None
    assert any(definition.name == "other" for definition in before)  # a list taken earlier stays as it was


def test_tools_registered_by_code_stay() -> None:
    registry.register(define("by_code", "d", None, lambda arguments: 1))
    init_tools()
    assert registry.get("by_code") is not None
    registry.replace_all(d for d in registry.all() if d.name != "by_code")


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("x = 1\ndef (:\n", 2, "SyntaxError"),
        ("\n\nraise RuntimeError('at import')\n", 3, "RuntimeError: at import"),
        ("import no_such_module_here\n", 1, "ModuleNotFoundError"),
        ("def f():\n    return 1 / 0\n\nf()\n", 2, "ZeroDivisionError"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit"),
        ("from backend.tools import tool\n@tool(name='a b', description='d')\ndef f(a): ...\n", 2, "tool name"),
    ],
)
def test_a_broken_file_disables_only_itself_and_tells_its_line(folder: Path, text: str, line: int, part: str) -> None:
    put(folder, "a_bad.py", text)
    put(folder, "good.py", GOOD.format(name="good", answer="fine"))
    report = init_tools(folder)
    assert [(error.file, error.line) for error in report.errors] == [("a_bad.py", line)]
    assert part in report.errors[0].error
    assert str(folder) not in report.errors[0].error
    assert registry.get("good") is not None
    assert "calculator" in registry.names()


def test_the_source_line_of_an_error_is_not_shown(folder: Path) -> None:
    put(folder, "bad.py", "password = 'hunter2' + 1\n")
    error = init_tools(folder).errors[0]
    assert "hunter2" not in error.error


@pytest.mark.parametrize("name", ["calculator", "get_weather"])
def test_a_file_never_takes_a_built_in_s_name(folder: Path, name: str) -> None:
    before = registry.get(name)
    put(folder, "thief.py", GOOD.format(name=name, answer="stolen"))
    report = init_tools(folder)
    assert name in report.errors[0].error
    assert before is not None
    assert registry.get(name) is before
    assert name in builtin_names()


def test_two_files_cannot_have_one_name(folder: Path) -> None:
    put(folder, "a.py", GOOD.format(name="same", answer="a"))
    put(folder, "b.py", GOOD.format(name="same", answer="b"))
    report = init_tools(folder)
    assert [error.file for error in report.errors] == ["b.py"]
    assert registry.execute("same", {})["data"] == "a"


def test_a_wrong_schema_is_told_at_loading(folder: Path) -> None:
    put(folder, "s.py", GOOD.format(name="s", answer="a").replace('"object"', '"objekt"'))
    assert "parameters of 's'" in init_tools(folder).errors[0].error


@pytest.mark.parametrize("mode", [0o666, 0o602, 0o620])
def test_a_file_that_others_can_write_is_refused(folder: Path, mode: int) -> None:
    put(folder, "open.py", GOOD.format(name="open_file", answer="a"), mode)
    report = init_tools(folder)
    assert "chmod" in report.errors[0].error
    assert registry.get("open_file") is None


def test_a_folder_that_others_can_write_is_refused(folder: Path) -> None:
    put(folder, "mine.py", GOOD.format(name="mine", answer="a"))
    folder.chmod(0o777)
    report = init_tools(folder)
    assert [error.file for error in report.errors] == ["tools/"]
    assert registry.get("mine") is None


def test_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    target = put(tmp_path, "elsewhere.py", GOOD.format(name="linked", answer="a"))
    os.symlink(target, folder / "link.py")
    assert "link" in init_tools(folder).errors[0].error


def test_names_with_underscore_and_a_missing_folder_are_left_alone(folder: Path, tmp_path: Path) -> None:
    put(folder, "_helper.py", "raise RuntimeError\n")
    assert load_folder(folder, ()).errors == []
    assert load_folder(tmp_path / "none", ()).definitions == []


def test_the_registry_lists_in_a_stable_order_and_swaps_whole() -> None:
    own = ToolRegistry([define(name, "d", None, lambda arguments: 1) for name in ("b", "a")])
    assert [schema["function"]["name"] for schema in own.list_all()] == ["a", "b"]
    assert own.get_all_schemas() == own.list_all()
    sizes: set[int] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            sizes.add(len(own.list_all()))

    watcher = threading.Thread(target=look)
    watcher.start()
    for _ in range(300):
        own.replace_all([define(f"t{number}", "d", None, lambda arguments: 1) for number in range(4)])
        own.replace_all([define(name, "d", None, lambda arguments: 1) for name in ("a", "b")])
    stop.set()
    watcher.join()
    assert sizes <= {2, 4}


def test_a_service_that_is_not_there_is_told_as_such(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    with pytest.raises(ToolUnavailable):
        get_service("nothing_of_that_name")
    register_service("thing_for_a_test", 5)
    assert get_service("thing_for_a_test") == 5
    tools.add("t", lambda _: get_service("nothing_of_that_name"))
    assert '"code": "tool_unavailable"' in executor.process_tool_calls([ask("t")])[0]["result"]


def test_a_registry_runs_a_tool_without_context() -> None:
    own = ToolRegistry([define("twice", "d", None, lambda arguments: arguments["n"] * 2)])
    assert own.execute("twice", {"n": 4}) == {"success": True, "data": 8}
    assert own.execute("twice", {})["success"] is False
    assert own.execute("nope", {})["code"] == "unknown_tool"
