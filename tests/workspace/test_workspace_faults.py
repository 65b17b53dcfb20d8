"""Crashes, full disks, several writers, and files that change behind our back: the old or the new content, whole."""

import multiprocessing
import os
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backend.errors import FileProblem, QuotaExceeded, StorageError
from backend.workspace import BlobStore, MemoryChangeLog, Workspace, trees, writing
from backend.workspace.names import TEMPORARY_PREFIX

SPAWN = multiprocessing.get_context("spawn")


def at(folder: Path, **more) -> Workspace:
    return Workspace("p1", folder / "p", MemoryChangeLog(), BlobStore(folder / "blobs"), **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p").mkdir()
    return tmp_path


def leftovers(folder: Path) -> list[str]:
    return [p.name for p in folder.rglob("*") if p.name.startswith((TEMPORARY_PREFIX, "tmp-"))]


# ---------------------------------------------------------------- in a process that dies
def killed_in_the_middle(folder: str, ready) -> None:
    workspace = at(Path(folder))

    def produce(place, before):
        def pieces():
            yield b"new " * 1000
            ready.set()
            threading.Event().wait()

        return writing.stage(place, pieces())

    workspace.replace("a.txt", produce)


def test_a_process_killed_while_it_writes_leaves_the_old_content_whole(folder):
    (folder / "p/a.txt").write_text("old")
    ready = SPAWN.Event()
    child = SPAWN.Process(target=killed_in_the_middle, args=(str(folder), ready))
    child.start()
    assert ready.wait(30)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert (folder / "p/a.txt").read_text() == "old"
    workspace = at(folder)
    assert [entry.name for entry in workspace.list()] == ["a.txt"]
    workspace.write("a.txt", b"next")  # and the project is not locked for good
    assert (folder / "p/a.txt").read_text() == "next"


def test_what_a_crash_left_is_removed_when_the_project_is_counted(folder):
    stale, young = folder / "p" / f"{TEMPORARY_PREFIX}1", folder / "p" / f"{TEMPORARY_PREFIX}2"
    stale.write_text("x")
    young.write_text("y")
    os.utime(stale, (time.time() - 7200,) * 2)
    assert at(folder).usage.bytes(fresh=True) == 0
    assert not stale.exists()
    assert young.exists()


def full_disk(folder: str, results) -> None:
    """RLIMIT_FSIZE is the nearest thing to a full disk that needs no rights: a write fails halfway."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    workspace = at(Path(folder))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    for act in (
        lambda: workspace.write("a.txt", b"n" * 200_000),
        lambda: workspace.append("a.txt", b"n" * 90_000),
        lambda: workspace.write("new.txt", b"n" * 200_000),
    ):
        try:
            act()
            results.put("written")
        except FileProblem as error:
            results.put(error.message)


def test_a_disk_that_is_full_halfway_leaves_the_old_content_whole_and_no_rest(folder):
    (folder / "p/a.txt").write_bytes(b"o" * 50_000)
    results = SPAWN.Queue()
    child = SPAWN.Process(target=full_disk, args=(str(folder), results))
    child.start()
    messages = [results.get(timeout=30) for _ in range(3)]
    child.join()
    assert all("nothing was written" in message for message in messages), messages
    assert (folder / "p/a.txt").read_bytes() == b"o" * 50_000
    assert not (folder / "p/new.txt").exists()
    assert leftovers(folder) == []


# ---------------------------------------------------------------- several writers
def test_appends_of_many_threads_lose_nothing(folder):
    def append(number: int) -> None:
        at(folder).append("log", f"{number}\n".encode())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(120)))
    assert sorted((folder / "p/log").read_text().split(), key=int) == [str(n) for n in range(120)]


def append_many(folder: str, mark: str, count: int) -> None:
    workspace = at(Path(folder))
    for number in range(count):
        workspace.append("log", f"{mark}{number}\n".encode())


def test_appends_of_two_processes_lose_nothing(folder):
    children = [SPAWN.Process(target=append_many, args=(str(folder), mark, 40)) for mark in "ab"]
    for child in children:
        child.start()
    append_many(str(folder), "c", 40)
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert sorted((folder / "p/log").read_text().split()) == sorted(f"{m}{n}" for m in "abc" for n in range(40))


def test_two_edits_at_once_are_both_in(folder, tmp_path):
    from backend.workspace.texts import Edit, edit_text

    lines = [f"line {n:03}." for n in range(40)]
    (folder / "p/a.txt").write_text("\n".join(lines))

    def edit(line: str) -> None:
        edit_text(at(folder), Edit("a.txt", line, line.upper()))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(edit, lines))
    assert (folder / "p/a.txt").read_text() == "\n".join(lines).upper()


class Meddler(MemoryChangeLog):
    """Another program that changes the file in the last moment, `times` times."""

    def __init__(self, path: Path, times: int) -> None:
        super().__init__()
        self.path, self.times = path, times

    def keep(self, change) -> None:
        super().keep(change)
        if self.times:
            self.times -= 1
            with self.path.open("a") as out:
                out.write("theirs\n")


def test_what_another_program_adds_in_the_last_moment_is_not_lost(folder):
    path = folder / "p/log"
    path.write_text("one\n")
    log = Meddler(path, 1)
    Workspace("p1", folder / "p", log, BlobStore(folder / "blobs")).append("log", b"ours\n")
    assert path.read_text() == "one\ntheirs\nours\n"
    assert leftovers(folder) == []


def test_a_file_that_never_stands_still_is_left_alone_with_an_error(folder):
    path = folder / "p/log"
    path.write_text("one\n")
    workspace = Workspace("p1", folder / "p", Meddler(path, 99), BlobStore(folder / "blobs"))
    with pytest.raises(FileProblem, match="being changed"):
        workspace.append("log", b"ours\n")
    with pytest.raises(FileProblem, match="being changed"):
        trees.delete(workspace, "log")
    assert set(path.read_text().split()) == {"one", "theirs"}


class Broken(MemoryChangeLog):
    """A change log whose database is gone."""

    def keep(self, change) -> None:
        raise StorageError("The database did not take it.")


def test_without_a_record_of_the_change_nothing_is_done(folder):
    (folder / "p/a.txt").write_text("old")
    workspace = Workspace("p1", folder / "p", Broken(), BlobStore(folder / "blobs"))
    for act in (
        lambda: workspace.write("a.txt", b"new"),
        lambda: workspace.write("b.txt", b"new"),
        lambda: workspace.mkdir("d"),
        lambda: trees.delete(workspace, "a.txt"),
        lambda: trees.move(workspace, "a.txt", "c.txt"),
    ):
        with pytest.raises(StorageError):
            act()
    assert (folder / "p/a.txt").read_text() == "old"
    assert os.listdir(folder / "p") == ["a.txt"]


# ---------------------------------------------------------------- quota
def test_a_project_over_its_quota_takes_nothing_more_but_can_be_emptied(folder):
    workspace = at(folder, quota_bytes=1000)
    workspace.write("a", b"x" * 900)
    for act in (
        lambda: workspace.write("b", b"y" * 101),
        lambda: workspace.append("a", b"y" * 101),
    ):
        with pytest.raises(QuotaExceeded, match="900 of 1000"):
            act()
    workspace.write("a", b"x" * 1000)
    workspace.write("a", b"x" * 10)
    trees.delete(workspace, "a")
    workspace.write("b", b"y" * 1000)
    assert workspace.total_size() == 1000
    assert leftovers(folder) == []


def test_space_that_was_freed_outside_is_seen_before_a_write_is_refused(folder):
    (folder / "p/big").write_bytes(b"x" * 900)
    workspace = at(folder, quota_bytes=1000)
    assert workspace.total_size() == 900
    (folder / "p/big").unlink()
    workspace.write("a", b"y" * 1000)
    assert workspace.total_size() == 1000
