"""A file call that a crash cut short is proved done or not done, at whatever moment it was cut."""

import pytest

from backend.tools.builtin import file_ops
from backend.workspace import MemoryChangeLog


class Crash(BaseException):
    """The end of the process, as far as the code that was running can tell."""


class CrashingLog(MemoryChangeLog):
    """Keeps a change and then dies, as a process may between the record and the act."""

    def keep(self, change) -> None:
        super().keep(change)
        raise Crash


CALLS = [
    ("file_write", {"path": "new.txt", "content": "text"}),
    ("file_write", {"path": "a.txt", "content": "text"}),
    ("file_write", {"path": "a.txt", "content": "old\n", "mode": "append"}),
    ("file_edit", {"path": "a.txt", "old_text": "old", "new_text": "new"}),
    ("file_mkdir", {"path": "new"}),
    ("file_move", {"path": "a.txt", "new_path": "b.txt"}),
    ("file_move", {"path": "d", "new_path": "e"}),
    ("file_delete", {"path": "a.txt"}),
    ("file_delete", {"path": "d", "recursive": True}),
]


@pytest.fixture
def files(root):
    (root / "a.txt").write_text("old\n")
    (root / "d").mkdir()
    (root / "d/x").write_text("x")


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_call_that_was_done_is_proved_and_answered_as_it_would_have_been(tools, projects, files, name, arguments):
    answered = tools.data(name, **arguments)
    outcome = file_ops.prove_call(name, {**arguments, "project_id": "p1"}, projects.log.changes)
    assert outcome.proof == "done"
    assert "interrupted" in outcome.result["note"]
    for key in ("path", "new_path", "bytes", "size", "created", "deleted", "files", "type", "change_id"):
        if key in answered:
            assert outcome.result[key] == answered[key], key


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_call_cut_between_record_and_act_is_proved_not_done(projects, files, root, name, arguments):
    projects.log = CrashingLog()
    whole = {**arguments, "project_id": "p1", "_run_id": "r1"}
    before = sorted((str(p), p.is_file() and p.read_bytes()) for p in root.rglob("*"))
    with pytest.raises(Crash):
        getattr(file_ops, name)(whole)
    assert sorted((str(p), p.is_file() and p.read_bytes()) for p in root.rglob("*")) == before
    assert len(projects.log.changes) == 1
    assert file_ops.prove_call(name, whole, projects.log.changes).proof == "not_done"
    assert file_ops.prove_call(name, whole, []).proof == "not_done"


def test_what_was_changed_since_is_unknown(tools, projects, files, root):
    tools.data("file_write", path="a.txt", content="text")
    (root / "a.txt").write_text("by hand")
    arguments = {"path": "a.txt", "content": "text", "project_id": "p1"}
    assert file_ops.prove_call("file_write", arguments, projects.log.changes).proof == "unknown"
    assert file_ops.prove_call("file_read", arguments, []).proof == "unknown"
    assert file_ops.prove_call("file_write", {**arguments, "project_id": "p9"}, projects.log.changes).proof == "unknown"
