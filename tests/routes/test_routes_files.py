"""The files of a project over HTTP."""

import re
from typing import Any

import pytest
from routes_client import Api, ok, problem

EVIL = ("../secret", "/etc/passwd", "a/../../secret", "..\\secret", "C:\\x", "a/\0b")


@pytest.fixture
def root(api: Api) -> str:
    """The address of a new project."""
    return f"/api/projects/{api.project()}"


def content(root: str) -> str:
    return f"{root}/files/content"


def write(api: Api, root: str, path: str, data: bytes, **headers: str) -> str:
    """Write a file; its ETag."""
    answer = api.put(content(root), data, query_string={"path": path}, headers=headers)
    assert answer.status_code in (200, 201), answer.get_data(as_text=True)
    return answer.headers["ETag"]


def test_a_file_is_written_read_listed_and_deleted(api: Api, root: str) -> None:
    answer = api.put(content(root), "héllo".encode(), query_string={"path": "notes/a.md"})
    made = ok(answer, 201)
    assert (made["path"], made["type"], made["size"], made["created"]) == ("notes/a.md", "file", 6, True)
    assert made["etag"] == answer.headers["ETag"]
    listed = ok(api.get(f"{root}/files"))["items"]
    assert [(f["name"], f["type"]) for f in listed] == [("notes", "dir")]
    (entry,) = ok(api.get(f"{root}/files", path="notes"))["items"]
    assert (entry["name"], entry["path"], entry["type"], entry["size"]) == ("a.md", "notes/a.md", "file", 6)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["modified_at"])
    read = api.get(content(root), path="notes/a.md")
    assert (read.status_code, read.data.decode()) == (200, "héllo")
    assert api.delete(content(root), query_string={"path": "notes/a.md"}).status_code == 204
    problem(api.get(content(root), path="notes/a.md"), 404, "file_not_found")


def test_downloads_cannot_run_in_the_browser(api: Api, root: str) -> None:
    write(api, root, "页 面.html", b"<script>alert(1)</script>")
    read = api.get(content(root), path="页 面.html")
    assert read.headers["Content-Disposition"].startswith("attachment")
    assert "filename*=UTF-8''" in read.headers["Content-Disposition"]
    assert read.headers["X-Content-Type-Options"] == "nosniff"
    assert read.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")


def test_ranges_and_etags_are_honoured(api: Api, root: str) -> None:
    etag = write(api, root, "digits", b"0123456789")
    part = api.open("GET", content(root), query_string={"path": "digits"}, headers={"Range": "bytes=2-5"})
    assert (part.status_code, part.data, part.headers["Content-Range"]) == (206, b"2345", "bytes 2-5/10")
    tail = api.open("GET", content(root), query_string={"path": "digits"}, headers={"Range": "bytes=-3"})
    assert tail.data == b"789"
    beyond = api.open("GET", content(root), query_string={"path": "digits"}, headers={"Range": "bytes=50-"})
    problem(beyond, 416, "range_not_satisfiable")
    same = api.open("GET", content(root), query_string={"path": "digits"}, headers={"If-None-Match": etag})
    assert (same.status_code, same.data) == (304, b"")


def test_a_write_over_a_newer_version_is_refused(api: Api, root: str) -> None:
    first = write(api, root, "a", b"one")
    second = write(api, root, "a", b"two", **{"If-Match": first})
    assert second != first
    stale = api.put(content(root), b"three", query_string={"path": "a"}, headers={"If-Match": first})
    problem(stale, 412, "precondition_failed")
    new = api.put(content(root), b"three", query_string={"path": "a"}, headers={"If-None-Match": "*"})
    problem(new, 412, "precondition_failed")
    assert api.get(content(root), path="a").data == b"two"


def test_uploads_say_what_happens_to_what_is_there(api: Api, root: str) -> None:
    where = f"{root}/files/upload"
    assert ok(api.upload(where, "a.csv", b"1", path="data/in"), 201)["path"] == "data/in/a.csv"
    problem(api.upload(where, "a.csv", b"2", path="data/in"), 409, "file_conflict")
    kept = ok(api.upload(where, "a.csv", b"2", path="data/in", on_conflict="keep_both"), 201)
    assert kept["path"] == "data/in/a (2).csv"
    ok(api.upload(where, "a.csv", b"3", path="data/in", on_conflict="replace"), 201)
    assert api.get(content(root), path="data/in/a.csv").data == b"3"


def test_uploads_beyond_the_limit_leave_nothing(api: Api, root: str) -> None:
    big = b"x" * ((1 << 16) + 1)
    problem(api.upload(f"{root}/files/upload", "big", big), 413, "too_large")
    problem(api.put(content(root), big, query_string={"path": "big"}), 413, "too_large")
    assert ok(api.get(f"{root}/files"))["items"] == []


def test_the_projects_quota_holds(api: Api, root: str) -> None:
    for i in range(4):
        write(api, root, f"f{i}", b"x" * (1 << 16))
    full = api.put(content(root), b"x", query_string={"path": "one-more"})
    problem(full, 413, "quota_exceeded")


def test_an_upload_needs_exactly_one_part(api: Api, root: str) -> None:
    empty = api.open("POST", f"{root}/files/upload", data={}, content_type="multipart/form-data")
    problem(empty, 422, "validation_failed")
    problem(api.upload(f"{root}/files/upload", "///", b"x"), 422, "validation_failed")


@pytest.mark.parametrize("path", EVIL)
def test_no_address_leads_out_of_the_project(api: Api, root: str, path: str) -> None:
    write(api, root, "a", b"x")
    answers = [
        api.get(content(root), path=path),
        api.get(f"{root}/files", path=path),
        api.put(content(root), b"x", query_string={"path": path}),
        api.delete(content(root), query_string={"path": path}),
        api.patch(f"{root}/files", {"new_path": path}, query_string={"path": "a"}),
        api.patch(f"{root}/files", {"new_path": "b"}, query_string={"path": path}),
        api.post(f"{root}/directories", {"path": path}),
        api.post(f"{root}/files/search", {"query": "x", "path": path}),
        api.upload(f"{root}/files/upload", "x", b"x", path=path),
    ]
    for answer in answers:
        assert answer.status_code in (400, 409), answer.get_data(as_text=True)
        assert answer.get_json()["code"] in ("outside_workspace", "file_error")
    assert [f["name"] for f in ok(api.get(f"{root}/files"))["items"]] == ["a"]


def test_files_and_folders_move_but_never_over_another(api: Api, root: str) -> None:
    write(api, root, "a.txt", b"a")
    write(api, root, "b.txt", b"b")
    taken = api.patch(f"{root}/files", {"new_path": "b.txt"}, query_string={"path": "a.txt"})
    problem(taken, 409, "file_conflict")
    moved = ok(api.patch(f"{root}/files", {"new_path": "deep/er/c.txt"}, query_string={"path": "a.txt"}))
    assert moved["path"] == "deep/er/c.txt"
    assert ok(api.post(f"{root}/directories", {"path": "deep"}))["type"] == "dir"
    assert ok(api.post(f"{root}/directories", {"path": "new/one"}), 201)["path"] == "new/one"
    careful = api.delete(content(root), query_string={"path": "deep", "recursive": "false"})
    problem(careful, 409, "file_error")
    assert api.delete(content(root), query_string={"path": "deep"}).status_code == 204
    problem(api.delete(content(root), query_string={"path": ""}), 422, "validation_failed")
    problem(api.delete(content(root), query_string={"path": "."}), 400, "outside_workspace")


def test_lines_are_found_in_files(api: Api, root: str) -> None:
    write(api, root, "a.txt", "one\nTwo 上海\n".encode())
    (hit,) = ok(api.post(f"{root}/files/search", {"query": "two"}))["items"]
    assert (hit["path"], hit["line"], hit["text"]) == ("a.txt", 2, "Two 上海")
    assert ok(api.post(f"{root}/files/search", {"query": "two", "case_sensitive": True}))["items"] == []
    assert len(ok(api.post(f"{root}/files/search", {"query": "^one$", "regex": True}))["items"]) == 1
    problem(api.post(f"{root}/files/search", {"query": "(", "regex": True}), 409, "file_error")


def test_what_a_file_held_before_can_be_seen_and_put_back(api: Api, root: str) -> None:
    write(api, root, "a.md", b"first\n")
    write(api, root, "a.md", b"second\n")
    api.delete(content(root), query_string={"path": "a.md"})
    deleted, second, first = ok(api.get(f"{root}/changes", path="a.md"))["items"]
    assert [c["action"] for c in (deleted, second, first)] == ["delete", "write", "write"]
    assert (second["before_size"], second["after_size"], second["run_id"]) == (6, 7, None)
    assert second["user_id"]
    assert api.get(f"{root}/changes/{second['id']}/content").data == b"first\n"
    problem(api.post(f"{root}/changes/{second['id']}/revert"), 409, "file_conflict")
    assert ok(api.post(f"{root}/changes/{deleted['id']}/revert"))["reverted_at"]
    assert api.get(content(root), path="a.md").data == b"second\n"
    shown = ok(api.get(f"{root}/changes/{second['id']}"))
    assert "-first" in shown["diff"]
    assert "+second" in shown["diff"]
    ok(api.post(f"{root}/changes/{second['id']}/revert"))
    assert api.get(content(root), path="a.md").data == b"first\n"
    page = ok(api.get(f"{root}/changes", limit=2))
    assert len(page["items"]) == 2
    rest = ok(api.get(f"{root}/changes", cursor=page["next_cursor"]))
    assert len(rest["items"]) == 3
    problem(api.get(f"{root}/changes/{first['id']}/content"), 404, "not_found")
    problem(api.post(f"{root}/changes/none/revert"), 404, "not_found")


def test_files_that_are_gone_are_listed_until_they_are_back(api: Api, root: str) -> None:
    def gone(**query: Any) -> list[str]:
        return [c["path"] for c in ok(api.get(f"{root}/changes", deleted="true", **query))["items"]]

    for name in ("a.md", "b.md", "deep/c.md", "deep/d.md"):
        write(api, root, name, name.encode())
    assert gone() == []
    for path in ("a.md", "b.md", "deep"):
        api.delete(content(root), query_string={"path": path})
    assert sorted(gone()) == ["a.md", "b.md", "deep/c.md", "deep/d.md"]
    folders = {c["path"]: c["folder"] for c in ok(api.get(f"{root}/changes", deleted="true"))["items"]}
    assert folders == {"a.md": None, "b.md": None, "deep/c.md": "deep", "deep/d.md": "deep"}
    write(api, root, "b.md", b"another")
    deleted = ok(api.get(f"{root}/changes", deleted="true"))["items"]
    back = next(c["id"] for c in deleted if c["path"] == "deep/c.md")
    ok(api.post(f"{root}/changes/{back}/revert"))
    assert api.get(content(root), path="deep/c.md").data == b"deep/c.md"
    assert sorted(gone()) == ["a.md", "deep/d.md"]
    first = ok(api.get(f"{root}/changes", deleted="true", limit=1))
    rest = gone(cursor=first["next_cursor"])
    assert [*(c["path"] for c in first["items"]), *rest] == gone()
    write(api, root, "deep/d.md/now-a-folder", b"")
    write(api, root, "other.md", b"")
    api.delete(content(root), query_string={"path": "other.md"})
    assert gone() == ["other.md", "a.md"]


def test_a_folder_of_many_files_is_listed_in_pages(api: Api, root: str) -> None:
    for i in range(5):
        write(api, root, f"f{i}", b"")
    page = ok(api.get(f"{root}/files", limit=3))
    rest = ok(api.get(f"{root}/files", limit=3, cursor=page["next_cursor"]))
    assert [f["name"] for f in page["items"] + rest["items"]] == [f"f{i}" for i in range(5)]
    assert rest["next_cursor"] is None
