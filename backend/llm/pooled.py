"""urllib3, held to a call's limits: its pools, whose connections any thread can abort and whose reads never wait to fill.

Loaded at the first request, for it takes a fifth as long as the rest of the engine.
"""

import contextlib
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from http.client import CONTINUE, HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Any

from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, LocationValueError, ProxyError

from ..errors import ModelError, ModelTimeout, ModelTransient
from .connection import Call
from .route import Proxy, resolve

if TYPE_CHECKING:
    from urllib3._base_connection import BaseHTTPConnection

READ_BYTES = 65_536
LEFT_OVER_BYTES = 262_144
IDLE_CONNECTIONS = 16
IDLE_CONNECTION_SECONDS = 120.0
FAULTS = (HTTPError, HTTPException, OSError)
_TUNNEL_REFUSED = re.compile(r"Tunnel connection failed: (\d+)")


class _Now(threading.local):
    """The call for which this thread opens a connection: urllib3 has no way to hand it down."""

    call: Call | None = None


_now = _Now()


# ---------------------------------------------------------------- sockets
class _WatchedSocket(socket.socket):
    """A socket whose waits end with the limits of its call; without a call it never waits."""

    call: Call | None = None

    def _limit(self) -> None:
        self.settimeout(self.call.deadline.left() if self.call is not None else 0.0)

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        """At least one byte; none at the end of the stream. Raises ModelTimeout."""
        while True:
            self._limit()
            try:
                count = super().recv_into(buffer, nbytes or memoryview(buffer).nbytes, flags)
            except TimeoutError:
                continue  # the limit says which one it was
            except BlockingIOError:
                raise ConnectionAbortedError("nothing more has come yet") from None
            if self.call is not None and count:
                self.call.received = True
            return count

    def send(self, data: Any, flags: int = 0) -> int:
        """Send some of it."""
        self._limit()
        return super().send(data, flags)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all of it."""
        self._limit()
        super().sendall(data, flags)


class _SecureSocket(_WatchedSocket, ssl.SSLSocket):
    """The same over TLS; wrapping has closed the plain one, so the call must know this one before it waits."""

    def do_handshake(self, block: bool = False) -> None:
        """Greet; it may take as long as the plain socket was allowed to wait."""
        self.call = _now.call
        if self.call is not None:
            self.call.hold(self)
            self.call.check()
        super().do_handshake(block)


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """Verifying by the system's trust store (or REQUESTS_CA_BUNDLE, SSL_CERT_FILE); certifi's where there is none."""
    context = ssl.create_default_context()
    context.sslsocket_class = _SecureSocket
    bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    if bundle and os.path.isfile(bundle):
        context.load_verify_locations(cafile=bundle)
    paths = ssl.get_default_verify_paths()
    if not context.cert_store_stats()["x509_ca"] and not paths.cafile and not paths.capath:
        with contextlib.suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context


# ---------------------------------------------------------------- connections
class _Head(HTTPResponse):
    """http.client knows one interim answer (100) and takes the others for final."""

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = super()._read_status()  # type: ignore[misc]
        return version, CONTINUE if 101 < status < 200 else status, reason


class _Connection(HTTPConnection):
    """A connection that serves one call at a time."""

    response_class = _Head
    call: Call | None = None
    left_over: "Response | None" = None
    idle_since = 0.0

    def begin(self, call: Call) -> None:
        """The call uses it from now on."""
        if call.fresh or time.monotonic() - self.idle_since > IDLE_CONNECTION_SECONDS:
            self.close()
        self.call = call
        call.reused = self.sock is not None
        if isinstance(self.sock, _WatchedSocket):
            self.sock.call = call
            call.hold(self.sock)

    def rest(self) -> None:
        """The call has done with it."""
        call, self.call = self.call, None
        if call is not None:
            call.let_go()
        if isinstance(self.sock, _WatchedSocket):
            self.sock.call = None
        self.idle_since = time.monotonic()

    def _new_conn(self) -> socket.socket:
        call = self.call
        assert call is not None
        problem: OSError = OSError(f"no address for {self._dns_host}")
        for family, address in resolve(self._dns_host, self.port, call.connect_seconds(), call.cancelled):
            sock = _WatchedSocket(family, socket.SOCK_STREAM)
            try:
                _connect(sock, address, call)
            except BaseException as e:
                sock.close()
                if not isinstance(e, OSError):
                    raise
                problem = e
                call.check()
                continue
            return sock
        raise problem

    @property
    def is_connected(self) -> bool:
        """Whether it can be used again: the last answer is over and the server has not closed. Never waits."""
        left_over, self.left_over = self.left_over, None
        return (left_over is None or left_over.has_ended()) and super().is_connected


def _connect(sock: _WatchedSocket, address: Any, call: Call) -> None:
    sock.call = call
    call.hold(sock)
    call.check()
    sock.settimeout(call.connect_seconds())
    sock.connect(address)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    call.check()


class _SecureConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection

    def _get_conn(self, timeout: float | None = None) -> "BaseHTTPConnection":
        connection = super()._get_conn(timeout)
        if isinstance(connection, _Connection) and _now.call is not None:
            connection.begin(_now.call)
        return connection

    def _put_conn(self, conn: "BaseHTTPConnection | None") -> None:
        if isinstance(conn, _Connection):
            conn.rest()
            if self.pool is not None and self.pool.full():
                conn.close()  # urllib3 would log a warning
                return
        super()._put_conn(conn)


class _SecurePool(_Pool, HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


# ---------------------------------------------------------------- requests
class Response:
    """The answer to a request: `status`, `headers` (names in any case), and the body piece by piece."""

    def __init__(self, raw: BaseHTTPResponse) -> None:
        self.status = raw.status
        self.headers: Mapping[str, str] = raw.headers
        self.cut = ""
        self._raw = raw
        self._encoded = "content-encoding" in raw.headers

    def read(self) -> bytes:
        """Bytes of the body as they come (at least one); empty at its end, and then `cut` says if it ended early.

        Raises ModelTimeout.
        """
        try:
            return self._raw.read1(READ_BYTES, decode_content=self._encoded)
        except (*FAULTS, ValueError) as e:
            self.cut = type(_root(e)).__name__
            return b""

    def read_all(self, limit: int) -> bytes:
        """The rest of the body, at most about `limit` bytes."""
        pieces: list[bytes] = []
        size = 0
        while size < limit and (piece := self.read()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def has_ended(self) -> bool:
        """Whether nothing of the body is missing; what has come is read. For a connection at rest, which never waits."""
        return len(self.read_all(LEFT_OVER_BYTES)) < LEFT_OVER_BYTES and not self.cut

    def release(self) -> None:
        """Done with it: the connection is kept, and when it is wanted again it shows whether the body was over."""
        connection = self._raw.connection
        if self.cut or not isinstance(connection, _Connection) or connection.sock is None:
            self._raw.close()
            return
        connection.left_over = self
        self._raw.release_conn()

    def close(self) -> None:
        """Done with it, and with the connection."""
        self._raw.close()


def open_manager(scheme: str, proxy: Proxy | None) -> PoolManager:
    """Pools for one scheme, straight or through a proxy."""
    settings: dict[str, Any] = {"maxsize": IDLE_CONNECTIONS, "retries": False, "timeout": None}
    if scheme == "https":
        settings["ssl_context"] = tls_context()
    manager = (
        PoolManager(**settings) if proxy is None else ProxyManager(proxy.url, proxy_headers=proxy.headers(), **settings)
    )
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return manager


def close_manager(manager: PoolManager) -> None:
    """Close the kept connections; urllib3's own `clear` leaves that to the garbage collector."""
    for key in manager.pools.keys():  # noqa: SIM118 - it refuses to be iterated over
        with contextlib.suppress(KeyError):
            manager.pools[key].close()
    manager.clear()


def ask(manager: PoolManager, method: str, url: str, body: bytes, headers: dict[str, str], call: Call) -> Response:
    """Send one request and wait for the head of the answer. Raises what is in FAULTS, and ModelTimeout."""
    _now.call = call
    try:
        return Response(
            manager.urlopen(method, url, redirect=False, body=body or None, headers=headers, preload_content=False)
        )
    finally:
        _now.call = None


# ---------------------------------------------------------------- faults
def _root(problem: BaseException) -> BaseException:
    """What the system or http.client said, under urllib3's wrappings."""
    while isinstance(problem, HTTPError):
        inner = next((a for a in problem.args if isinstance(a, Exception)), problem.__cause__)
        if inner is None:
            break
        problem = inner
    return problem


def fault(problem: Exception, host: str, proxy: Proxy | None) -> ModelError:
    """A connection fault in words for people."""
    root = _root(problem)
    kind = type(root).__name__
    refused = _TUNNEL_REFUSED.search(str(root))
    if refused and proxy:
        return ModelTransient(f"The proxy {proxy.host} refused the connection to {host} ({refused.group(1)}).")
    if isinstance(problem, ProxyError) and proxy:
        return ModelTransient(f"The proxy {proxy.host} cannot be reached ({kind}). Check the environment's settings.")
    if isinstance(root, LocationValueError):
        return ModelError(f"The provider's base URL is not an http or https address: {host!r} is no host.")
    if isinstance(root, TimeoutError):
        return ModelTimeout(f"The connection to {host} timed out.")
    if isinstance(root, socket.gaierror):
        return ModelTransient(f"The host {host!r} was not found. Check the base URL and the network connection.")
    if isinstance(root, ConnectionRefusedError):
        return ModelTransient(f"Nothing answers at {host}: the connection was refused. Is the model's server running?")
    if isinstance(root, ssl.SSLCertVerificationError):
        return ModelTransient(f"The certificate of {host} cannot be verified.")
    return ModelTransient(f"The connection to {host} was closed before the model answered ({kind}).")
