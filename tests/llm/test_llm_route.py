"""The way to a server: proxies of the environment, names, certificates."""

import contextlib
import socket
import ssl
import threading

import pytest
from llm_raw import proxy
from support.model_server import ModelServer, Turn

from backend.agent.types import ModelRequest
from backend.cancel import CancelToken
from backend.errors import ModelCancelled, ModelError, ModelTransient
from backend.llm.openai_compat import OpenAICompatible
from backend.llm.route import is_loopback, proxy_for, resolve
from backend.llm.server import ServerSettings

MESSAGES = [{"role": "user", "content": "Hi."}]


def test_without_settings_there_is_no_proxy(environment: pytest.MonkeyPatch) -> None:
    assert proxy_for("https", "api.example.com", 443) is None


def test_the_proxy_of_the_environment(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTPS_PROXY", "http://me:p%40ss@proxy.example:3128")
    environment.setenv("NO_PROXY", "direct.example")
    proxy = proxy_for("https", "api.example.com", 443)
    assert proxy is not None
    assert (proxy.host, proxy.port, proxy.credentials) == ("proxy.example", 3128, "me:p@ss")
    assert proxy_for("http", "api.example.com", 80) is None
    assert proxy_for("https", "direct.example", 443) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "x.localhost"])
def test_this_machine_is_reached_without_a_proxy(environment: pytest.MonkeyPatch, host: str) -> None:
    environment.setenv("HTTP_PROXY", "http://proxy.example:3128")
    assert is_loopback(host)
    assert proxy_for("http", host, 80) is None


@pytest.mark.parametrize("host", ["127.example.com", "localhost.example.com", "10.0.0.1", "::2"])
def test_what_is_not_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_a_proxy_of_another_kind_is_refused_in_words(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("ALL_PROXY", "socks5://proxy.example:1080")
    with pytest.raises(ModelError, match="socks5"):
        proxy_for("https", "api.example.com", 443)


def test_a_request_through_a_proxy(environment: pytest.MonkeyPatch, model_server: ModelServer) -> None:
    seen: list[bytes] = []
    model_server.script("m", [Turn(text="through")])
    with proxy(int(model_server.url.split(":")[2].split("/")[0]), seen) as port:
        environment.setenv("HTTP_PROXY", f"http://me:secret@127.0.0.1:{port}")
        provider = OpenAICompatible(ServerSettings("p", "http://api.example.test/v1"))
        with contextlib.closing(provider):
            assert provider.chat(ModelRequest("m", MESSAGES), None, CancelToken()).text == "through"
    assert seen[0].startswith(b"POST http://api.example.test/v1/chat/completions HTTP/1.1\r\n")
    assert b"\r\nHost: api.example.test\r\n" in seen[0]
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in seen[0]


def test_a_proxy_that_refuses_a_tunnel(environment: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    with proxy(9, seen, b"407 Proxy Authentication Required") as port:
        environment.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        provider = OpenAICompatible(ServerSettings("p", "https://api.example.test/v1"))
        cancel = CancelToken()
        # The refusal counts as a fault and would be tried again: the notice of the wait ends the test.
        with contextlib.closing(provider), pytest.raises(ModelCancelled):
            provider.chat(ModelRequest("m", MESSAGES), lambda delta: (_check(delta.text), cancel.set())[1], cancel)
    assert seen[0].startswith(b"CONNECT api.example.test:443 HTTP/1.")


def _check(text: str) -> None:
    assert "refused the connection to api.example.test (407)" in text


def test_a_server_that_speaks_no_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(4):
                with contextlib.suppress(OSError):
                    sock, _ = listener.accept()
                    sock.recv(100)
                    sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    sock.close()

        threading.Thread(target=serve, daemon=True).start()
        provider = OpenAICompatible(ServerSettings("p", f"https://127.0.0.1:{listener.getsockname()[1]}/v1"))
        cancel = CancelToken()
        texts: list[str] = []
        with contextlib.closing(provider), pytest.raises(ModelCancelled):
            provider.chat(
                ModelRequest("m", MESSAGES), lambda delta: (texts.append(delta.text), cancel.set())[1], cancel
            )
    assert "127.0.0.1" in texts[0]
    assert issubclass(ssl.SSLError, OSError)


def test_a_name_is_looked_up_and_a_cancel_leaves_the_look_up_behind() -> None:
    assert resolve("localhost", 80, 5.0, CancelToken())
    assert resolve("127.0.0.1", 80, 5.0, CancelToken())[0][1][:2] == ("127.0.0.1", 80)


def test_a_name_that_does_not_exist() -> None:
    provider = OpenAICompatible(ServerSettings("p", "http://no-such-host.invalid/v1"))
    cancel = CancelToken()
    texts: list[str] = []
    with contextlib.closing(provider), pytest.raises((ModelCancelled, ModelTransient)):
        provider.chat(ModelRequest("m", MESSAGES), lambda delta: (texts.append(delta.text), cancel.set())[1], cancel)
    assert "no-such-host.invalid" in texts[0]
