"""Signing in, tokens, and the checks before every request."""

from dataclasses import replace
from datetime import timedelta

import pytest
from flask import Flask
from routes_client import ADMIN_TOKEN, BASE, Api, ok, problem
from sqlalchemy import update

from backend.app import Instance
from backend.ids import utc_now
from backend.models import LoginCode
from backend.services import auth


def csrf(browser: Api) -> dict[str, str]:
    return {"X-CSRF-Token": ok(browser.get("/api/auth/me"))["csrf_token"]}


def test_a_one_time_link_signs_in_once(app: Flask, instance: Instance) -> None:
    code = auth.make_login_code(instance.runtime.db)
    first = app.test_client().get(f"/auth/{code}", base_url=BASE)
    assert (first.status_code, first.headers["Location"]) == (303, "/")
    cookie = first.headers["Set-Cookie"]
    assert cookie.startswith("nanoclaw_")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    again = app.test_client().get(f"/auth/{code}", base_url=BASE)
    assert again.status_code == 401
    assert "run.py link" in again.get_data(as_text=True)
    assert "Set-Cookie" not in again.headers


def test_an_old_link_takes_who_is_signed_in_to_the_app(app: Flask, instance: Instance) -> None:
    code = auth.make_login_code(instance.runtime.db)
    client = app.test_client()
    client.get(f"/auth/{code}", base_url=BASE)
    again = client.get(f"/auth/{code}", base_url=BASE)
    assert (again.status_code, again.headers["Location"]) == (303, "/")
    assert "Set-Cookie" not in again.headers


def test_a_code_is_worth_nothing_after_ten_minutes(nobody: Api, instance: Instance) -> None:
    code = auth.make_login_code(instance.runtime.db)
    with instance.runtime.db.write() as session:
        session.execute(update(LoginCode).values(expires_at=utc_now() - timedelta(seconds=1)))
    problem(nobody.post("/api/auth/login", {"code": code}), 401, "not_signed_in")


def test_a_code_signs_programs_in_too(nobody: Api, instance: Instance) -> None:
    code = auth.make_login_code(instance.runtime.db)
    me = ok(nobody.post("/api/auth/login", {"code": code}))
    assert (me["user"]["name"], me["role"], me["settings"]) == ("Owner", "admin", {})
    assert me["limits"]["upload_max_bytes"] == instance.runtime.settings.upload_max
    assert ok(nobody.get("/api/auth/me"))["csrf_token"] == me["csrf_token"]


def test_signing_in_is_slowed_down_after_five_tries(nobody: Api) -> None:
    for _ in range(5):
        problem(nobody.post("/api/auth/login", {"code": "guess"}), 401, "not_signed_in")
    limited = nobody.post("/api/auth/login", {"code": "guess"})
    problem(limited, 429, "rate_limited")
    assert int(limited.headers["Retry-After"]) >= 1


def test_signing_out_ends_the_session_wherever_its_cookie_was_copied(browser: Api, app: Flask) -> None:
    name, value = next((c.key, c.value) for c in browser.client._cookies.values())
    copy = Api(app.test_client(use_cookies=False), {"Cookie": f"{name}={value}"})
    assert copy.get("/api/auth/me").status_code == 200
    assert browser.post("/api/auth/logout", headers=csrf(browser)).status_code == 204
    problem(copy.get("/api/auth/me"), 401, "not_signed_in")
    problem(browser.get("/api/auth/me"), 401, "not_signed_in")


def test_unsafe_methods_of_a_session_need_the_csrf_token(browser: Api) -> None:
    problem(browser.post("/api/projects", {"name": "x"}), 403, "forbidden")
    problem(browser.post("/api/projects", {"name": "x"}, headers={"X-CSRF-Token": "ünknown"}), 403, "forbidden")
    assert browser.post("/api/projects", {"name": "x"}, headers=csrf(browser)).status_code == 201


def test_settings_of_a_person_are_merged(api: Api) -> None:
    assert ok(api.patch("/api/auth/me", {"settings": {"theme": "dark", "language": "zh-CN"}}))["settings"]
    me = ok(api.patch("/api/auth/me", {"name": "Ada", "settings": {"theme": None}}))
    assert (me["user"]["name"], me["settings"]) == ("Ada", {"language": "zh-CN"})
    problem(api.patch("/api/auth/me", {"settings": {"x": "y" * 30_000}}), 422, "validation_failed")


def test_tokens_are_shown_once_and_work_until_revoked(api: Api, app: Flask) -> None:
    made = ok(api.post("/api/auth/tokens", {"name": "laptop"}), 201)
    holder = Api(app.test_client(), {"Authorization": f"Bearer {made['token']}"})
    assert ok(holder.get("/api/auth/me"))["csrf_token"] is None
    (listed,) = ok(api.get("/api/auth/tokens"))["items"]
    assert "token" not in listed
    assert listed["last_used_at"] is not None
    assert api.delete(f"/api/auth/tokens/{made['id']}").status_code == 204
    problem(holder.get("/api/auth/me"), 401, "not_signed_in")
    problem(api.delete(f"/api/auth/tokens/{made['id']}"), 404, "not_found")


def test_a_wrong_bearer_is_nobody_even_with_a_good_cookie(browser: Api) -> None:
    for value in ("Bearer wrong", "Bearer ", "Bearer ünknown", "bearer"):
        problem(browser.open("GET", "/api/projects", headers={"Authorization": value}), 401, "not_signed_in")
    assert browser.open("GET", "/api/projects", headers={"Authorization": f"bearer {ADMIN_TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1:8000", True),
        ("localhost:8000", True),
        ("LOCALHOST:8000", True),
        ("[::1]:8000", True),
        ("127.0.0.1", False),
        ("127.0.0.1:8001", False),
        ("evil.example:8000", False),
        ("localhost.evil.example:8000", False),
        ("127.0.0.1:8000@evil.example", False),
        ("", False),
    ],
)
def test_the_host_is_checked_with_its_port(api: Api, host: str, allowed: bool) -> None:
    answer = api.open("GET", "/api/projects", headers={"Host": host})
    if allowed:
        assert answer.status_code == 200
    else:
        problem(answer, 400, "bad_request")


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://127.0.0.1:8001", False),
        ("https://127.0.0.1:8000", False),
        ("http://evil.example", False),
        ("null", False),
    ],
)
def test_the_origin_is_checked_with_its_port(api: Api, origin: str, allowed: bool) -> None:
    answer = api.post("/api/projects", {"name": "x"}, headers={"Origin": origin})
    if allowed:
        assert answer.status_code == 201
    else:
        problem(answer, 403, "forbidden")


def test_a_public_url_names_one_more_host_and_origin(app: Flask, api: Api, instance: Instance) -> None:
    instance.runtime.settings = replace(instance.runtime.settings, public_url="https://Work.example")
    for host, status in (
        ("work.example", 200),
        ("work.example:443", 200),
        ("work.example:80", 400),
        ("x.work.example", 400),
    ):
        assert api.open("GET", "/api/projects", headers={"Host": host}).status_code == status
    for origin, status in (
        ("https://work.example", 201),
        ("http://work.example", 403),
        ("https://work.example:444", 403),
    ):
        answer = api.post("/api/projects", {"name": "x"}, headers={"Host": "work.example", "Origin": origin})
        assert answer.status_code == status
    code = auth.make_login_code(instance.runtime.db)
    signed_in = app.test_client().get(f"/auth/{code}", base_url=BASE, headers={"Host": "work.example"})
    assert "Secure" in signed_in.headers["Set-Cookie"]


def test_every_address_of_the_api_asks_for_a_sign_in(app: Flask, nobody: Api) -> None:
    checked = 0
    for rule in app.url_map.iter_rules():
        if not rule.rule.startswith("/api"):
            continue
        operation = app.view_functions[rule.endpoint].operation  # type: ignore[attr-defined]
        if operation.public:
            continue
        path = rule.rule.replace("<path:", "<").replace("<", "x").replace(">", "")
        for method in rule.methods - {"HEAD", "OPTIONS"}:
            problem(nobody.open(method, path), 401, "not_signed_in")
            checked += 1
    assert checked > 50


def test_only_an_administrator_changes_tools_and_providers(stranger: Api) -> None:
    problem(stranger.patch("/api/tools/get_weather", {"enabled": False}), 403, "forbidden")
    problem(stranger.post("/api/tools/reload"), 403, "forbidden")
    problem(stranger.get("/api/admin/providers"), 403, "forbidden")


def test_the_way_to_sign_in_is_told_to_anyone(nobody: Api, api: Api) -> None:
    assert ok(nobody.get("/api/auth/mode")) == {"mode": "single", "signed_in": False}
    assert ok(api.get("/api/auth/mode"))["signed_in"] is True


def test_readiness_tells_details_to_the_signed_in_only(nobody: Api, api: Api) -> None:
    assert ok(nobody.get("/healthz")) == {"status": "ok"}
    assert ok(nobody.get("/readyz")) == {"status": "ready"}
    assert {"queue", "sandbox", "database"} <= set(ok(api.get("/readyz"))["details"])


def test_without_its_database_the_server_lives_but_is_not_ready(nobody: Api, instance: Instance) -> None:
    with instance.runtime.db.write() as session:
        session.connection().exec_driver_sql("ALTER TABLE users RENAME TO elsewhere")
    assert ok(nobody.get("/healthz")) == {"status": "ok"}
    assert ok(nobody.get("/readyz"), 503) == {"status": "not_ready"}
