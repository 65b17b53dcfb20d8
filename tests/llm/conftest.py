"""A provider and servers for its tests: the replayed oddities of real servers, and the scripted one."""

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest
from cases import quirk_server
from llm_client import OPEN, Client
from support.model_server import ModelServer

PROXY_SETTINGS = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class QuietServer(ThreadingHTTPServer):
    """A client that leaves early is part of the tests, not worth a trace."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@pytest.fixture(scope="session")
def quirks() -> Iterator[str]:
    """The base address of the server of oddities."""
    quirk_server.QUIET = True
    quirk_server.SALT = "tests"
    server = QuietServer(("127.0.0.1", 0), quirk_server.Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A scripted model server."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No proxy settings but the test's own."""
    for name in PROXY_SETTINGS:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Every provider of a test gives its connections back."""
    yield
    while OPEN:
        OPEN.pop().close()


@pytest.fixture
def client(model_server: ModelServer) -> Client:
    """A provider of the scripted server."""
    return Client(model_server.url)
