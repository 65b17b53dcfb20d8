"""Clients that leave, stay silent or garble what they send: nothing half is kept, and nobody else waits."""

import json
import socket
from collections.abc import Iterator

import pytest
from support.server import TOKEN, Server

SILENT = 300


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of this module, with far fewer threads than silent clients."""
    with Server(tmp_path_factory.mktemp("attacked") / "instance", NANOCLAW_THREADS="100") as started:
        yield started


@pytest.fixture
def content(server: Server) -> str:
    """The path of a file that holds b"whole"."""
    project = server.post("/api/projects", {"name": "p"})["id"]
    path = f"/api/projects/{project}/files/content?path=a.txt"
    server.call("PUT", path, data=b"whole")
    return path


def _connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def _head(server: Server, method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {TOKEN}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def _status(sock: socket.socket) -> int:
    return int(sock.recv(4096).split(b" ", 2)[1])


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("Content-Length: 2000", b"a" * 1000),
        ("Transfer-Encoding: chunked", b"3e8\r\n" + b"a" * 1000 + b"\r\n"),
        ("Transfer-Encoding: chunked", b"3\r\nabc\r\nzz\r\n"),
    ],
)
def test_half_a_body_leaves_the_file_as_it_was(server: Server, content: str, header: str, body: bytes) -> None:
    with _connect(server) as sock:
        sock.sendall(_head(server, "PUT", content, header) + body)
        sock.shutdown(socket.SHUT_WR)
        assert _status(sock) == 400
    assert server.call("GET", content).content == b"whole"


def test_a_refused_upload_hears_why_though_it_is_large(server: Server) -> None:
    for path in ("/api/projects/none/files/content?path=a", "/api/projects"):
        body = b"a" * (6 << 20)
        with _connect(server) as sock:
            sock.sendall(_head(server, "PUT", path, f"Content-Length: {len(body)}") + body)
            assert _status(sock) in (404, 405)


def test_json_without_a_length_is_too_large_rather_than_malformed(server: Server) -> None:
    pieces = iter([b'{"name":"'] + [b"a" * (1 << 20)] * 5 + [b'"}'])
    headers = {"Content-Type": "application/json"}
    answer = server.session.post(f"{server.url}/api/projects", data=pieces, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_silent_and_lingering_clients_hold_no_thread(server: Server) -> None:
    silent = [_connect(server) for _ in range(SILENT)]
    lingering = [_connect(server) for _ in range(20)]
    for sock in lingering:
        sock.sendall(_head(server, "GET", "/healthz", "Connection: close"))
        assert _status(sock) == 200  # the server has closed its side; we leave ours open
    assert server.get("/healthz", timeout=4) == {"status": "ok"}
    for sock in silent + lingering:
        sock.close()


def test_a_page_that_is_reloaded_keeps_its_streams(server: Server) -> None:
    token = server.post("/api/auth/tokens", {"name": "a person, not automation"})["token"]
    head = _head(server, "GET", "/api/events").replace(TOKEN.encode(), token.encode())
    for _ in range(30):
        with _connect(server) as sock:
            sock.sendall(head)
            assert _status(sock) == 200
    kept = [_connect(server) for _ in range(9)]
    for sock in kept:
        sock.sendall(head)
    assert sorted(_status(sock) for sock in kept) == [200] * 8 + [503]
    for sock in kept:
        sock.close()


def test_a_long_name_in_chinese_fits_an_address(server: Server, content: str) -> None:
    path = content.replace("a.txt", "/".join(["文件夹" * 25] * 3))
    server.call("PUT", path, expect=201, data=b"x")
    assert server.call("GET", path).content == b"x"
    assert server.get(f"/api/search?q={'很长的问题' * 100}")["items"] == []


@pytest.mark.parametrize(
    ("head", "status", "code"),
    [
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", 414, "too_large"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 431, "too_large"),
        (b"<script> / HTTP/1.1\r\n\r\n", 400, "bad_request"),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "bad_request"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "bad_request"),
    ],
)
def test_what_is_no_request_is_refused_as_everything_is(server: Server, head: bytes, status: int, code: str) -> None:
    with _connect(server) as sock:
        sock.sendall(head)
        answer = b"".join(iter(lambda: sock.recv(4096), b""))
    top, _, body = answer.partition(b"\r\n\r\n")
    assert int(top.split(b" ", 2)[1]) == status
    assert b"nosniff" in top
    assert json.loads(body)["code"] == code
    assert b"<script>" not in body
