"""Every error has one shape, whatever went wrong; every answer has the strict headers."""

import json
from pathlib import Path

import pytest
from flask import Flask
from routes_client import BASE, Api, ok, problem

from backend.app import Instance

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [b"{", b"nope", b'{"name": NaN}', b'{"name": "\\ud800"}', b"\xff\xfe", b"[" * 100_000, b'{"a":1}x', b"1" * 5000],
)
def test_malformed_json_is_a_400(api: Api, body: bytes) -> None:
    problem(api.open("POST", "/api/projects", data=body, headers=JSON), 400, "bad_request")


@pytest.mark.parametrize("body", [b"[]", b"3", b'"x"', b"null", b"false"])
def test_json_of_another_kind_is_a_422(api: Api, body: bytes) -> None:
    problem(api.open("POST", "/api/projects", data=body, headers=JSON), 422, "validation_failed")


def test_another_type_of_body_is_a_415(api: Api) -> None:
    form = api.open("POST", "/api/projects", data=b"name=x", content_type="application/x-www-form-urlencoded")
    problem(form, 415, "unsupported_media_type")


def test_a_body_that_is_too_large_is_a_413(api: Api) -> None:
    body = json.dumps({"name": "x" * (5 << 20)}).encode()
    problem(api.open("POST", "/api/projects", data=body, headers=JSON), 413, "too_large")


def test_a_wrong_method_says_which_are_right(api: Api) -> None:
    answer = api.delete("/api/search")
    problem(answer, 405, "method_not_allowed")
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


def test_an_unknown_address_of_the_api_is_a_problem_not_a_page(api: Api) -> None:
    for path in ("/api/nothing", "/api", "/api/", "/v1/models", "/assets/none.js", "/assets/../secret"):
        problem(api.get(path), 404, "not_found")


def test_an_unexpected_fault_tells_a_number_and_nothing_else(
    app: Flask, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    @app.get("/broken")
    def broken() -> str:
        raise RuntimeError(f"secret at {Path(__file__)}")

    body = problem(api.get("/broken"), 500, "internal_error")
    assert "secret" not in json.dumps(body)
    number = body["detail"].split()[-1].rstrip(".")
    assert number in caplog.text
    assert "secret" in caplog.text


def test_a_database_that_does_not_answer_is_a_503(api: Api, instance: Instance) -> None:
    with instance.runtime.db.write() as session:
        session.connection().exec_driver_sql("ALTER TABLE projects RENAME TO elsewhere")
    answer = api.get("/api/projects")
    assert problem(answer, 503, "storage")["retryable"] is True
    assert "elsewhere" not in answer.get_data(as_text=True)
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "limit=1e3", "limit=99999999999999999999"])
def test_a_wrong_page_size_is_named(api: Api, query: str) -> None:
    assert "limit" in problem(api.open("GET", f"/api/runs?{query}"), 422, "validation_failed")["errors"]


def test_every_answer_has_the_strict_headers(api: Api, nobody: Api) -> None:
    answers = [
        api.get("/api/projects"),
        nobody.get("/api/projects"),
        api.get("/"),
        api.get("/api/docs"),
        api.get("/api/x"),
    ]
    for answer in answers:
        headers = answer.headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
    assert answers[0].headers["Cache-Control"] == "no-store"


# ---------------------------------------------------------------- the web app's files
@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A built web app."""
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text('<style nonce="__CSP_NONCE__"></style>')
    (folder / "assets" / "app-1a2b.js").write_text("1")
    (folder / "icon.svg").write_text("<svg/>")
    return folder


@pytest.mark.usefixtures("dist")
def test_the_page_has_a_nonce_of_its_own_each_time(nobody: Api) -> None:
    pages = [nobody.get(path) for path in ("/", "/projects/1/files/report.md", "/index.html")]
    nonces = set()
    for page in pages:
        assert page.status_code == 200
        assert page.headers["Cache-Control"] == "no-cache"
        nonce = page.get_data(as_text=True).split('"')[1]
        assert f"'nonce-{nonce}'" in page.headers["Content-Security-Policy"]
        nonces.add(nonce)
    assert len(nonces) == 3


@pytest.mark.usefixtures("dist")
def test_hashed_files_are_kept_for_ever_others_for_an_hour(nobody: Api) -> None:
    script = nobody.get("/assets/app-1a2b.js")
    assert (script.data, script.headers["Cache-Control"]) == (b"1", "public, max-age=31536000, immutable")
    assert nobody.get("/icon.svg").headers["Cache-Control"].endswith("max-age=3600")


def test_without_a_build_the_page_says_so(nobody: Api) -> None:
    page = nobody.get("/")
    assert page.status_code == 503
    assert "run.py" in page.get_data(as_text=True)
    style = page.get_data(as_text=True).split('nonce="')[1].split('"')[0]
    assert f"'nonce-{style}'" in page.headers["Content-Security-Policy"]


def test_the_viewer_of_the_documentation_needs_nothing_from_elsewhere(nobody: Api) -> None:
    page = nobody.get("/api/docs").get_data(as_text=True)
    assert "://" not in page
    for name in ("viewer.js", "viewer.css"):
        assert f"/api/docs/{name}" in page
        assert nobody.get(f"/api/docs/{name}").status_code == 200
    problem(nobody.get("/api/docs/../http.py"), 404, "not_found")
    problem(nobody.get("/api/docs/none.js"), 404, "not_found")


def test_the_document_names_every_address_of_the_api(app: Flask, nobody: Api) -> None:
    spec = ok(nobody.get("/api/openapi.json"))
    assert spec["openapi"] == "3.1.0"
    for rule in app.url_map.iter_rules():
        if not rule.rule.startswith(("/api", "/healthz", "/readyz", "/auth")):
            continue
        path = rule.rule.replace("<path:", "<").replace("<", "{").replace(">", "}")
        for method in rule.methods - {"HEAD", "OPTIONS"}:
            assert method.lower() in spec["paths"][path]
    for code in ("validation_failed", "outside_workspace", "method_not_allowed"):
        assert spec["x-error-codes"][code]
    text = json.dumps(spec)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in spec["components"]["schemas"]
    assert BASE not in text
