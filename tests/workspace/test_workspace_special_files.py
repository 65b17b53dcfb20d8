"""Things that are no plain files, names that are no plain names, and links that change while we look."""

import itertools
import os
import socket
import sys
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.errors import FileMissing, FileProblem, WorkspaceViolation
from backend.tools.builtin import file_ops
from backend.workspace import names, trees, writing
from backend.workspace.paths import locate, validate_path_in_project


@pytest.fixture
def out(root: Path) -> Path:
    folder = root.parent / "out"
    folder.mkdir()
    (folder / "secret.txt").write_text("SECRET")
    return folder


# ---------------------------------------------------------------- links
def test_a_dangling_link_inside_is_written_to_its_target(tools, root):
    (root / "later").symlink_to("made/new.txt")
    (root / "made").mkdir()
    tools.data("file_write", path="later", content="now")
    assert (root / "made/new.txt").read_text() == "now"
    assert (root / "later").is_symlink()


def test_a_dangling_link_outside_is_refused_and_nothing_is_made(tools, root, out):
    (root / "later").symlink_to(out / "new.txt")
    for call in (
        {"name": "file_write", "path": "later", "content": "x"},
        {"name": "file_write", "path": "later", "content": "x", "mode": "append"},
        {"name": "file_edit", "path": "later", "old_text": "a", "new_text": "b"},
        {"name": "file_mkdir", "path": "later"},
        {"name": "file_exists", "path": "later"},
        {"name": "file_search", "path": "later", "query": "x"},
    ):
        assert tools.error(call.pop("name"), **call)["code"] == "outside_workspace"
    assert os.listdir(out) == ["secret.txt"]


def test_a_loop_of_links_is_an_error_not_a_hang(tools, root):
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "deep").symlink_to("deep/deep")
    for path in ("a", "a/x", "deep", "deep/x"):
        assert "loop" in tools.error("file_read", path=path)["error"]
        assert "loop" in tools.error("file_write", path=path, content="x")["error"]


def test_deleting_a_link_removes_the_link_and_never_what_it_leads_to(tools, root, out):
    (root / "real.txt").write_text("real")
    for name, target in (("in", "real.txt"), ("out", str(out)), ("file", str(out / "secret.txt")), ("gone", "nowhere")):
        (root / name).symlink_to(target)
        tools.data("file_delete", path=name)
        assert not os.path.lexists(root / name)
    assert (root / "real.txt").read_text() == "real"
    assert (out / "secret.txt").read_text() == "SECRET"


def test_deleting_a_folder_never_goes_through_links_in_it(tools, root, out):
    (root / "d").mkdir()
    (root / "d/l").symlink_to(out)
    (root / "d/f").symlink_to(out / "secret.txt")
    tools.data("file_delete", path="d", recursive=True)
    assert (out / "secret.txt").read_text() == "SECRET"
    assert not (root / "d").exists()


def test_a_listing_shows_links_out_as_links_and_tells_nothing_of_them(tools, root, out):
    (root / "in.txt").write_text("12345")
    (root / "good").symlink_to("in.txt")
    (root / "bad").symlink_to(out / "secret.txt")
    (root / "badfolder").symlink_to(out)
    items = {item["name"]: item for item in tools.data("file_list", path=".")["items"]}
    assert (items["good"]["type"], items["good"]["size"]) == ("file", 5)
    assert (items["bad"]["type"], items["bad"]["size"]) == ("link", 0)
    assert (items["badfolder"]["type"], items["badfolder"]["size"]) == ("link", 0)
    assert "secret" not in str(tools.data("file_list", path=".", recursive=True))
    assert tools.data("file_search", query="SECRET")["matches"] == []


def test_a_link_to_the_project_by_its_absolute_path_works(tools, root):
    (root / "a.txt").write_text("here")
    (root / "me").symlink_to(root)
    assert tools.data("file_read", path="me/me/a.txt")["content"] == "here"


def swapping(root: Path, out: Path, stop: threading.Event) -> None:
    """`d` is a folder of the project and a link out of it by turns."""
    aside = (root / f"made{number}" for number in itertools.count())

    def until_free(act: Callable[[], None]) -> None:
        while True:
            try:
                return act()
            except OSError:  # a write has made the missing folder in between
                os.rename(root / "d", next(aside))

    while not stop.is_set():
        os.rename(root / "d", root / "kept")
        until_free(lambda: os.symlink(out, root / "d"))
        os.unlink(root / "d")
        until_free(lambda: os.rename(root / "kept", root / "d"))


@pytest.fixture
def often_switching():
    """Threads take turns every few microseconds, so that races really happen."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_a_place_once_found_stays_in_the_project_whatever_its_path_becomes(workspace, root, out):
    (root / "d").mkdir()
    with locate(workspace.root, "d/new.txt") as place:
        os.rename(root / "d", root / "kept")
        os.symlink(out, root / "d")
        writing.publish(writing.stage(place, [b"mine"]), place, replace=False)
    assert (root / "kept/new.txt").read_text() == "mine"
    assert os.listdir(out) == ["secret.txt"]


def test_a_folder_swapped_for_a_link_between_check_and_use_never_leads_out(workspace, root, out, often_switching):
    (root / "d").mkdir()
    (root / "d/secret.txt").write_text("inside")
    stop = threading.Event()
    swapper = threading.Thread(target=swapping, args=(root, out, stop))
    swapper.start()
    seen: set[str] = set()
    try:
        number = 0
        while number < 600 or seen != {"read", "refused"}:  # ends for certain only by the test's own time limit
            number += 1
            try:
                with workspace.open("d/secret.txt").stream as stream:
                    content = stream.read()
                assert content != b"SECRET"
                seen.add("read")
                if number % 10 == 0:
                    workspace.write(f"d/w{number % 3}", b"written")
                if number % 25 == 0:
                    trees.delete(workspace, "d/w0")
            except (WorkspaceViolation, FileProblem):
                seen.add("refused")
    finally:
        stop.set()
        swapper.join()
    assert os.listdir(out) == ["secret.txt"]
    assert (out / "secret.txt").read_text() == "SECRET"


def swapping_file(root: Path, out: Path, stop: threading.Event) -> None:
    while not stop.is_set():
        (root / "new").write_text("inside")
        os.rename(root / "new", root / "f")
        os.symlink(out / "secret.txt", root / "link")
        os.rename(root / "link", root / "f")


def test_a_file_swapped_for_a_link_between_check_and_use_is_not_followed(workspace, root, out, often_switching):
    (root / "f").write_text("inside")
    stop = threading.Event()
    swapper = threading.Thread(target=swapping_file, args=(root, out, stop))
    swapper.start()
    try:
        for number in range(600):
            try:
                with workspace.open("f").stream as stream:
                    assert stream.read() != b"SECRET"
                if number % 20 == 0:
                    workspace.append("f", b"+")
            except (WorkspaceViolation, FileProblem):
                continue
    finally:
        stop.set()
        swapper.join()
    assert (out / "secret.txt").read_text() == "SECRET"


# ---------------------------------------------------------------- hard links
@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_writing_a_hard_link_cuts_it_off_and_leaves_the_other_name_alone(tools, root, out, mode):
    os.link(out / "secret.txt", root / "hard.txt")
    tools.data("file_write", path="hard.txt", content="mine", mode=mode)
    assert (out / "secret.txt").read_text() == "SECRET"
    assert (root / "hard.txt").read_text().endswith("mine")


def test_editing_a_hard_link_leaves_the_other_name_alone(tools, root, out):
    os.link(out / "secret.txt", root / "hard.txt")
    tools.data("file_edit", path="hard.txt", old_text="SECRET", new_text="open")
    assert (out / "secret.txt").read_text() == "SECRET"
    assert (root / "hard.txt").read_text() == "open"


# ---------------------------------------------------------------- devices, pipes, sockets
def test_pipes_sockets_and_devices_are_refused_without_blocking(tools, root, tmp_path, monkeypatch):
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # a socket's name must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        names_made = ["pipe", "sock"]
        try:
            os.mknod(root / "null", 0o600 | 0o020000, os.makedev(1, 3))
            names_made.append("null")
        except PermissionError:
            pass  # only root may make devices; the pipe and the socket take the same way
        for name in names_made:
            for tool, more in (
                ("file_read", {}),
                ("file_write", {"content": "x"}),
                ("file_write", {"content": "x", "mode": "append"}),
                ("file_edit", {"old_text": "a", "new_text": "b"}),
                ("file_search", {"query": "x"}),
            ):
                assert "not a file" in tools.error(tool, path=name, **more)["error"]
            assert tools.data("file_exists", path=name)["type"] == "other"
        assert {i["type"] for i in tools.data("file_list")["items"]} == {"other"}
        assert tools.data("file_search", query="x")["matches"] == []
        for name in names_made:
            tools.data("file_delete", path=name)
    assert os.listdir(root) == []


# ---------------------------------------------------------------- names
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a\0b", "file_error"),
        ("\ud800", "file_error"),
        ("x" * 5000, "file_error"),
        ("/".join("d" * 200), "file_error"),
        ("n" * 256, "file_error"),
        ("é" * 128, "file_error"),
        ("line\nbreak.txt", "file_error"),
        ("right\u202eleft.txt", "file_error"),
        ("src\\main.py", "file_error"),
        (".nanoclaw-tmp-1", "file_error"),
        ("folder/", "file_error"),
        ("..\\..\\secret.txt", "outside_workspace"),
        ("a\\..\\..\\b", "outside_workspace"),
        ("C:\\Windows\\win.ini", "outside_workspace"),
        ("c:/Windows/win.ini", "outside_workspace"),
        ("\\\\server\\share", "outside_workspace"),
        ("file:///etc/passwd", "outside_workspace"),
        ("~/.ssh/id_rsa", "outside_workspace"),
        ("~", "outside_workspace"),
        ("/dev/null", "outside_workspace"),
        ("/proc/self/environ", "outside_workspace"),
        ("//etc/passwd", "outside_workspace"),
        ("missing/../../x", "outside_workspace"),
        ("./../x", "outside_workspace"),
        ("..", "outside_workspace"),
    ],
)
def test_a_name_that_cannot_be_given_is_a_clear_error_and_makes_nothing(tools, root, path, code):
    result = tools.error("file_write", path=path, content="x")
    assert result["code"] == code, result
    assert str(root) not in str(result)
    assert os.listdir(root) == []


def test_files_with_odd_names_on_disk_can_be_read_listed_moved_and_deleted(tools, root):
    odd = ["line\nbreak.txt", "back\\slash.txt", "tab\t.txt", "  spaces ", "con", "a:b", "*", "-rf", "quote\"'", "…"]
    for name in odd:
        (root / name).write_text(name)
    assert {item["name"] for item in tools.data("file_list")["items"]} == set(odd)
    for name in odd:
        assert tools.data("file_read", path=name)["content"] == name
    tools.data("file_move", path="line\nbreak.txt", new_path="plain.txt")
    tools.data("file_delete", path="back\\slash.txt")
    assert (root / "plain.txt").exists()
    assert not (root / "back\\slash.txt").exists()


def test_a_name_that_is_no_unicode_is_shown_and_does_not_break_listing_search_or_deleting(tools, root):
    (root / "d").mkdir()
    with open(os.fsencode(root / "d") + b"/bad\xff.txt", "wb") as out:
        out.write(b"needle")
    items = tools.data("file_list", path="d")["items"]
    assert items[0]["name"] == "bad\\xff.txt"
    assert tools.data("file_search", query="needle")["matches"][0]["path"] == "d/bad\\xff.txt"
    tools.data("file_delete", path="d", recursive=True)
    assert not (root / "d").exists()


def test_the_other_unicode_form_of_a_name_finds_the_same_file(tools, root):
    decomposed, composed = unicodedata.normalize("NFD", "Übé.txt"), unicodedata.normalize("NFC", "Übé.txt")
    (root / decomposed).write_text("one")
    assert tools.data("file_read", path=composed)["content"] == "one"
    tools.data("file_write", path=composed, content="two")
    assert os.listdir(root) == [decomposed]
    assert (root / decomposed).read_text() == "two"


def test_where_both_forms_are_there_each_is_found_by_its_own_name(tools, root):
    decomposed, composed = unicodedata.normalize("NFD", "é"), unicodedata.normalize("NFC", "é")
    (root / decomposed).write_text("d")
    (root / composed).write_text("c")
    assert tools.data("file_read", path=composed)["content"] == "c"
    assert tools.data("file_read", path=decomposed)["content"] == "d"


def test_a_wrong_case_is_named_in_the_error(tools, root):
    (root / "README.md").write_text("x")
    assert "'README.md'" in tools.error("file_read", path="readme.md")["error"]


@pytest.mark.parametrize("name", ["CON", "nul.txt", "LPT1", "a.", "b ", "x:y", "what?"])
def test_on_windows_names_that_it_cannot_hold_are_refused(name):
    with pytest.raises(FileProblem):
        names.check_new_name(name, windows=True)
    names.check_new_name("concept.txt", windows=True)


def test_a_run_cannot_change_what_git_would_execute_but_a_person_can(tools, projects, root):
    (root / "lib/.git/hooks").mkdir(parents=True)
    (root / "link").symlink_to("lib/.git")
    for path in ("lib/.git/hooks/pre-commit", "link/config", "lib/.GIT/config"):
        assert "read-only here" in tools.error("file_write", path=path, content="#!/bin/sh")["error"]
    assert "read-only here" in tools.error("file_delete", path="lib", recursive=True)["error"]
    projects.open("p1", user_id="u1").write("lib/.git/config", b"[core]")
    assert tools.data("file_read", path="lib/.git/config")["content"] == "[core]"


# ---------------------------------------------------------------- the names fixed for others
def test_the_fixed_names_refuse_with_the_fixed_words(projects, root, out):
    (root / "l").symlink_to(out)
    assert validate_path_in_project("a/../b.txt", root) == root / "b.txt"
    assert validate_path_in_project("not/yet/there.txt", root) == root / "not/yet/there.txt"
    assert validate_path_in_project(".", root) == root
    assert file_ops._resolve_path("b.txt", "p1") == (root / "b.txt", root)
    for path in ("../out/secret.txt", "l/secret.txt", "l/new/file", "no/../../x", "/etc/passwd"):
        with pytest.raises(WorkspaceViolation, match=r"^Path is outside project directory$") as caught:
            validate_path_in_project(path, root)
        assert caught.value.target == path
        with pytest.raises(WorkspaceViolation):
            file_ops._resolve_path(path, "p1")


def test_a_project_whose_folder_is_gone_is_a_plain_error(workspace, root):
    root.rmdir()
    with pytest.raises(FileMissing, match="folder is not there"):
        workspace.list()
