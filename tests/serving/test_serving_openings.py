"""Who gets a thread or stands in the line of those that open streams, and that nobody can hold others up."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from support.server import TOKEN, Server

from backend.serving.openings import opens_stream

WAIT_SECONDS = 30.0
# As few as may be: what takes them all is soon done.
THREADS = 20
CONNECTIONS = 4 * THREADS
STREAMS = ["/api/events", "/api/runs/r1/events", "/api/runs/r1/events?after=7", "/api/tasks/t1/events"]
OTHERS = [
    "/api/runs/r1",
    "/api/runs?next=/events",
    "/api/runs/events /x",
    "/events",
    "/api/runs/r1/events/",
    "/api/eventslog",
]


def _asks(text: str) -> bool:
    client, served = socket.socketpair()
    with client, served:
        return opens_stream(text.encode(), served)


@pytest.mark.parametrize("path", STREAMS)
def test_a_whole_request_for_a_stream_is_known(path: str) -> None:
    assert _asks(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")


@pytest.mark.parametrize("path", OTHERS)
def test_other_addresses_are_not(path: str) -> None:
    assert not _asks(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")


@pytest.mark.parametrize(
    "text",
    [
        "GET /api/events HTTP/1.1\r\nHost: x\r\n",
        "GET /api/events HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf",
        "POST /api/events HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /api/events HTTP/1.1\r\nX: " + "x" * 9000 + "\r\n\r\n",
        "",
    ],
)
def test_what_might_make_its_thread_wait_is_served_by_the_others(text: str) -> None:
    assert not _asks(text)


def test_a_client_that_does_not_read_its_answers_is_served_by_the_others() -> None:
    client, served = socket.socketpair()
    with client, served:
        served.setblocking(False)
        with suppress(BlockingIOError):
            while served.send(bytes(65_536)):
                pass
        assert not opens_stream(b"GET /api/events HTTP/1.1\r\n\r\n", served)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(
        tmp_path_factory.mktemp("openings") / "instance", NANOCLAW_SANDBOX="off", NANOCLAW_THREADS=str(THREADS)
    ) as running:
        yield running


def _connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_SECONDS)


def test_streams_open_while_many_wait_for_the_rest_of_their_request(server: Server) -> None:
    half = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    for sock in half:
        sock.sendall(b"GET /api/events HTTP/1.1\r\n")
    run = server.post("/api/tasks", {"input": "/calculator 20+22"})
    assert server.events(run["id"])[-1][1] == "run.finished"
    for sock in half:
        sock.close()


def test_a_request_that_was_read_ahead_is_answered_and_holds_nobody_up(server: Server) -> None:
    head = f"HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    unread = "x" * 3000
    first = (
        f"POST /api/runs/nothing/cancel {head}Content-Type: text/plain\r\nContent-Length: {len(unread)}\r\n\r\n{unread}"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_SECONDS) as sock:
        sock.sendall(f"{first}GET /healthz {head}\r\nGET /api/runs/nothing/events {head}\r\n".encode())
        told = b""
        while told.count(b"HTTP/1.1 ") < 3:
            data = sock.recv(65_536)
            assert data, told
            told += data
        assert server.get("/healthz")["status"] == "ok"
    assert re.findall(rb"HTTP/1\.1 (\d+)", told) == [b"404", b"200", b"404"]


def _status(sock: socket.socket) -> str:
    return sock.recv(65_536).decode()[9:12]


def test_half_a_head_holds_no_thread(server: Server) -> None:
    with ExitStack() as open_sockets:
        half = [open_sockets.enter_context(_connect(server)) for _ in range(THREADS + 5)]
        for sock in half:
            sock.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert server.get("/healthz")["status"] == "ok"
        for sock in half:
            sock.sendall(f"Host: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert {_status(sock) for sock in half} == {"200"}


def test_those_who_ask_nothing_make_room_for_those_who_do(server: Server) -> None:
    with ExitStack() as open_sockets:
        silent = [open_sockets.enter_context(_connect(server)) for _ in range(CONNECTIONS + 9)]
        assert server.get("/healthz")["status"] == "ok"
        for sock in (silent[-1], silent[CONNECTIONS // 2]):
            sock.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            assert _status(sock) == "200"
        assert silent[0].recv(1) == b""


def test_a_head_without_end_is_refused(server: Server) -> None:
    with _connect(server) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\n" + b"X: 0123456789\r\n" * 5000)
        assert _status(sock) == "431"


def test_http_1_0_gets_a_stream_without_chunks(server: Server) -> None:
    run = server.post("/api/tasks", {"input": "/calculator 20+22"})
    server.events(run["id"])
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_SECONDS) as sock:
        asked = f"GET /api/runs/{run['id']}/events HTTP/1.0\r\nHost: 127.0.0.1:{server.port}\r\n"
        sock.sendall(f"{asked}Authorization: Bearer {TOKEN}\r\n\r\n".encode())
        told = b""
        while data := sock.recv(65_536):
            told += data
    head, _, body = told.decode().partition("\r\n\r\n")
    assert " 200 " in head.splitlines()[0]
    assert "chunked" not in head
    assert body.startswith("retry: 1000\n\nid: 1\nevent: run.started\n")
    assert "event: run.finished\n" in body
    assert body.endswith("\n\n")
