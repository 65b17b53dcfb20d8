"""Hostile requests: odd JSON, other sites' pages, wrong codes, odd ranges. Nothing breaks, and nothing stays broken."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from routes_client import BASE, Api, ok, problem

from backend.app import Instance
from backend.errors import NotSignedIn
from backend.services import auth
from backend.services.providers import configs

JSON = "application/json"


def _send(api: Api, method: str, path: str, text: str) -> Any:
    return api.open(method, path, data=text.encode(), content_type=JSON)


# ---------------------------------------------------------------- JSON
def test_a_number_that_overflows_is_refused_and_spoils_nothing(api: Api) -> None:
    problem(_send(api, "PATCH", "/api/auth/me", '{"settings":{"a":1e999}}'), 400, "bad_request")
    problem(_send(api, "POST", "/api/admin/providers", '{"name":"p","options":{"a":-1e999}}'), 400, "bad_request")
    ok(api.get("/api/auth/me"))
    ok(api.get("/api/admin/providers"))


@pytest.mark.parametrize("depth", [150, 500, 980, 20_000])
@pytest.mark.parametrize(("opening", "closing"), ["[]", ('{"a":', "}")])
def test_deep_nesting_is_refused_before_anything_walks_it(api: Api, depth: int, opening: str, closing: str) -> None:
    text = '{"arguments":{"expression":' + opening * depth + "1" + closing * depth + "}}"
    problem(_send(api, "POST", "/api/tools/calculator/execute", text), 400, "bad_request")


def test_wide_json_is_not_deep(api: Api) -> None:
    settings = {"rows": [[{}] for _ in range(500)]}
    assert ok(api.patch("/api/auth/me", {"settings": settings}))["settings"] == settings


# ---------------------------------------------------------------- sign-in
def test_looking_at_a_link_does_not_use_it_up(app: Flask, instance: Instance, nobody: Api) -> None:
    path = f"/auth/{auth.make_login_code(instance.runtime.db)}"
    assert nobody.open("HEAD", path).status_code == 405
    assert nobody.open("OPTIONS", path).status_code == 200
    assert nobody.get(path).status_code == 303


def test_wrong_codes_cannot_keep_the_owner_out(instance: Instance, nobody: Api) -> None:
    wrong = [nobody.post("/api/auth/login", {"code": "wrong"}).status_code for _ in range(8)]
    assert wrong[-1] == 429
    ok(nobody.post("/api/auth/login", {"code": auth.make_login_code(instance.runtime.db)}))


@pytest.mark.parametrize(
    ("site", "mode", "dest", "allowed"),
    [
        ("cross-site", "no-cors", "image", False),
        ("same-site", "no-cors", "script", False),
        ("cross-site", "navigate", "iframe", False),
        ("cross-site", "cors", "empty", False),
        ("cross-site", "navigate", "document", True),
        ("same-origin", "cors", "empty", True),
        ("none", "navigate", "document", True),
    ],
)
def test_pages_of_other_sites_load_nothing_from_here(api: Api, site: str, mode: str, dest: str, allowed: bool) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    answer = api.open("GET", "/api/auth/me", headers=headers)
    if allowed:
        ok(answer)
    else:
        problem(answer, 403, "forbidden")


def test_a_session_is_a_new_one_whatever_cookie_was_there(app: Flask, instance: Instance) -> None:
    client, name = app.test_client(), auth.cookie_name(instance.runtime)
    client.set_cookie(name, "planted", domain="127.0.0.1")
    assert client.get("/api/auth/me", base_url=BASE).status_code == 401
    client.get(f"/auth/{auth.make_login_code(instance.runtime.db)}", base_url=BASE)
    cookie = client.get_cookie(name, domain="127.0.0.1")
    assert cookie is not None
    assert cookie.value != "planted"
    assert client.get("/api/auth/me", base_url=BASE).status_code == 200


def test_of_many_at_once_one_uses_the_code(instance: Instance) -> None:
    code = auth.make_login_code(instance.runtime.db)

    def redeem(_: int) -> bool:
        try:
            return bool(auth.redeem_code(instance.runtime, code))
        except NotSignedIn:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(redeem, range(16))) == 1


# ---------------------------------------------------------------- at the same time
def test_of_many_messages_at_once_one_starts_the_run(app: Flask, api: Api) -> None:
    conversation = api.conversation()

    def send(number: int) -> bool:
        client = Api(app.test_client(), api.headers)
        return client.say(conversation, f"message {number}")["run"] is not None

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(16))) == 1
    assert len(ok(api.get(f"/api/conversations/{conversation}/messages"))["queued"]) == 15


def test_the_same_message_many_times_at_once_is_one(app: Flask, api: Api) -> None:
    conversation = api.conversation()

    def send(_: int) -> str:
        client = Api(app.test_client(), api.headers)
        return str(client.say(conversation, "the same", client_id="one")["message"]["id"])

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(send, range(16)))) == 1


# ---------------------------------------------------------------- ranges
@pytest.mark.parametrize(
    ("asked", "status", "body"),
    [
        ("bytes=2-4", 206, b"234"),
        ("bytes=-3", 206, b"789"),
        ("bytes=-99999999999999999999", 206, b"0123456789"),
        ("bytes=5-" + "9" * 30, 206, b"56789"),
        ("bytes=10-", 416, None),
        ("bytes=-0", 416, None),
        ("bytes=5-2", 200, b"0123456789"),
        ("bytes=" + "9" * 5000 + "-", 200, b"0123456789"),
        ("bytes=" + ",".join(["0-"] * 500), 200, b"0123456789"),
        ("items=0-1", 200, b"0123456789"),
        ("bytes=a-b", 200, b"0123456789"),
    ],
)
def test_a_range_that_makes_no_sense_is_none(api: Api, asked: str, status: int, body: bytes | None) -> None:
    path = f"/api/projects/{api.project()}/files/content?path=a.txt"
    api.put(path, b"0123456789")
    answer = api.open("GET", path, headers={"Range": asked})
    assert answer.status_code == status
    if body is None:
        assert json.loads(answer.data)["code"] == "range_not_satisfiable"
    else:
        assert answer.data == body


# ---------------------------------------------------------------- folders
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("path", ["/proc", "/proc/self", "/sys", "/dev"])
def test_what_the_kernel_shows_as_files_is_no_project(api: Api, path: str) -> None:
    problem(api.post("/api/projects", {"name": "x", "path": path}), 422, "validation_failed")


def test_an_opened_folder_that_became_a_link_is_closed(api: Api, instance: Instance, tmp_path: Path) -> None:
    folder = tmp_path / "opened"
    folder.mkdir()
    where = f"/api/projects/{api.project(path=str(folder))}/files"
    ok(api.get(where))
    folder.rmdir()
    folder.symlink_to(instance.runtime.settings.instance)
    problem(api.get(where), 404, "no_project")
    problem(api.get(f"{where}/content", path="nanoclaw.db"), 404, "no_project")


# ---------------------------------------------------------------- search and providers
@pytest.mark.parametrize("query", ["abc\x00def", "\x00\x00\x00", 'abc"\x00"def', "NEAR(abc def)", "abc* OR def", '"""'])
def test_no_query_is_syntax(api: Api, query: str) -> None:
    api.project("abc def")
    assert isinstance(ok(api.get("/api/search", q=query))["items"], list)


def test_the_secrets_of_a_provider_go_nowhere_but_to_its_server(api: Api, instance: Instance) -> None:
    where, base = "/api/admin/providers", "http://127.0.0.1:9/v1"
    headers = {"Authorization": "Bearer in-a-header", "X-Team": "a"}
    new = {"name": "p", "base_url": base, "api_key": "sk-stored", "options": {"headers": headers}}
    made = ok(api.post(where, new), 201)
    one = f"{where}/{made['id']}"
    assert "in-a-header" not in api.get(where).get_data(as_text=True)
    shown = made["options"]
    shown["headers"]["X-Team"] = "b"
    assert ok(api.patch(one, {"options": shown, "base_url": f"{base}/more"}))["has_key"] is True
    (stored,) = [config for config in configs(instance.runtime) if config.name == "p"]
    assert stored.options["headers"] == {"Authorization": "Bearer in-a-header", "X-Team": "b"}
    assert ok(api.patch(one, {"base_url": "http://127.0.0.1:10/v1"}))["has_key"] is False
    (stored,) = [config for config in configs(instance.runtime) if config.name == "p"]
    assert stored.options["headers"] == {}
    ok(api.patch(one, {"options": {"headers": headers}}))
    shown["headers"]["X-New"] = "c"
    ok(api.patch(one, {"options": shown, "base_url": "http://127.0.0.1:11/v1"}))  # as the settings page sends it
    (stored,) = [config for config in configs(instance.runtime) if config.name == "p"]
    assert stored.options["headers"] == {"X-Team": "b", "X-New": "c"}
    problem(api.patch(one, {"base_url": "http://user:password@127.0.0.1/v1"}), 422, "validation_failed")


@pytest.mark.parametrize(
    "options",
    [
        {"headers": [1]}, {"headers": {"X": 1}}, {"headers": {"X\r\nY": "a"}}, {"headers": {"X": "a\r\nY: b"}},
        {"parameters": "x"}, {"fallback": "x"}, {"fallback": [1]}, {"context_window": "x"}, {"context_window": -1},
    ],
)  # fmt: skip
def test_options_that_cannot_be_used_are_told_at_once(api: Api, options: dict[str, Any]) -> None:
    body = {"name": "p", "base_url": "http://127.0.0.1:9/v1", "options": options}
    assert "options" in problem(api.post("/api/admin/providers", body), 422, "validation_failed")["errors"]
