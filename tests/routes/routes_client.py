"""A client of the HTTP side that is somebody, and how its answers are checked."""

import io
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

BASE = "http://127.0.0.1:8000"
ADMIN_TOKEN = "the-administrators-token"


class Api:
    """A client that is somebody: adds the sign-in to every request, and the server's address."""

    def __init__(self, client: FlaskClient, headers: dict[str, str]) -> None:
        self.client = client
        self.headers = headers

    def open(self, method: str, path: str, **kw: Any) -> TestResponse:
        """Any request; `headers` are added to those of the sign-in."""
        headers = {**self.headers, **kw.pop("headers", {})}
        kw.setdefault("buffered", True)
        return self.client.open(path, method=method, base_url=BASE, headers=headers, **kw)

    def get(self, path: str, /, **query: Any) -> TestResponse:
        """GET with a query string."""
        return self.open("GET", path, query_string=query)

    def post(self, path: str, body: Any = None, **kw: Any) -> TestResponse:
        """POST JSON."""
        return self.open("POST", path, json={} if body is None else body, **kw)

    def patch(self, path: str, body: Any, **kw: Any) -> TestResponse:
        """PATCH JSON."""
        return self.open("PATCH", path, json=body, **kw)

    def put(self, path: str, data: bytes, **kw: Any) -> TestResponse:
        """PUT bytes."""
        return self.open("PUT", path, data=data, **kw)

    def delete(self, path: str, **kw: Any) -> TestResponse:
        """DELETE."""
        return self.open("DELETE", path, **kw)

    def upload(self, path: str, name: str, content: bytes, /, **query: Any) -> TestResponse:
        """POST one file as a multipart body."""
        data = {"file": (io.BytesIO(content), name)}
        return self.open("POST", path, data=data, query_string=query, content_type="multipart/form-data")

    # ------------------------------------------------------------ shorthands
    def project(self, name: str = "Work", **more: Any) -> str:
        """A new project's id."""
        return str(ok(self.post("/api/projects", {"name": name, **more}), 201)["id"])

    def conversation(self, **values: Any) -> str:
        """A new conversation's id."""
        return str(ok(self.post("/api/conversations", values), 201)["id"])

    def say(self, conversation: str, content: str, **more: Any) -> dict[str, Any]:
        """Send a message: `{message, run}`."""
        return ok(self.post(f"/api/conversations/{conversation}/messages", {"content": content, **more}), 202)


def ok(response: TestResponse, status: int = 200) -> Any:
    """The JSON of an answer that has this status."""
    assert response.status_code == status, response.get_data(as_text=True)
    return response.get_json()


def problem(response: TestResponse, status: int, code: str) -> dict[str, Any]:
    """The problem of an answer that has this status and code."""
    assert response.status_code == status, response.get_data(as_text=True)
    assert response.mimetype == "application/problem+json"
    body: dict[str, Any] = response.get_json()
    assert body["code"] == code, body
    assert body["status"] == status
    assert {"type", "title", "detail"} <= set(body)
    return body
