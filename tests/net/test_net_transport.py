"""TLS by name to a checked address, the owner's proxy, and no other proxy."""

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from net_sites import Site, http

from backend.errors import FetchError, FetchRetryable, SsrfViolation
from backend.net import Fetcher, FetchSettings, connect, default_fetcher
from backend.net.connect import Proxy
from backend.net.ssrf import parse_allow

NAME = "secure.example.com"


def certificate(folder: Path) -> Path:
    """A self-signed certificate for NAME and 127.0.0.1, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "server.pem"
    file.write_bytes(pem)
    return file


class SecureSite:
    """Speaks TLS, remembers the name that the client asked for."""

    def __init__(self, pem: Path) -> None:
        self.names: list[str | None] = []
        self.requests: list[bytes] = []
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pem)
        self._context.sni_callback = lambda _sock, name, _context: self.names.append(name)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                raw, _ = self._socket.accept()
            except OSError:
                return
            try:
                with self._context.wrap_socket(raw, server_side=True) as connection:
                    self.requests.append(connection.recv(65536))
                    connection.sendall(http("secure words", kind="text/plain"))
            except OSError:
                raw.close()

    def stop(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure(pem: Path) -> Iterator[SecureSite]:
    server = SecureSite(pem)
    yield server
    server.stop()


@pytest.fixture
def trusted(pem: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The certificate is in the system's trust store."""
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    connect._tls.cache_clear()
    yield
    connect._tls.cache_clear()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name is this machine."""

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def fetcher(**more: Any) -> Fetcher:
    return Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), obey_robots=False, total_seconds=5, **more))


@pytest.mark.usefixtures("trusted", "names")
def test_tls_is_spoken_with_the_name_of_the_address(secure: SecureSite) -> None:
    page = fetcher().fetch(f"https://{NAME}.:{secure.port}/x")
    assert page.body == b"secure words"
    assert secure.names == [NAME]
    assert f"\r\nHost: {NAME}:{secure.port}\r\n".encode() in secure.requests[0]


@pytest.mark.usefixtures("trusted")
def test_a_certificate_for_an_address_counts(secure: SecureSite) -> None:
    assert fetcher().fetch(f"https://127.0.0.1:{secure.port}/x").status == 200


@pytest.mark.usefixtures("trusted", "names")
def test_a_certificate_for_another_name_does_not(secure: SecureSite) -> None:
    with pytest.raises(FetchError, match="certificate") as caught:
        fetcher().fetch(f"https://other.example.com:{secure.port}/x")
    assert not caught.value.retryable
    assert secure.requests == [] or secure.requests == [b""]


@pytest.mark.usefixtures("names")
def test_an_unknown_issuer_is_not_trusted(secure: SecureSite) -> None:
    with pytest.raises(FetchError, match="certificate"):
        fetcher().fetch(f"https://{NAME}:{secure.port}/x")


def test_a_server_without_tls_is_said_to_be_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=answer_plainly, args=(door,), daemon=True).start()
        with pytest.raises(FetchError, match="TLS"):
            fetcher().fetch(f"https://127.0.0.1:{door.getsockname()[1]}/")


def answer_plainly(door: socket.socket) -> None:
    connection, _ = door.accept()
    with connection, contextlib.suppress(OSError):
        connection.recv(4096)
        connection.sendall(http())
        connection.recv(4096)


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_never_used(
    name: str, site: Site, other_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, other_site.url)
    assert fetcher().fetch(site.url + "/x").status == 200
    assert other_site.requests == []


class TestProxy:
    """NANOCLAW_FETCH_PROXY."""

    def settings(self, site: Site) -> dict[str, Any]:
        return {"proxy": Proxy.parse(f"http://me:p%40ss@127.0.0.1:{site.port}")}

    def test_takes_the_request_for_http(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", resolver({"www.example.com": "93.184.215.14"}))
        assert fetcher(**self.settings(site)).fetch("http://www.example.com/a?b=c").body
        assert site.requests[0].startswith(b"GET http://www.example.com/a?b=c HTTP/1.1\r\n")
        assert b"\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n" in site.requests[0]

    @pytest.mark.usefixtures("trusted")
    def test_is_a_tunnel_for_https(self, site: Site, secure: SecureSite, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", resolver({NAME: "93.184.215.14"}))

        def tunnel(connection: socket.socket, _request: bytes) -> None:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with socket.create_connection(("127.0.0.1", secure.port)) as onward:
                back = threading.Thread(target=pump, args=(onward, connection), daemon=True)
                back.start()
                pump(connection, onward)
                back.join(5)

        site.answer = tunnel
        page = fetcher(**self.settings(site)).fetch(f"https://{NAME}/x")
        assert page.body == b"secure words"
        assert site.requests[0].startswith(f"CONNECT {NAME}:443 HTTP/1.1\r\n".encode())
        assert b"Proxy-Authorization" not in secure.requests[0]

    @pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "502 Bad Gateway"])
    def test_that_refuses_is_named(self, status: str, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", resolver({NAME: "93.184.215.14"}))
        site.answer = http(status=status)
        with pytest.raises(FetchRetryable, match=status[:3]):
            fetcher(**self.settings(site)).fetch(f"https://{NAME}/x")

    @pytest.mark.parametrize(
        "url",
        [
            "http://127.0.0.2/",
            "http://169.254.169.254/",
            "http://inside.example.com/",
            "http://printer/",
            "http://db.internal/",
            "http://localhost/",
            "http://0x7f000002/",
        ],
    )
    def test_is_not_asked_for_what_is_private(self, url: str, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        private = {"inside.example.com": "10.0.0.1", "localhost": "127.0.0.2", "0x7f000002": "127.0.0.2"}
        monkeypatch.setattr(socket, "getaddrinfo", resolver(private))
        with pytest.raises(SsrfViolation):
            fetcher(**self.settings(site)).fetch(url)
        assert site.requests == []

    def test_may_know_names_that_this_machine_does_not(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", resolver({}))
        assert fetcher(**self.settings(site)).fetch("http://www.example.com/").status == 200

    @pytest.mark.parametrize("text", ["socks5://h:1", "https://h:1", "http://", "ftp://h"])
    def test_of_another_kind_is_a_wrong_setting(self, text: str) -> None:
        with pytest.raises(ValueError, match="NANOCLAW_FETCH_PROXY"):
            Proxy.parse(text)


def resolver(table: dict[str, str]) -> Any:
    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        address = host if host.startswith("127.") else table.get(host)
        if address is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    return resolve


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"NANOCLAW_FETCH_ALLOW": "wiki.corp:8080, 10.0.0.0/8", "NANOCLAW_FETCH_PROXY": "proxy.corp:3128"}
    settings = FetchSettings.from_environment(environ, frozenset({8000}))
    assert [entry.port for entry in settings.allow] == [8080, None]
    assert settings.proxy == Proxy("proxy.corp", 3128)
    assert settings.own_ports == {8000}
    monkeypatch.setenv("NANOCLAW_FETCH_ALLOW", "127.0.0.9")
    assert len(default_fetcher().settings.allow) == 1


def test_a_port_named_later_is_refused_too(site: Site) -> None:
    reader = fetcher()
    assert reader.fetch(site.url + "/x").status == 200
    reader.refuse_own_port(site.port)
    with pytest.raises(SsrfViolation, match="NanoClaw itself"):
        reader.fetch(site.url + "/x")
