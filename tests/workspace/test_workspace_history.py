"""What was changed can be put back, later edits are never lost, and a crash can be judged."""

import hashlib
import io
import os
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from backend.errors import FileMissing, FileProblem, FileTaken, WorkspaceViolation
from backend.workspace import BlobStore, change_diff, history, prove_change, prove_written, restore, trees
from backend.workspace.restore import digest_of


@pytest.fixture
def log(projects):
    return projects.log


def undo_all(workspace, changes) -> None:
    for change in reversed(list(changes)):
        restore(workspace, change)


def tree(root) -> dict[str, object]:
    return {
        str(p.relative_to(root)): os.readlink(p) if p.is_symlink() else p.read_bytes() if p.is_file() else "dir"
        for p in root.rglob("*")
    }


def test_everything_a_run_did_can_be_put_back_newest_first(tools, workspace, log, root):
    (root / "keep/sub").mkdir(parents=True)
    (root / "keep/a.txt").write_bytes(b"A\r\n\xff")
    (root / "keep/sub/b.txt").write_text("B")
    (root / "keep/empty").mkdir()
    (root / "keep/link").symlink_to("a.txt")
    (root / "keep/dangling").symlink_to("../nowhere")
    (root / "x.txt").write_text("one\n")
    before = tree(root)
    tools.data("file_write", path="x.txt", content="two\n")
    tools.data("file_write", path="x.txt", content="three\n", mode="append")
    tools.data("file_edit", path="x.txt", old_text="two", new_text="2")
    tools.data("file_write", path="new.txt", content="new")
    tools.data("file_mkdir", path="folder")
    tools.data("file_move", path="x.txt", new_path="folder/y.txt")
    tools.data("file_move", path="keep/sub", new_path="folder/sub")
    tools.data("file_delete", path="keep", recursive=True)
    assert {c.run_id for c in log.changes} == {"r1"}
    assert {c.user_id for c in log.changes} == {"u1"}
    assert all(c.call_id for c in log.changes if c.action != "unlink")
    undo_all(workspace, list(log.changes))
    assert tree(root) == before


def test_an_undo_can_itself_be_undone(workspace, log, root):
    (root / "a").write_text("one")
    workspace.write("a", b"two")
    restore(workspace, log.changes[0])
    assert (root / "a").read_text() == "one"
    restore(workspace, log.changes[1])
    assert (root / "a").read_text() == "two"


def test_putting_back_never_overwrites_a_later_edit(workspace, log, root):
    workspace.write("new", b"made")
    (root / "a").write_text("one")
    workspace.write("a", b"two")
    trees.move(workspace, "a", "b")
    (root / "gone").write_text("g")
    trees.delete(workspace, "gone")
    created, written, moved, deleted = log.changes
    (root / "new").write_text("edited by hand")
    (root / "b").write_text("edited too")
    (root / "gone").write_text("made anew")
    before = tree(root)
    for change in (created, written, moved, deleted):
        with pytest.raises(FileTaken):
            restore(workspace, change)
    assert tree(root) == before


def test_a_move_back_onto_something_new_is_refused(workspace, log, root):
    (root / "a").write_text("one")
    trees.move(workspace, "a", "b")
    (root / "a").write_text("new")
    with pytest.raises(FileTaken):
        restore(workspace, log.changes[0])
    assert (root / "a").read_text() == "new"


def test_content_that_is_no_longer_kept_is_said(workspace, projects, log, root):
    (root / "a").write_text("one")
    workspace.write("a", b"two")
    projects.blobs.path(log.changes[0].before_hash).unlink()
    with pytest.raises(FileMissing, match="no longer kept"):
        restore(workspace, log.changes[0])
    assert (root / "a").read_text() == "two"


def test_the_earlier_content_is_kept_before_the_act_with_its_hash_and_sizes(workspace, projects, log, root):
    (root / "a").write_bytes(b"one")
    workspace.append("a", b"+two")
    change = log.changes[0]
    assert (change.action, change.path, change.before_size, change.after_size) == ("append", "a", 3, 7)
    assert change.after_hash == hashlib.sha256(b"one+two").hexdigest()
    with projects.blobs.open(change.before_hash) as stream:
        assert stream.read() == b"one"


def test_diffs_of_changes_are_known_as_long_as_the_content_is(workspace, log, root):
    (root / "a").write_text("one\ntwo\n")
    workspace.write("a", b"one\n2\n")
    workspace.write("a", b"1\n2\n")
    trees.delete(workspace, "a")
    first, second, third = (change_diff(workspace, change) for change in log.changes)
    assert "-two\n+2\n" in first
    assert "-one\n+1\n" in second
    assert "-1\n-2\n" in third
    workspace.write("b", b"x")
    (root / "b").write_text("changed outside")
    assert change_diff(workspace, log.changes[-1]) is None


def test_a_diff_is_bounded_and_not_made_of_binary():
    assert history.diff(b"\0\1", b"text") is None
    assert history.diff(b"", b"x\n" * 400_000) is None
    long = history.diff(b"", b"line\n" * 9000)
    assert len(long) < history.MAX_DIFF_CHARS + 100
    assert "left out" in long
    signs = history.diff("a\u2028b\x0c\r\n".encode(), "a\u2028c\x0c\r\n".encode())
    assert signs.endswith("-a\u2028b\x0c\r\n+a\u2028c\x0c\r\n")
    assert history.diff(None, b"a") == "--- /dev/null\n+++ b/file\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"


def applied(old: list[str], patch: str) -> list[str]:
    """The new lines that a unified diff makes of the old ones."""
    new, at = [], 0
    for line in patch.splitlines()[2:]:
        if line.startswith("@@"):
            start = max(int(line.split()[1].split(",")[0][1:]) - 1, 0)
            new += old[at:start]
            at = start
        elif line[0] == "+":
            new.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            new += [line[1:]] if line[0] == " " else []
    return new + old[at:]


def test_a_diff_says_what_was_changed_also_where_the_usual_way_would_take_too_long(monkeypatch):
    rng = random.Random(7)
    for pairs in (history.MAX_DIFF_PAIRS, 0):
        monkeypatch.setattr(history, "MAX_DIFF_PAIRS", pairs)
        for _ in range(60):
            old = [str(rng.randrange(5)) for _ in range(rng.randrange(20))]
            new = [line for line in old if rng.random() < 0.8]
            new.insert(rng.randrange(len(new) + 1), "new")
            patch = history.unified("".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new), "f", 10**6)
            assert applied(old, patch) == new
    same = [f"{n % 100}\n" for n in range(9000)]
    assert not history._is_quick(same, same[::-1])
    assert history.unified("".join(same), "".join(same), "f") == ""


# ---------------------------------------------------------------- proofs after a crash
def test_a_write_is_proved_done_or_not(workspace, root):
    assert prove_written(workspace, "a", "text") is False
    (root / "a").write_text("text")
    assert prove_written(workspace, "a", "text") is True
    assert prove_written(workspace, "a", "other") is None
    (root / "g").write_bytes("港口".encode("gbk"))
    assert prove_written(workspace, "g", "港口") is True
    assert prove_written(workspace, "a", "more", mode="append") is False
    assert prove_written(workspace, "a", "xt", mode="append") is None


def test_a_recorded_change_is_proved_by_its_hashes(workspace, log, root):
    (root / "a").write_text("one")
    workspace.append("a", b"two")
    trees.move(workspace, "a", "b")
    trees.delete(workspace, "b")
    workspace.mkdir("d")
    append, move, delete, mkdir = log.changes
    assert prove_change(workspace, delete) == "done"
    assert prove_change(workspace, mkdir) == "done"
    assert prove_change(workspace, move) == "unknown"
    (root / "d").rmdir()
    assert prove_change(workspace, mkdir) == "not_done"
    (root / "b").write_text("onetwo")
    assert (prove_change(workspace, delete), prove_change(workspace, move)) == ("not_done", "done")
    (root / "b").rename(root / "a")
    assert (prove_change(workspace, append), prove_change(workspace, move)) == ("done", "not_done")
    (root / "a").write_text("one")
    assert prove_change(workspace, append) == "not_done"
    (root / "a").write_text("something else")
    assert prove_change(workspace, append) == "unknown"


# ---------------------------------------------------------------- the store of contents
def test_a_content_is_kept_once_whole_and_by_its_hash(tmp_path):
    blobs = BlobStore(tmp_path / "blobs")
    content = os.urandom(3 << 20)
    wanted = hashlib.sha256(content).hexdigest()
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(lambda n: blobs.put(io.BytesIO(content) if n % 2 else content), range(16)))
    assert digests == {wanted}
    assert [p.name for p in (tmp_path / "blobs").rglob("*") if p.is_file()] == [wanted[2:]]
    with blobs.open(wanted) as stream:
        assert stream.read() == content


def test_a_stream_that_breaks_leaves_nothing(tmp_path):
    class Broken(io.BytesIO):
        def read(self, size=-1):
            if self.tell() > 100:
                raise OSError("gone")
            return super().read(60)

    with pytest.raises(OSError, match="gone"):
        BlobStore(tmp_path / "blobs").put(Broken(b"x" * 1000))
    assert list((tmp_path / "blobs").iterdir()) == []


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_only_hashes_name_contents(tmp_path, digest):
    with pytest.raises(ValueError, match="SHA-256"):
        BlobStore(tmp_path).path(digest)


# ---------------------------------------------------------------- deleting and moving
def test_a_folder_that_is_not_empty_is_deleted_only_when_asked(tools, root):
    (root / "d").mkdir()
    (root / "d/f").write_text("x")
    assert "recursive" in tools.error("file_delete", path="d")["suggestion"]
    data = tools.data("file_delete", path="d", recursive=True)
    assert (data["type"], data["files"], data["deleted"]) == ("dir", 1, True)
    (root / "e").mkdir()
    assert tools.data("file_delete", path="e")["type"] == "dir"


@pytest.mark.parametrize(
    ("path", "new_path", "said"),
    [
        ("a", "b", "already there"),
        ("a", "d", "already there"),
        ("a", "a", "already there"),
        ("d", "d/e", "into itself"),
        ("d", "d/e/f", "into itself"),
        ("none", "x", "no file"),
        ("a", "b/x", "is a file"),
        ("a", "new/line\nbreak", "unseen"),
        ("none", "new/folder/x", "no file"),
        ("", "x", "empty"),
    ],
)
def test_a_move_that_cannot_be_is_a_clear_error_and_moves_nothing(tools, root, path, new_path, said):
    (root / "a").write_text("A")
    (root / "b").write_text("B")
    (root / "d").mkdir()
    before = tree(root)
    assert said in tools.error("file_move", path=path, new_path=new_path)["error"]
    assert tree(root) == before


def test_the_project_folder_and_what_lies_outside_are_never_moved(tools, workspace, root):
    (root / "a").write_text("A")
    for path, new_path in ((".", "x"), ("a", "../a"), ("../p1", "x"), ("a", "/tmp/a"), ("a/..", "x")):
        result = tools("file_move", path=path, new_path=new_path)
        assert not result["success"], (path, new_path)
    with pytest.raises(WorkspaceViolation):
        trees.move(workspace, "a", "../a")
    assert (root / "a").read_text() == "A"


def test_a_hash_of_something_that_is_no_file_is_an_error(workspace, root):
    (root / "d").mkdir()
    assert digest_of(workspace, "none") is None
    with pytest.raises(FileProblem):
        digest_of(workspace, "d")
