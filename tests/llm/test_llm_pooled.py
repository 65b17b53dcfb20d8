"""Connections: kept, stale, given up, cancelled at every stage, over TLS, and against servers that dawdle."""

import contextlib
import datetime
import gc
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from llm_raw import END, HEAD, event, proxy, raw_server, read_request

from backend.agent.types import Delta, ModelReply, ModelRequest
from backend.cancel import CancelToken
from backend.errors import ModelCancelled, ModelError, ModelTimeout, ModelTransient
from backend.llm import pooled
from backend.llm.openai_compat import OpenAICompatible
from backend.llm.retrying import RetryPolicy
from backend.llm.server import ServerSettings, Shared

MESSAGES = [{"role": "user", "content": "Hi."}]
BODY = event("hi", "stop") + END
CHUNK = b"%x\r\n%b\r\n" % (len(BODY), BODY)
CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE = CHUNKED_HEAD + CHUNK + b"0\r\n\r\n"
Answer = Callable[[socket.socket, bytes], None]


@contextlib.contextmanager
def provider_at(url: str) -> Iterator[OpenAICompatible]:
    """A provider that never tries a failed request again."""
    provider = OpenAICompatible(ServerSettings("p", url), Shared(retry=RetryPolicy(waits=())))
    with contextlib.closing(provider):
        yield provider


def ask(provider: OpenAICompatible, **fields: float) -> ModelReply:
    return provider.chat(ModelRequest("m", MESSAGES, **fields), None, CancelToken())


def counting(seen: list[int], answer: Answer) -> Answer:
    """Note the port that each request comes from, and answer all of a connection."""

    def serve(sock: socket.socket, data: bytes) -> None:
        while data:
            seen.append(sock.getpeername()[1])
            answer(sock, data)
            data = read_request(sock)

    return serve


# ---------------------------------------------------------------- kept connections
def test_the_end_of_a_body_that_comes_late_keeps_the_connection() -> None:
    seen: list[int] = []
    go_on, gone_on = threading.Event(), threading.Event()

    def answer(sock: socket.socket, data: bytes) -> None:
        sock.sendall(CHUNKED_HEAD + CHUNK)
        assert go_on.wait(10)
        sock.sendall(b"0\r\n\r\n")
        gone_on.set()

    with raw_server(counting(seen, answer)) as url, provider_at(url) as provider:
        for _ in range(3):
            go_on.clear()
            gone_on.clear()
            assert ask(provider).text == "hi"  # [DONE] ends it although the body goes on
            go_on.set()
            assert gone_on.wait(10)
    assert len(seen) == 3
    assert len(set(seen)) == 1


@pytest.mark.parametrize("tail", [b"", b"5\r\nmo", b"zz\r\n"], ids=["nothing", "half a chunk", "no chunk"])
def test_a_body_that_has_not_ended_costs_the_connection(tail: bytes) -> None:
    seen: list[int] = []
    with raw_server(counting(seen, lambda sock, data: sock.sendall(CHUNKED_HEAD + CHUNK + tail))) as url:
        with provider_at(url) as provider:
            assert [ask(provider).text for _ in range(2)] == ["hi", "hi"]
    assert len(set(seen)) == 2


def test_a_body_without_an_end_is_not_read_for_ever() -> None:
    seen: list[int] = []

    def answer(sock: socket.socket, data: bytes) -> None:
        sock.sendall(CHUNKED_HEAD + CHUNK)
        while True:
            sock.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")

    with raw_server(counting(seen, answer)) as url, provider_at(url) as provider:
        assert [ask(provider).text for _ in range(2)] == ["hi", "hi"]
    assert len(set(seen)) == 2


def test_an_answer_given_up_costs_the_connection() -> None:
    seen: list[int] = []

    def broken(delta: Delta) -> None:
        raise RuntimeError("the listener")

    with raw_server(counting(seen, lambda sock, data: sock.sendall(WHOLE))) as url, provider_at(url) as provider:
        with pytest.raises(RuntimeError, match="the listener"):
            provider.chat(ModelRequest("m", MESSAGES), broken, CancelToken())
        assert ask(provider).text == "hi"
    assert len(set(seen)) == 2


def test_a_late_cancel_leaves_the_next_request_alone() -> None:
    seen: list[int] = []
    first = CancelToken()

    def answer(sock: socket.socket, data: bytes) -> None:
        if len(seen) == 2:
            first.set()
        sock.sendall(WHOLE)

    with raw_server(counting(seen, answer)) as url, provider_at(url) as provider:
        assert provider.chat(ModelRequest("m", MESSAGES), None, first).text == "hi"
        assert ask(provider).text == "hi"
    assert len(set(seen)) == 1


def stale(seen: list[int], first_answers: int) -> Answer:
    """A server that answers so many requests and then closes each connection as a request comes."""

    def answer(sock: socket.socket, data: bytes) -> None:
        if len(seen) <= first_answers:
            sock.sendall(WHOLE)
        else:
            sock.shutdown(socket.SHUT_RDWR)

    return counting(seen, answer)


def test_a_stale_connection_is_replaced_once_and_by_a_new_one() -> None:
    seen: list[int] = []
    with raw_server(stale(seen, 1)) as url, provider_at(url) as provider:
        assert ask(provider).text == "hi"
        with pytest.raises(ModelTransient, match="closed before the model answered"):
            ask(provider)
    assert len(seen) == 3  # the kept connection, then a new one, and no more
    assert seen[0] == seen[1] != seen[2]


def test_a_request_whose_answer_had_begun_is_not_sent_again() -> None:
    seen: list[int] = []

    def answer(sock: socket.socket, data: bytes) -> None:
        if len(seen) == 1:
            sock.sendall(WHOLE)
        else:
            sock.sendall(b"HTTP/1.1 200 O")
            sock.shutdown(socket.SHUT_RDWR)

    with raw_server(counting(seen, answer)) as url, provider_at(url) as provider:
        ask(provider)
        with pytest.raises(ModelTransient):
            ask(provider)
    assert len(seen) == 2


def test_a_new_connection_that_fails_is_no_stale_one() -> None:
    seen: list[int] = []
    with raw_server(stale(seen, 0)) as url, provider_at(url) as provider, pytest.raises(ModelTransient):
        ask(provider)
    assert len(seen) == 1


def test_more_requests_at_once_than_connections_are_kept() -> None:
    many = pooled.IDLE_CONNECTIONS + 4
    together = threading.Barrier(many)
    texts: list[str] = []

    def answer(sock: socket.socket, data: bytes) -> None:
        together.wait(20)
        sock.sendall(WHOLE)

    with raw_server(answer) as url, provider_at(url) as provider:
        threads = [threading.Thread(target=lambda: texts.append(ask(provider).text)) for _ in range(many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert texts == ["hi"] * many
    gc.collect()  # a socket left open would be a warning, and that an error


# ---------------------------------------------------------------- framings
def test_a_chunked_body_with_all_that_is_allowed() -> None:
    parts = [BODY[:10], BODY[10:11], BODY[11:]]
    body = b"".join(b"%X;name=value\r\n%b\r\n" % (len(p), p) for p in parts) + b"0\r\nTrailer: x\r\n\r\n"
    data = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n" + body
    sent = threading.Event()

    def answer(sock: socket.socket, asked: bytes) -> None:
        for i in range(len(data)):
            sock.sendall(data[i : i + 1])
        sent.set()

    seen: list[int] = []
    with raw_server(counting(seen, answer)) as url, provider_at(url) as provider:
        for _ in range(2):
            sent.clear()
            assert ask(provider).text == "hi"
            assert sent.wait(10)
    assert len(set(seen)) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"220 mail.example.com ESMTP\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        CHUNKED_HEAD + b"-5\r\nhello",
        CHUNKED_HEAD + b"f" * 100_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ndata: {",
        b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot packed at all",
    ],
    ids=["mail", "status", "headers", "header", "negative", "endless line", "cut", "length", "gzip"],
)
def test_answers_that_are_no_http_are_told_in_words(data: bytes) -> None:
    def answer(sock: socket.socket, asked: bytes) -> None:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)

    with raw_server(answer) as url, provider_at(url) as provider, pytest.raises(ModelError) as caught:
        ask(provider)
    assert caught.value.retryable


# ---------------------------------------------------------------- limits
@pytest.mark.parametrize("part", ["head", "chunk"])
def test_a_server_that_dawdles_meets_the_total_limit(part: str) -> None:
    """Each byte comes soon after the one before: no single wait is long."""
    enough = threading.Event()

    def answer(sock: socket.socket, data: bytes) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nX: " if part == "head" else CHUNKED_HEAD)
        while not enough.wait(0.02):
            sock.sendall(b"0")

    with raw_server(answer) as url, provider_at(url) as provider:
        with pytest.raises(ModelTimeout, match="timed out"):
            ask(provider, total_timeout=0.4, idle_timeout=0.4)
        enough.set()


def test_a_long_request_is_sent_whole_and_one_that_is_not_read_meets_the_limit() -> None:
    long = [{"role": "user", "content": "x" * 20_000_000}]
    enough = threading.Event()

    def wrap(sock: socket.socket) -> socket.socket:
        enough.wait(10)
        return sock

    with raw_server(lambda sock, data: sock.sendall(WHOLE)) as url, provider_at(url) as provider:
        assert provider.chat(ModelRequest("m", long), None, CancelToken()).text == "hi"
    with raw_server(lambda sock, data: None, wrap) as url, provider_at(url) as provider:
        with pytest.raises(ModelTimeout, match="timed out"):
            provider.chat(ModelRequest("m", long, total_timeout=0.5), None, CancelToken())
        enough.set()


# ---------------------------------------------------------------- cancel
def cancelled_error(url: str, ready: threading.Event) -> ModelError:
    """What a request ends with that is cancelled once `ready` is set."""
    cancel = CancelToken()
    caught: list[ModelError] = []

    def work() -> None:
        try:
            provider.chat(ModelRequest("m", MESSAGES), None, cancel)
        except ModelError as e:
            caught.append(e)

    with provider_at(url) as provider:
        thread = threading.Thread(target=work)
        thread.start()
        assert ready.wait(10)
        cancel.set()
        thread.join(5)
        assert not thread.is_alive()
    return caught[0]


def test_cancel_while_connecting() -> None:
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        # With its queue full the kernel drops further greetings, so that a connection is neither made nor refused.
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        connecting = threading.Event()
        threading.Timer(0.2, connecting.set).start()
        error = cancelled_error(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", connecting)
    assert isinstance(error, ModelCancelled)


def test_cancel_in_the_greeting_of_tls() -> None:
    greeted = threading.Event()

    def answer(sock: socket.socket, data: bytes) -> None:
        raise AssertionError("nothing can be asked before the greeting is over")

    def wrap(sock: socket.socket) -> socket.socket:
        assert sock.recv(1) == b"\x16"  # a client's hello
        greeted.set()
        sock.recv(65536)
        while sock.recv(65536):
            pass
        return sock

    with raw_server(answer, wrap) as url:
        error = cancelled_error(url.replace("http", "https", 1), greeted)
    assert isinstance(error, ModelCancelled)


# ---------------------------------------------------------------- TLS
@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for 127.0.0.1 and a name, which signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("api.example.test")]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


@pytest.fixture
def secure(certificate: Path) -> Iterator[Callable[[socket.socket], socket.socket]]:
    """Wraps a server's socket; the client's trust is read anew before and after."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    pooled.tls_context.cache_clear()
    yield lambda sock: context.wrap_socket(sock, server_side=True)
    pooled.tls_context.cache_clear()


def test_tls_with_a_trusted_certificate(
    secure: Callable[[socket.socket], socket.socket], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    seen: list[int] = []
    with raw_server(counting(seen, lambda sock, data: sock.sendall(WHOLE)), secure) as url:
        with provider_at(url.replace("http", "https", 1)) as provider:
            assert [ask(provider).text for _ in range(3)] == ["hi"] * 3
    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_tls_through_a_proxy(
    secure: Callable[[socket.socket], socket.socket], certificate: Path, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    seen: list[int] = []
    asked: list[bytes] = []
    with raw_server(counting(seen, lambda sock, data: sock.sendall(WHOLE)), secure) as url:
        with proxy(int(url.split(":")[2].split("/")[0]), asked) as port:
            environment.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{port}")
            with provider_at("https://api.example.test/v1") as provider:
                assert [ask(provider).text for _ in range(2)] == ["hi", "hi"]
    assert len(set(seen)) == 1
    assert [a.split(b" HTTP")[0] for a in asked] == [b"CONNECT api.example.test:443"]
    assert b"\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n" in asked[0]


def test_a_proxy_that_is_not_there(environment: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environment.setenv("ALL_PROXY", f"http://127.0.0.1:{port}")
    for scheme in ("http", "https"):
        with provider_at(f"{scheme}://api.example.test/v1") as provider:
            with pytest.raises(ModelTransient, match=r"proxy 127\.0\.0\.1 cannot be reached"):
                ask(provider)


def test_tls_with_a_certificate_of_nobody(secure: Callable[[socket.socket], socket.socket]) -> None:
    seen: list[int] = []
    with raw_server(counting(seen, lambda sock, data: sock.sendall(WHOLE)), secure) as url:
        with provider_at(url.replace("http", "https", 1)) as provider:
            with pytest.raises(ModelTransient, match=r"certificate of 127\.0\.0\.1 cannot be verified"):
                ask(provider)
    assert seen == []


@pytest.mark.parametrize("moment", ["silence", "cancel", "dawdling"])
def test_a_stream_over_tls_ends_as_one_without(
    secure: Callable[[socket.socket], socket.socket],
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    enough, begun = threading.Event(), threading.Event()

    def answer(sock: socket.socket, data: bytes) -> None:
        sock.sendall(HEAD + event("x" * 60))
        begun.set()
        while not enough.wait(0.02):
            sock.sendall(b":" if moment == "dawdling" else b"")

    with raw_server(answer, secure) as url:
        url = url.replace("http", "https", 1)
        if moment == "cancel":
            assert isinstance(cancelled_error(url, begun), ModelCancelled)
        else:
            with provider_at(url) as provider, pytest.raises(ModelTimeout):
                ask(provider, idle_timeout=0.3)
        enough.set()


# ---------------------------------------------------------------- addresses and headers
@pytest.mark.parametrize("host", ["a..b", "x" * 70, "[::g]"])
def test_a_host_that_is_none(host: str) -> None:
    with provider_at(f"http://{host}/v1") as provider, pytest.raises(ModelError):
        ask(provider)


def test_headers_beyond_ascii_and_names_that_are_none() -> None:
    seen: list[bytes] = []

    def answer(sock: socket.socket, data: bytes) -> None:
        seen.append(data)
        sock.sendall(WHOLE)

    with raw_server(answer) as url:
        for headers in ({"X-Title": "Zoë 世界"}, {"X Title": "x"}):
            provider = OpenAICompatible(ServerSettings("p", url.replace("//", "//me:pass@"), headers=headers))
            with contextlib.closing(provider):
                if "X Title" in headers:
                    with pytest.raises(ModelError, match="header"):
                        ask(provider)
                else:
                    ask(provider)
    assert len(seen) == 1
    assert "X-Title: Zoë 世界\r\n".encode() in seen[0]
    assert b"me:pass" not in seen[0]
