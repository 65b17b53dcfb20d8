"""Undo of a run: files are put back, later edits stay, conflicts are shown and left alone."""

from collections.abc import Callable

import pytest

from backend.app import Instance
from backend.errors import Conflict
from backend.models import Run, Step, ToolCall
from backend.services import undo
from backend.services.changes import list_changes
from backend.services.paging import Page
from backend.services.projects import NewProject, create_project
from backend.services.undo import Wanted
from backend.services.workspaces import Workspaces
from backend.workspace import Workspace, delete, move

RUN = "run-1"
Open = Callable[..., Workspace]


@pytest.fixture
def project(instance: Instance, owner: str) -> str:
    """A project with a run that has ended, of two steps."""
    made = create_project(instance.runtime, owner, NewProject("Undo"))["id"]
    with instance.runtime.db.write() as session:
        session.add(Run(id=RUN, kind="task", status="completed", owner_id=owner, project_id=made))
        session.flush()
        for step in (0, 1):
            session.add(Step(run_id=RUN, index=step, status="completed"))
            call = {"id": f"c{step}", "function": {"name": "file_write", "arguments": "{}"}, "status": "success"}
            session.add(
                ToolCall(
                    run_id=RUN, id=f"c{step}", step=step, position=0, name="file_write", status="success", call=call
                )
            )
    return str(made)


@pytest.fixture
def files(instance: Instance, project: str, owner: str) -> Open:
    """The project's folder for the run (with a call) or for the person."""

    def open_(call_id: str | None = None) -> Workspace:
        run_id = RUN if call_id else None
        return Workspaces(instance.runtime).open(project, run_id=run_id, call_id=call_id, user_id=owner)

    return open_


def read(workspace: Workspace, path: str) -> str:
    return workspace.read_bytes(path, 100_000).decode()


def test_a_whole_run_is_put_back(instance: Instance, owner: str, files: Open) -> None:
    mine, run = files(), files("c0")
    mine.write("kept.md", b"old\n")
    mine.write("gone.md", b"gone\n")
    mine.write("moved.md", b"moved\n")
    run.write("kept.md", b"new\n")
    run.append("kept.md", b"newer\n")
    run.write("made.md", b"made\n")
    run.mkdir("folder")
    delete(run, "gone.md")
    move(run, "moved.md", "elsewhere.md")
    answer = undo.undo(instance.runtime, owner, RUN, Wanted())
    assert answer["conflicts"] == []
    assert {item["path"]: item["how"] for item in answer["undone"]} == {
        "kept.md": "restored", "gone.md": "created", "made.md": "removed", "folder": "removed", "moved.md": "moved back",
    }  # fmt: skip
    assert [read(mine, name) for name in ("kept.md", "gone.md", "moved.md")] == ["old\n", "gone\n", "moved\n"]
    assert {entry.name for entry in mine.list()} == {"kept.md", "gone.md", "moved.md"}
    assert undo.undo(instance.runtime, owner, RUN, Wanted()) == {"undone": [], "conflicts": []}


def test_later_edits_in_other_lines_stay(instance: Instance, owner: str, files: Open) -> None:
    mine = files()
    lines = [f"line {i}\n" for i in range(10)]
    mine.write("a.md", "".join(lines).encode())
    files("c0").write("a.md", "".join(["run 0\n", *lines[1:]]).encode())
    mine.write("a.md", "".join(["run 0\n", *lines[1:9], "mine\n"]).encode())
    answer = undo.undo(instance.runtime, owner, RUN, Wanted())
    assert [(item["path"], item["how"]) for item in answer["undone"]] == [("a.md", "merged")]
    assert read(mine, "a.md") == "".join([*lines[:9], "mine\n"])


def test_a_later_edit_of_the_same_lines_is_a_conflict_and_is_left_alone(
    instance: Instance, owner: str, files: Open
) -> None:
    mine = files()
    mine.write("a.md", b"one\n")
    mine.write("b.md", b"two\n")
    files("c0").write("a.md", b"run\n")
    files("c0").write("b.md", b"run\n")
    mine.write("a.md", b"person\n")
    answer = undo.undo(instance.runtime, owner, RUN, Wanted())
    assert [(item["path"], item["code"]) for item in answer["conflicts"]] == [("a.md", "changed_since")]
    assert [item["path"] for item in answer["undone"]] == ["b.md"]
    assert (read(mine, "a.md"), read(mine, "b.md")) == ("person\n", "two\n")


def test_a_folder_that_holds_something_of_a_person_stays(instance: Instance, owner: str, files: Open) -> None:
    files("c0").mkdir("folder")
    files().write("folder/mine.md", b"mine\n")
    answer = undo.undo(instance.runtime, owner, RUN, Wanted())
    assert [(item["path"], item["code"]) for item in answer["conflicts"]] == [("folder", "file_conflict")]
    assert read(files(), "folder/mine.md") == "mine\n"


def test_one_step_and_one_path(instance: Instance, owner: str, files: Open) -> None:
    files("c0").write("docs/a.md", b"first\n")
    files("c0").write("b.md", b"first\n")
    files("c1").write("docs/a.md", b"second\n")
    undo.undo(instance.runtime, owner, RUN, Wanted(step=1))
    assert read(files(), "docs/a.md") == "first\n"
    undo.undo(instance.runtime, owner, RUN, Wanted(paths=("docs",)))
    assert files().stat("docs/a.md") is None
    assert read(files(), "b.md") == "first\n"


def test_the_diffs_of_a_run_show_each_path_once(instance: Instance, owner: str, project: str, files: Open) -> None:
    files().write("a.md", b"one\ntwo\n")
    files("c0").write("a.md", b"one\n2\n")
    files("c1").append("a.md", b"three\n")
    items = undo.list_diffs(instance.runtime, owner, RUN)["items"]
    assert [(i["path"], i["action"], i["call_ids"], i["reverted"]) for i in items] == [
        ("a.md", "edit", ["c0", "c1"], False)
    ]
    assert items[0]["diff"].splitlines()[3:] == [" one", "-two", "+2", "+three"]
    undo.undo(instance.runtime, owner, RUN, Wanted())
    assert undo.list_diffs(instance.runtime, owner, RUN)["items"][0]["reverted"] is True
    # What was put back is a change of the person, and can be undone like any other.
    newest = list_changes(instance.runtime, owner, project, Page(1), path="a.md", run_id=None)["items"][0]
    assert (newest["run_id"], newest["user_id"]) == (None, owner)


def test_no_undo_while_the_run_goes_on(instance: Instance, owner: str, project: str) -> None:
    with instance.runtime.db.write() as session:
        session.get_one(Run, RUN).status = "running"
    with pytest.raises(Conflict):
        undo.undo(instance.runtime, owner, RUN, Wanted())
