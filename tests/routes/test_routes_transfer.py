"""Fork, export and import over HTTP: names of files, foreign objects, sizes, and both ways of sending a file."""

import json
from typing import Any

import pytest
from routes_client import Api, ok, problem

from backend.routes.downloads import file_name
from backend.services.exporting import FORMAT


def file_of(*titles: str) -> dict[str, Any]:
    """A file of conversations with one message each."""
    message = {"id": "m", "parent_id": None, "role": "user", "content": "hello"}
    return {"format": FORMAT, "version": 1, "conversations": [{"title": t, "messages": [message]} for t in titles]}


def test_a_conversation_is_forked_over_http(api: Api, stranger: Api) -> None:
    source = api.conversation(title="first")
    message = api.say(source, "hello")["message"]["id"]
    response = api.post(f"/api/conversations/{source}/fork", {"message_id": message})
    made = ok(response, 201)
    assert response.headers["Location"] == f"/api/conversations/{made['id']}"
    assert made["forked_from"] == {"conversation_id": source, "message_id": message}
    [item] = ok(api.get(f"/api/conversations/{made['id']}/messages"))["items"]
    assert item["content"] == "hello"
    waiting = api.say(source, "and then")["message"]
    assert waiting["state"] == "queued"
    problem(api.post(f"/api/conversations/{source}/fork", {"message_id": waiting["id"]}), 409, "conflict")
    problem(api.post(f"/api/conversations/{source}/fork", {"message_id": "none"}), 404, "not_found")
    problem(api.post(f"/api/conversations/{source}/fork", {}), 422, "validation_failed")
    problem(stranger.post(f"/api/conversations/{source}/fork", {"message_id": message}), 404, "not_found")


@pytest.mark.parametrize(("form", "media_type"), [("md", "text/markdown"), ("json", "application/json")])
def test_an_export_is_a_file_that_no_browser_runs(api: Api, stranger: Api, form: str, media_type: str) -> None:
    source = api.conversation(title='../"a"\r\nX-Evil: 1\u202e<b>.exe')
    api.say(source, "<script>alert(1)</script>")
    response = api.get(f"/api/conversations/{source}/export", format=form)
    assert (response.status_code, response.mimetype) == (200, media_type)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response.headers["Content-Security-Policy"]
    assert "X-Evil" not in response.headers
    name = response.headers["Content-Disposition"]
    assert name.startswith("attachment; ")
    assert name.isascii()
    assert not any(bad in name for bad in ("..", "/", "\r", "\n", "%0D", "%E2%80%AE"))
    problem(stranger.get(f"/api/conversations/{source}/export", format=form), 404, "not_found")
    problem(api.get(f"/api/conversations/{source}/export", format="pdf"), 422, "validation_failed")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("", "conversation.md"),
        ("  Report  of\tMay ", "Report of May.md"),
        ("../../etc/passwd", "etc_passwd.md"),
        ("季度 报告", "季度 报告.md"),
        ('a\\b:c*d?e"f<g>h|i', "a_b_c_d_e_f_g_h_i.md"),
        ("...", "conversation.md"),
        ("x" * 300, "x" * 80 + ".md"),
        ("evil\u202egpj.exe", "evil_gpj.exe.md"),
        ("a\0b", "a_b.md"),
    ],
)
def test_a_title_becomes_the_name_of_a_file(title: str, name: str) -> None:
    assert file_name(title, "conversation", "md") == name


def test_an_account_goes_out_and_in_again(api: Api, stranger: Api) -> None:
    source = api.conversation(title="mine", tags=["kept"])
    api.say(source, "hello")
    response = api.get("/api/export")
    assert "nanoclaw-" in response.headers["Content-Disposition"]
    file = response.get_data()
    assert [c["title"] for c in json.loads(file)["conversations"]] == ["mine"]
    assert ok(stranger.get("/api/export"))["conversations"] == []
    made = ok(stranger.upload("/api/import", "x.json", file), 201)
    assert [(c["title"], c["tags"]) for c in made["items"]] == [("mine", ["kept"])]
    assert made["skipped"] == []
    assert made["items"][0]["id"] != source
    again = ok(stranger.open("POST", "/api/import", data=file, content_type="application/json"), 201)
    assert len(again["items"]) == 1
    assert len(ok(stranger.get("/api/conversations"))["items"]) == 2
    assert len(ok(api.get("/api/conversations"))["items"]) == 1


def test_a_file_is_imported_into_ones_own_project_only(api: Api, stranger: Api) -> None:
    mine, theirs = api.project(), stranger.project()
    made = ok(api.open("POST", f"/api/import?project_id={mine}", json=file_of("a")), 201)
    assert made["items"][0]["project_id"] == mine
    problem(api.open("POST", f"/api/import?project_id={theirs}", json=file_of("a")), 404, "not_found")


def test_what_cannot_be_imported_is_refused_in_words(api: Api) -> None:
    wrong = problem(api.upload("/api/import", "x.json", b"no json"), 422, "validation_failed")
    assert "must be a JSON object" in wrong["detail"]
    problem(api.upload("/api/import", "x.json", json.dumps(file_of("x" * 301)).encode()), 422, "validation_failed")
    part = ok(api.post("/api/import", file_of("good", "x" * 301)), 201)
    assert [(s["index"], s["code"]) for s in part["skipped"]] == [(1, "validation_failed")]
    problem(api.open("POST", "/api/import", data=b"x", content_type="text/plain"), 415, "unsupported_media_type")
    problem(
        api.open("POST", "/api/import", data={"other": "x"}, content_type="multipart/form-data"),
        422,
        "validation_failed",
    )


def test_a_file_over_the_limit_is_refused_either_way(api: Api) -> None:
    large = json.dumps(file_of("x")).encode() + b" " * (4 << 16)
    problem(api.upload("/api/import", "x.json", large), 413, "too_large")
    problem(api.open("POST", "/api/import", data=large, content_type="application/json"), 413, "too_large")
    assert ok(api.get("/api/conversations"))["items"] == []


def test_a_browser_needs_its_token_to_import(browser: Api) -> None:
    problem(browser.post("/api/import", file_of("a")), 403, "forbidden")
