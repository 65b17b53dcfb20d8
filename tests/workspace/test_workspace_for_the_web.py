"""What the HTTP layer stands on: listings, tags, conditional writes, uploads."""

import io

import pytest

from backend.errors import FileMissing, FileProblem, FileTaken, PreconditionFailed, QuotaExceeded, TooLarge
from backend.workspace import trees
from backend.workspace.searching import Query


def test_a_listing_has_the_fields_of_the_contract_folders_first(workspace, root):
    (root / "b.txt").write_text("12345")
    (root / "A").mkdir()
    (root / "a.txt").touch()
    items = [entry.to_dict() for entry in workspace.list()]
    assert [(i["name"], i["path"], i["type"], i["size"]) for i in items] == [
        ("A", "A", "dir", 0),
        ("a.txt", "a.txt", "file", 0),
        ("b.txt", "b.txt", "file", 5),
    ]
    assert items[0]["modified_at"].endswith("Z")
    workspace.write("A/x/y.txt", b"1")
    assert [entry.path for entry in workspace.list("A/x")] == ["A/x/y.txt"]


def test_a_file_opens_with_its_tag_and_can_be_read_in_ranges(workspace, root):
    (root / "a").write_bytes(b"0123456789")
    opened = workspace.open("a")
    with opened.stream as stream:
        stream.seek(3)
        assert stream.read(4) == b"3456"
    assert (opened.size, opened.path) == (10, "a")
    again = workspace.open("a")
    again.stream.close()
    assert again.etag == opened.etag
    written = workspace.write("a", b"0123456789")
    assert written.etag != opened.etag


def test_a_write_with_a_tag_happens_only_on_that_version(workspace, root):
    first = workspace.write("a", b"one", if_none_match=True)
    assert first.created
    second = workspace.write("a", b"two", if_match=first.etag)
    assert not second.created
    for conditions in ({"if_match": first.etag}, {"if_none_match": True}, {"if_match": '"0-0-0"'}):
        with pytest.raises(PreconditionFailed):
            workspace.write("a", b"three", **conditions)
    with pytest.raises(PreconditionFailed):
        workspace.write("none", b"x", if_match="*")
    workspace.write("a", b"four", if_match="*")
    assert (root / "a").read_bytes() == b"four"


def test_each_of_many_quick_writes_has_its_own_tag(workspace):
    tags = [workspace.write("a", b"same size").etag for _ in range(60)]
    assert len(set(tags)) == 60


def test_a_project_folder_that_was_gone_for_a_while_can_be_written_again(workspace, root):
    root.rename(root.with_name("away"))
    with pytest.raises(FileMissing):
        workspace.write("a", b"1")
    root.with_name("away").rename(root)
    assert workspace.write("a", b"1").created
    assert workspace.usage._depth == 0


def test_an_upload_fails_replaces_or_keeps_both(workspace, root, projects):
    def upload(content: bytes, how="fail"):
        return workspace.upload("d/a.tar.gz", io.BytesIO(content), on_conflict=how)

    assert upload(b"one").created
    with pytest.raises(FileTaken):
        upload(b"two")
    assert upload(b"two", "keep_both").path == "d/a.tar (2).gz"
    assert upload(b"three", "keep_both").path == "d/a.tar (3).gz"
    assert not upload(b"four", "replace").created
    assert {p.name: p.read_bytes() for p in (root / "d").iterdir()} == {
        "a.tar.gz": b"four",
        "a.tar (2).gz": b"two",
        "a.tar (3).gz": b"three",
    }
    with projects.blobs.open(projects.log.changes[-1].before_hash) as stream:
        assert stream.read() == b"one"


def test_an_upload_that_is_too_large_or_breaks_leaves_nothing(projects, root):
    projects.quota = 10 << 20
    workspace = projects.open("p1", user_id="u1")
    with pytest.raises(TooLarge):
        workspace.upload("big", io.BytesIO(b"x" * 1001), max_bytes=1000)
    with pytest.raises(QuotaExceeded):
        workspace.upload("big", io.BytesIO(b"x" * (30 << 20)), max_bytes=100 << 20)

    class Lost(io.BytesIO):
        def read(self, size=-1):
            raise ConnectionResetError

    with pytest.raises((ConnectionResetError, FileProblem)):
        workspace.upload("big", Lost())
    assert list(root.iterdir()) == []
    assert workspace.upload("fits", io.BytesIO(b"x" * 1000), max_bytes=1000).size == 1000


def test_a_folder_can_be_made_moved_and_deleted_with_everything_in_it(workspace, projects, root):
    assert workspace.mkdir("a/b") is True
    assert workspace.mkdir("a/b") is False
    workspace.write("a/b/c.txt", b"content")
    with pytest.raises(FileProblem):
        workspace.mkdir("a/b/c.txt")
    assert trees.move(workspace, "a", "z").type == "dir"
    deleted = trees.delete(workspace, "z", recursive=True)
    assert deleted.files == 1
    assert len(deleted.change_ids) == 3
    assert list(root.iterdir()) == []
    assert workspace.total_size() == 0


def test_what_is_at_a_path(workspace, root):
    (root / "d").mkdir()
    assert workspace.stat("d").type == "dir"
    assert workspace.stat("none") is None
    assert workspace.stat("none/below") is None
    with pytest.raises(FileMissing):
        workspace.open("none")
    with pytest.raises(FileMissing):
        workspace.list("none")


def test_the_search_of_the_app(workspace, root):
    (root / "a.txt").write_text("one\nTwo\n")
    found = workspace.search(Query("two"))
    assert [(m.path, m.line, m.text) for m in found.matches] == [("a.txt", 2, "Two")]
    assert found.incomplete is None
