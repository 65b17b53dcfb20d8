"""Opens the connection of one request: to an address that was checked, or through the owner's proxy."""

import http.client
import socket
import ssl
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote, urlsplit

from ..errors import FetchError, FetchRetryable
from .lifeline import Lifeline
from .ssrf import Address
from .urls import Target

CONNECT_SECONDS = 10.0
MAX_TRIED_ADDRESSES = 3
MAX_PROXY_HEADER_BYTES = 16_384
MAX_INTERIM_ANSWERS = 20


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy named by the owner; `authorization` is the header's value, or empty."""

    host: str
    port: int
    authorization: str = ""

    @classmethod
    def parse(cls, text: str) -> "Proxy":
        """`http://[user:password@]host:port`; ValueError (without the password) for anything else."""
        parts = urlsplit(text if "://" in text else "http://" + text)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError("NANOCLAW_FETCH_PROXY must look like http://host:port")
        secret = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        basic = "Basic " + b64encode(secret.encode()).decode() if parts.username else ""
        return cls(parts.hostname, parts.port or 3128, basic)


def dial(target: Target, addresses: list[Address], life: Lifeline) -> socket.socket:
    """A connection to one of the checked addresses, with TLS for the target's own name if it is https."""
    sock = _first(target, [str(a) for a in addresses[:MAX_TRIED_ADDRESSES]], target.port, life)
    return _secure(sock, target, life) if target.scheme == "https" else sock


def dial_proxy(proxy: Proxy, target: Target, life: Lifeline) -> socket.socket:
    """A connection to the proxy; for https a tunnel through it to the target."""
    try:
        infos = socket.getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM)
    except OSError:
        raise FetchRetryable("The proxy for pages (NANOCLAW_FETCH_PROXY) has no address.") from None
    sock = _first(target, [str(info[4][0]) for info in infos][:MAX_TRIED_ADDRESSES], proxy.port, life)
    if target.scheme == "http":
        return sock
    _tunnel(sock, proxy, target)
    return _secure(sock, target, life)


def _first(target: Target, addresses: list[str], port: int, life: Lifeline) -> socket.socket:
    error: OSError | None = None
    for address in addresses:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            life.hold(sock)
            sock.settimeout(min(CONNECT_SECONDS, life.left + 1))  # the lifeline cuts it first, and says why
            sock.connect((address, port))
        except OSError as failure:
            sock.close()
            life.check()
            error = failure
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise _unreachable(target, error) from error


def _unreachable(target: Target, error: OSError | None) -> FetchRetryable:
    if isinstance(error, TimeoutError):
        return FetchRetryable(f"{target.authority} did not answer within {CONNECT_SECONDS:g} seconds.")
    if isinstance(error, ConnectionRefusedError):
        return FetchRetryable(f"{target.authority} refused the connection.")
    return FetchRetryable(f"{target.authority} cannot be reached. This machine may be without internet access.")


def _secure(sock: socket.socket, target: Target, life: Lifeline) -> socket.socket:
    try:
        return _tls().wrap_socket(sock, server_hostname=target.host)
    except ssl.SSLCertVerificationError as error:
        sock.close()
        raise FetchError(f"The certificate of {target.authority} is not valid: {error.verify_message}.") from error
    except (OSError, ValueError) as error:
        sock.close()
        life.check()
        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
            raise FetchError(f"{target.authority} does not speak TLS as expected.") from error
        raise FetchRetryable(f"The secure connection to {target.authority} broke off.") from error


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    paths = ssl.get_default_verify_paths()
    if not paths.cafile and not paths.capath:
        import certifi  # some Python builds come without a trust store

        context.load_verify_locations(certifi.where())
    return context


def _tunnel(sock: socket.socket, proxy: Proxy, target: Target) -> None:
    where = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
    lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
    head = b""
    while b"\r\n\r\n" not in head and len(head) < MAX_PROXY_HEADER_BYTES:
        more = sock.recv(1)  # one byte at a time: what follows the header belongs to TLS
        if not more:
            break
        head += more
    status = head.split(b" ", 2)[1:2]
    if status != [b"200"]:
        sock.close()
        code = status[0].decode("latin-1")[:3] if status else "nothing"
        raise FetchRetryable(f"The proxy for pages answered {code} for {target.authority}.")


class _Response(http.client.HTTPResponse):
    """Steps over all interim answers (100, 102, 103), of which http.client knows only the first; not for ever."""

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(MAX_INTERIM_ANSWERS):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 100 <= status < 200 or status == http.client.SWITCHING_PROTOCOLS:
                return version, status, reason
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException("interim answers without end")


class Connection(http.client.HTTPConnection):
    """http.client over a connection that is already open."""

    response_class = _Response

    def __init__(self, target: Target, sock: socket.socket) -> None:
        super().__init__(target.host, target.port)
        self.sock = sock

    def connect(self) -> None:
        """Never dial by name: the connection that was checked is the only one."""
        raise FetchRetryable("The connection was closed.")
