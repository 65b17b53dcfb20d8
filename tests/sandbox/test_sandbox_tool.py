"""execute_python as a tool: its declaration, its files, its answers."""

import threading
import time
from pathlib import Path

import pytest

from backend import sandbox
from backend.cancel import CancelToken
from backend.errors import FileMissing, InvalidArguments, NoProject, SandboxUnavailable, ToolCancelled
from backend.tools import locator
from backend.tools.builtin.code import execute_python
from backend.workspace import BlobStore, MemoryChangeLog, Workspace


class _Workspaces:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def open(self, project_id: str, **_: object) -> Workspace:
        assert project_id == "p1"
        return self._workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    root = tmp_path / "root"
    root.mkdir()
    made = Workspace("p1", root, MemoryChangeLog(), BlobStore(tmp_path / "blobs"))
    monkeypatch.setitem(locator._services, "workspaces", _Workspaces(made))
    return made


def test_declaration_is_what_the_contract_says() -> None:
    declared = execute_python.definition
    assert (declared.name, declared.risk, declared.read_only) == ("execute_python", "medium", False)
    assert declared.concurrency_safe
    assert declared.idempotent
    assert not declared.cacheable
    assert set(declared.parameters["properties"]) == {"code", "files"}
    assert "cancelled" in dict(declared.needs)
    assert declared.timeout > sandbox.inside.limits.WALL_SECONDS
    assert declared.scopes == frozenset()


def test_runs_code_and_gives_plain_data() -> None:
    data = execute_python({"code": "print('a')\n6 * 7"})
    assert (data["stdout"], data["value"], data["error"]) == ("a\n", "42", None)


def test_an_error_of_the_code_is_data_not_a_failed_call() -> None:
    data = execute_python({"code": "1 / 0"})
    assert data["error_type"] == "ZeroDivisionError"


def test_project_files_are_handed_in_by_name_and_not_changed(workspace: Workspace) -> None:
    workspace.write("data/in.csv", b"a,b\n1,2\n")
    code = (
        "t = open('data/in.csv').read()\nopen('data/in.csv', 'w').write(t.upper())\nopen('x.bin', 'wb').write(b'\\0')"
    )
    data = execute_python({"code": code, "files": ["data/in.csv"], "project_id": "p1"})
    assert data["files"] == [
        {"name": "data/in.csv", "size": 8, "preview": "A,B\n1,2\n"},
        {"name": "x.bin", "size": 1},
    ]
    assert workspace.read_bytes("data/in.csv", 100) == b"a,b\n1,2\n"
    assert workspace.stat("x.bin") is None


def test_files_need_a_project_and_must_exist(workspace: Workspace) -> None:
    with pytest.raises(NoProject):
        execute_python({"code": "1", "files": ["a"]})
    with pytest.raises(FileMissing):
        execute_python({"code": "1", "files": ["nope.csv"], "project_id": "p1"})
    with pytest.raises(InvalidArguments):
        execute_python({"code": "  "})


def test_cancel_ends_the_tool() -> None:
    cancelled = CancelToken()
    timer = threading.Timer(0.1, cancelled.set)
    timer.start()
    started = time.monotonic()
    with pytest.raises(ToolCancelled):
        execute_python({"code": "while True: pass", "cancelled": cancelled})
    assert time.monotonic() - started < 5
    timer.join()


def test_off_and_switched_off_are_said() -> None:
    try:
        sandbox.set_requirement("off")
        with pytest.raises(SandboxUnavailable, match="NANOCLAW_SANDBOX=off"):
            execute_python({"code": "1"})
        sandbox.set_requirement("strict")
        sandbox.levels.switch_off("An escape worked.")
        assert execute_python.definition.unavailable() == "An escape worked."
        with pytest.raises(SandboxUnavailable, match="An escape worked"):
            execute_python({"code": "1"})
    finally:
        sandbox.levels.switch_off(None)
        sandbox.set_requirement(None)


def test_the_level_asks_for_its_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = sandbox.levels.missing
    standing = {"process": "on", "rlimits": "on", "seccomp": "on", "landlock": "off: none", "empty_root": "off: none"}
    assert "landlock is off: none" in str(missing(standing, "strict"))
    assert missing({**standing, "empty_root": "on"}, "strict") is None
    assert missing(standing, "kernel") is None
    assert "seccomp is off" in str(missing({"process": "on", "rlimits": "on"}, "kernel"))
    assert missing({}, "policy") is None
    monkeypatch.setenv("NANOCLAW_SANDBOX", "Kernel")
    assert sandbox.requirement() == "kernel"
    monkeypatch.setenv("NANOCLAW_SANDBOX", "nonsense")
    assert sandbox.requirement() == "strict"
    with pytest.raises(ValueError, match="none of"):
        sandbox.set_requirement("nonsense")


def test_the_self_test_finds_nothing_here_and_an_escape_where_walls_are_missing() -> None:
    assert sandbox.selftest() == []
    open_pool = sandbox.pool.Pool(
        sandbox.pool.HelperConfig(
            left_out=frozenset({"seccomp", "landlock", "empty_root", "network_namespace"}), spares=1
        )
    )
    try:
        failures = sandbox.escapes.try_escapes(open_pool)
    finally:
        open_pool.close()
    assert {"read a file", "list a folder", "connect", "start a process"} & set(failures)
