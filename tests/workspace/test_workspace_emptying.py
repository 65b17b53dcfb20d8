"""Deleting whole folders in groups: everything is kept and recorded before any of it goes."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from backend.errors import FileProblem, StorageError
from backend.workspace import BlobStore, Change, MemoryChangeLog, Workspace, delete, restore
from backend.workspace.emptying import GROUP_FOLDERS, GROUP_THINGS


class GroupLog(MemoryChangeLog):
    """Counts groups; before the first is taken, `act` is done to the folder."""

    def __init__(self, act=lambda: None) -> None:
        super().__init__()
        self.groups: list[int] = []
        self._act = act

    def keep_all(self, changes: Sequence[Change]) -> None:
        self._act()
        self.groups.append(len(changes))
        super().keep_all(changes)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    (folder / "big").mkdir(parents=True)
    return folder


def workspace(root: Path, log: MemoryChangeLog) -> Workspace:
    return Workspace("p1", root, log, BlobStore(root.parent / "blobs"))


def temporaries(root: Path) -> list[Path]:
    return list((root.parent / "blobs").glob("tmp-*"))


def test_a_large_tree_goes_in_few_groups_and_comes_back_whole(root: Path) -> None:
    held = {}
    for number in range(GROUP_FOLDERS + 6):
        folder = root / f"big/{number}"
        folder.mkdir()
        for name in range(16):
            held[f"big/{number}/{name}"] = f"{number} {name}" if name else "the same in each"
            (folder / f"{name}").write_text(held[f"big/{number}/{name}"])
    os.symlink("elsewhere", root / "big/link")
    log = GroupLog()
    files = workspace(root, log)
    done = delete(files, "big", recursive=True)
    assert list(root.iterdir()) == []
    assert (done.files, len(done.change_ids)) == (len(held), len(held) + GROUP_FOLDERS + 6 + 2)
    assert done.change_ids == [change.id for change in log.changes]
    assert 2 <= len(log.groups) <= 4
    assert max(log.groups) <= GROUP_THINGS
    assert (temporaries(root), files.total_size()) == ([], 0)
    for change in reversed(log.changes[:]):
        restore(files, change)
    assert {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()} == held
    assert os.readlink(root / "big/link") == "elsewhere"


def test_without_the_records_nothing_of_a_folder_goes(root: Path) -> None:
    (root / "big/a").write_text("a")

    def fail() -> None:
        raise StorageError("The database did not take it.")

    with pytest.raises(StorageError):
        delete(workspace(root, GroupLog(fail)), "big", recursive=True)
    assert (root / "big/a").read_text() == "a"
    assert temporaries(root) == []


def test_a_file_that_is_changed_in_the_last_moment_is_kept_as_it_is_then(root: Path) -> None:
    (root / "big/a").write_text("ours")
    (root / "big/b").write_text("b")

    def meddle() -> None:
        (root / "big/a").write_text("theirs, and longer")
        (root / "big/b").unlink()

    log = GroupLog(meddle)
    files = workspace(root, log)
    done = delete(files, "big", recursive=True)
    assert done.files == 1
    (change,) = [change for change in log.changes if change.id in done.change_ids and change.path == "big/a"]
    with files.blobs.open(change.before_hash) as stream:
        assert stream.read() == b"theirs, and longer"


def test_what_somebody_puts_into_an_emptied_folder_keeps_it(root: Path) -> None:
    (root / "big/in").mkdir()
    (root / "big/in/a").write_text("a")
    with pytest.raises(FileProblem):
        delete(workspace(root, GroupLog(lambda: (root / "big/in/new").write_text("new"))), "big", recursive=True)
    assert (root / "big/in/new").read_text() == "new"
