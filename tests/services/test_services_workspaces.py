"""Folders of projects as tools get them, changes in the database, hand runs that a crash cut off, secrets."""

import threading
from pathlib import Path

import pytest
from sqlalchemy import select

from backend.errors import NoProject, NotFound
from backend.models import FileChange, Run, Setting, ToolCall
from backend.services import auth, changes, files, manual, providers, secrets
from backend.services.paging import Page
from backend.services.projects import NewProject, create_project, delete_project
from backend.services.runtime import Runtime
from backend.services.search import snippet
from backend.services.workspaces import Workspaces


@pytest.fixture
def project(runtime: Runtime, owner: str) -> str:
    return str(create_project(runtime, owner, NewProject("Work"))["id"])


def test_what_a_run_does_is_recorded_as_its_own(runtime: Runtime, owner: str, project: str) -> None:
    workspace = Workspaces(runtime).open(project, run_id="r1", call_id="c1", user_id=owner)
    workspace.write("a.txt", b"one")
    workspace.append("a.txt", b"two")
    Workspaces(runtime).open(project, user_id=owner).write("b.txt", b"x")
    with runtime.db.read() as session:
        rows = session.scalars(select(FileChange).order_by(FileChange.position)).all()
    assert [(r.position, r.action, r.run_id, r.call_id) for r in rows] == [
        (1, "write", "r1", "c1"), (2, "append", "r1", "c1"), (3, "write", None, None),
    ]  # fmt: skip
    listed = changes.list_changes(runtime, owner, project, Page(), path=None, run_id="r1")["items"]
    assert [c["action"] for c in listed] == ["append", "write"]


def test_changes_made_at_once_have_positions_of_their_own(runtime: Runtime, owner: str, project: str) -> None:
    gate = threading.Barrier(6)

    def write(number: int) -> None:
        workspace = Workspaces(runtime).open(project, user_id=owner)
        gate.wait()
        workspace.write(f"f{number}", b"x")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    with runtime.db.read() as session:
        positions = session.scalars(select(FileChange.position).order_by(FileChange.position)).all()
    assert positions == [1, 2, 3, 4, 5, 6]


def test_no_folder_is_opened_for_those_who_may_not(runtime: Runtime, owner: str, other: str, project: str) -> None:
    workspaces = Workspaces(runtime)
    for args in ((None, owner), ("", owner), ("no-project", owner), (project, other)):
        with pytest.raises(NoProject):
            workspaces.open(args[0], user_id=args[1])
    with pytest.raises(NotFound):
        files.open_workspace(runtime, other, project)
    delete_project(runtime, owner, project)
    with pytest.raises(NoProject):
        workspaces.open(project, user_id=owner)


def test_a_projects_folder_is_private(runtime: Runtime, owner: str, project: str) -> None:
    Workspaces(runtime).open(project, user_id=owner)
    folder = runtime.settings.instance / "workspaces" / project
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("tool", "outcome", "end"),
    [
        ("send_letter", "unknown", ("failed", "error", "outcome_unknown")),
        ("file_write", "cancelled", ("cancelled", "cancelled", None)),
    ],
    ids=["nothing proves it", "no change of a file was recorded"],
)
def test_a_hand_run_that_a_crash_cut_off_is_ended_at_the_next_start(
    runtime: Runtime, owner: str, tool: str, outcome: str, end: tuple[str, str, str | None]
) -> None:
    with runtime.db.write() as session:
        session.add(Run(id="cut", kind="manual", status="running", owner_id=owner, input="/x {}"))
        session.flush()
        call = {"id": "call_1", "function": {"name": tool, "arguments": "{}"}, "status": "executing", "step": 0}
        session.add(ToolCall(run_id="cut", id="call_1", step=0, position=0, name=tool, status="executing", call=call))
    assert manual.recover(runtime) == 1
    with runtime.db.read() as session:
        run, stored = session.get_one(Run, "cut"), session.get_one(ToolCall, ("cut", "call_1"))
    assert (stored.status, stored.call["success"]) == (outcome, False)
    assert ("unknown" in str(stored.result)) is (outcome == "unknown")
    assert (run.status, run.stop_reason, (run.error or {}).get("code")) == end
    assert [e.type for e in runtime.events.subscribe("cut") if e] == [
        "tool_call.finished", "step.finished", "run.finished",
    ]  # fmt: skip
    assert manual.recover(runtime) == 0


def test_a_session_is_stored_as_a_keyed_hash_and_expires(runtime: Runtime) -> None:
    secret = auth.redeem_code(runtime, auth.make_login_code(runtime.db))
    with runtime.db.read() as session:
        rows = session.scalars(select(Setting).where(Setting.key.startswith("session:"))).all()
    assert len(rows) == 1
    assert secret not in rows[0].key + str(rows[0].value)
    assert auth.by_session(runtime, secret) is not None
    with runtime.db.write() as session:
        row = session.get_one(Setting, rows[0].key)
        row.value = str(row.value).replace('"expires_at": "20', '"expires_at": "19')
    assert auth.by_session(runtime, secret) is None


def test_the_owner_is_made_once(runtime: Runtime) -> None:
    assert auth.ensure_owner(runtime.db) == auth.ensure_owner(runtime.db)


def test_secrets_open_only_with_their_key_and_purpose() -> None:
    token = secrets.encrypt("key", "one", "sk-ключ")
    assert "sk" not in token
    assert secrets.decrypt("key", "one", token) == "sk-ключ"
    assert secrets.decrypt("key", "two", token) is None
    assert secrets.decrypt("other", "one", token) is None
    assert secrets.decrypt("key", "one", "garbage") is None


def test_providers_come_from_a_file_too_and_a_broken_one_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "providers.toml"
    assert providers.from_file(path) == []
    path.write_text('[[providers]]\nname = "lab"\nbase_url = "http://lab/v1"\napi_key = "k"\nmodels = ["m"]\n')
    (config,) = providers.from_file(path)
    assert (config.id, config.base_url, config.models) == ("file:lab", "http://lab/v1", ("m",))
    path.write_text("[[providers\n")
    assert providers.from_file(path) == []


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("short text", ["text"], "short text"),
        ("a" * 300 + " needle " + "b" * 300, ["NEEDLE"], "…" + "a" * 39 + " needle " + "b" * 113 + "…"),
        ("many   white\n\nspaces", ["white"], "many white spaces"),
        ("nothing of it", ["else"], "nothing of it"),
    ],
)
def test_a_snippet_shows_what_was_found(text: str, words: list[str], shown: str) -> None:
    assert snippet(text, words) == shown
