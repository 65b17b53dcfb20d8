"""HTTP for model servers: bytes are handed on as they arrive, every wait has an end, and a cancel closes the socket.

Why not a general HTTP library: a stream must stop at once from another thread, its limits count events
and not bytes, and a delta must not wait for a buffer to fill (docs/providers.md has the measurements).
"""

import contextlib
import socket
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from ..cancel import CancelToken
from ..errors import ModelCancelled, ModelError, ModelTimeout, ModelTransient
from .http1 import Body, Head, parse_head
from .route import Proxy, proxy_for, resolve, tls_context

CONNECT_TIMEOUT_SECONDS = 10.0
IDLE_CONNECTIONS = 16
IDLE_CONNECTION_SECONDS = 120.0
READ_BYTES = 65_536
HEAD_LIMIT_BYTES = 65_536
REDIRECT_LIMIT = 3


class Deadline:
    """When to stop waiting: `idle` seconds without an event (None: no such limit), `total` seconds in all."""

    def __init__(self, idle: float | None, total: float | None) -> None:
        now = time.monotonic()
        self._idle = idle
        self._total = total
        self._end = now + total if total is not None else float("inf")
        self._idle_end = now + idle if idle is not None else float("inf")

    def event(self) -> None:
        """Something arrived that counts: the idle limit starts anew."""
        if self._idle is not None:
            self._idle_end = time.monotonic() + self._idle

    def shorten(self, seconds: float) -> None:
        """Wait at most this long from now on."""
        self._end = min(self._end, time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds left, more than zero; ModelTimeout when there are none."""
        now = time.monotonic()
        if now >= self._end:
            raise ModelTimeout(f"The model request timed out: no complete answer within {_seconds(self._total)}.")
        if now >= self._idle_end:
            raise ModelTimeout(f"The model request timed out: nothing was received for {_seconds(self._idle)}.")
        return min(self._end, self._idle_end) - now


def _seconds(value: float | None) -> str:
    return "the time that was left" if value is None else f"{value:g} seconds"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, as it is to be sent."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    method: str = "POST"


class Connection:
    """One socket to one server. `abort` may be called from any thread."""

    def __init__(self, key: tuple[str, str, int]) -> None:
        self.key = key
        self.used = False
        self.idle_since = 0.0
        self.body: Body | None = None
        self._socket: socket.socket | None = None
        self._aborted = threading.Event()

    def abort(self) -> None:
        """End every wait on this connection at once."""
        self._aborted.set()
        sock = self._socket
        if sock is not None:
            with contextlib.suppress(OSError):
                # The plain method: SSLSocket's own would first touch the TLS state that a reader is using.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def open(self, proxy: Proxy | None, deadline: Deadline) -> None:
        """Connect, through the proxy if there is one; OSError, ModelTimeout."""
        scheme, host, port = self.key
        target = (proxy.host, proxy.port) if proxy else (host, port)
        self._connect(target, deadline)
        if proxy and scheme == "https":
            self._tunnel(proxy, deadline)
        if scheme == "https":
            self._wrap(host, deadline)

    def _connect(self, target: tuple[str, int], deadline: Deadline) -> None:
        problem: OSError = OSError(f"no address for {target[0]}")
        for family, address in resolve(
            target[0], target[1], min(CONNECT_TIMEOUT_SECONDS, deadline.left()), self._aborted
        ):
            sock = socket.socket(family, socket.SOCK_STREAM)
            self._socket = sock
            try:
                self._check()
                sock.settimeout(min(CONNECT_TIMEOUT_SECONDS, deadline.left()))
                sock.connect(address)
            except OSError as e:
                problem = e
                self._socket = None
                sock.close()
                continue
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return
        raise problem

    def _check(self) -> None:
        if self._aborted.is_set():
            raise ConnectionAbortedError("cancelled")

    def _tunnel(self, proxy: Proxy, deadline: Deadline) -> None:
        _, host, port = self.key
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", *proxy.header_lines(), "", ""]
        self.send("\r\n".join(lines).encode("latin-1"), deadline)
        head, _ = self.read_head(deadline)
        if head.status != 200:
            raise ModelTransient(f"The proxy {proxy.host} refused the connection to {host} ({head.status}).")

    def _wrap(self, host: str, deadline: Deadline) -> None:
        plain = self._socket
        if plain is None:
            raise ConnectionAbortedError("closed")
        plain.settimeout(min(CONNECT_TIMEOUT_SECONDS, deadline.left()))
        secure = tls_context().wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        self._socket = secure
        self._check()
        secure.do_handshake()

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Send all of it."""
        sock = self._alive()
        sock.settimeout(deadline.left())
        sock.sendall(data)

    def receive(self, deadline: Deadline) -> bytes:
        """What has arrived, at least one byte; empty at the end of the stream."""
        sock = self._alive()
        sock.settimeout(deadline.left())
        try:
            return sock.recv(READ_BYTES)
        except TimeoutError:
            deadline.left()  # says which limit it was
            raise

    def _alive(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionAbortedError("closed")
        return self._socket

    def read_head(self, deadline: Deadline) -> tuple[Head, bytes]:
        """The head of the answer (interim 1xx ones are skipped) and what came with it."""
        data = b""
        while True:
            parsed = parse_head(data)
            if parsed is not None:
                head, data = parsed
                if head.status >= 200:
                    return head, data
                continue
            piece = self.receive(deadline)
            if not piece:
                raise ConnectionResetError("the server closed the connection without an answer")
            data += piece
            if len(data) > HEAD_LIMIT_BYTES and parse_head(data) is None:
                raise ConnectionError("the server's answer does not begin like HTTP")

    def reusable(self) -> bool:
        """True if the last answer is over and the server has not closed; never waits."""
        sock, body = self._socket, self.body
        if sock is None or body is None or self._aborted.is_set():
            return False
        try:
            sock.settimeout(0)
            while not body.ended:
                piece = sock.recv(READ_BYTES)
                if not piece:
                    return False
                body.feed(piece)
            if body.rest or not body.keep_alive:
                return False
            sock.recv(1)
        except (BlockingIOError, InterruptedError):
            return body.ended
        except OSError as e:
            # TLS says "nothing to read" in its own way.
            return body.ended and type(e).__name__ == "SSLWantReadError"
        except ValueError:
            return False
        return False

    def close(self) -> None:
        """Close the socket."""
        sock, self._socket = self._socket, None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.close()


class Response:
    """The answer to a request: `status`, `headers` (lower-case names), and the body piece by piece."""

    def __init__(
        self, head: Head, first: bytes, connection: Connection, owner: "Transport", deadline: Deadline
    ) -> None:
        self.status = head.status
        self.headers = head.headers
        self.cut = ""
        self._deadline = deadline
        self._connection = connection
        self._owner = owner
        self._body = connection.body = Body(head)
        self._first: bytes | None = first
        coding = head.headers.get("content-encoding", "identity").lower()
        self._unzip = zlib.decompressobj(47) if coding in ("gzip", "x-gzip", "deflate") else None

    def read(self) -> bytes:
        """Bytes of the body as they come (at least one); empty at its end, and then `cut` says if it ended early.

        Raises ModelTimeout.
        """
        body = self._body
        data = body.feed(self._first) if self._first else b""
        self._first = None
        while not data and not body.ended:
            try:
                piece = self._connection.receive(self._deadline)
                data = body.feed(piece) if piece else body.end()
            except (OSError, ValueError) as e:
                self.cut = type(e).__name__
                return b""
            if not piece and not data:
                self.cut = "" if body.ended else "end of stream"
                return b""
        return self._decoded(data)

    def _decoded(self, data: bytes) -> bytes:
        if self._unzip is None or not data:
            return data
        try:
            return self._unzip.decompress(data) or (b"" if self._body.ended else self.read())
        except zlib.error as e:
            self.cut = type(e).__name__
            return b""

    def read_all(self, limit: int) -> bytes:
        """The rest of the body, at most about `limit` bytes."""
        pieces: list[bytes] = []
        size = 0
        while size < limit and (piece := self.read()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def release(self) -> None:
        """Done with it: the connection is kept if it can be used again."""
        self._owner.give_back(self._connection)

    def close(self) -> None:
        """Done with it, and with the connection."""
        self._connection.close()


class Transport:
    """The connections of one provider. Thread-safe; a connection serves one request at a time."""

    def __init__(self) -> None:
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._proxies: dict[tuple[str, str, int], Proxy | None] = {}

    def send(self, exchange: Exchange, deadline: Deadline, cancelled: CancelToken) -> "Opened":
        """Send and wait for the head of the answer.

        Raises ModelTransient for connection faults, ModelTimeout, ModelCancelled, ModelError for a bad address.
        """
        url = exchange.url
        for _ in range(REDIRECT_LIMIT + 1):
            opened = self._send_once(replace(exchange, url=url), deadline, cancelled)
            moved = _moved_to(url, opened.response)
            if moved is None:
                return opened
            opened.close()
            url = moved
        raise ModelError("The model's server redirects in a circle; check the base URL.")

    def _send_once(self, exchange: Exchange, deadline: Deadline, cancelled: CancelToken) -> "Opened":
        parts = split_url(exchange.url)
        key = (parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        while True:
            connection = self._take(key) or Connection(key)
            forget = cancelled.on_cancel(connection.abort)
            reused = connection.used
            try:
                head, first = self._ask(connection, parts, exchange, deadline)
            except (OSError, ModelError) as e:
                forget()
                connection.close()
                if cancelled.is_set():
                    raise ModelCancelled("The request was cancelled.") from None
                if isinstance(e, ModelError):
                    raise
                # The server may have closed a kept connection just as we used it: that is no fault of the request.
                if reused and isinstance(e, ConnectionError):
                    continue
                raise fault(e, key[1]) from e
            return Opened(Response(head, first, connection, self, deadline), forget)

    def _ask(
        self, connection: Connection, parts: SplitResult, exchange: Exchange, deadline: Deadline
    ) -> tuple[Head, bytes]:
        proxy = self._proxy(connection.key)
        if not connection.used:
            connection.open(proxy, deadline)
        connection.used = True
        connection.send(_request_bytes(parts, exchange, proxy), deadline)
        return connection.read_head(deadline)

    def _proxy(self, key: tuple[str, str, int]) -> Proxy | None:
        if key not in self._proxies:
            self._proxies[key] = proxy_for(*key)
        return self._proxies[key]

    def _take(self, key: tuple[str, str, int]) -> Connection | None:
        while True:
            with self._lock:
                found = next((c for c in reversed(self._idle) if c.key == key), None)
                if found is None:
                    return None
                self._idle.remove(found)
            if found.reusable():
                return found
            found.close()

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request; whether its answer is really over is looked at then."""
        now = connection.idle_since = time.monotonic()
        with self._lock:
            self._idle.append(connection)
            old = [c for c in self._idle if now - c.idle_since > IDLE_CONNECTION_SECONDS]
            old += self._idle[: max(0, len(self._idle) - len(old) - IDLE_CONNECTIONS)]
            self._idle = [c for c in self._idle if c not in old]
        for c in old:
            c.close()

    def close(self) -> None:
        """Close the kept connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


@dataclass(slots=True)
class Opened:
    """An answer under way; leave it by `finish` (connection kept) or `close`, exactly once."""

    response: Response
    forget: Callable[[], None]

    def finish(self) -> None:
        """The answer was read as far as it matters."""
        self.forget()
        self.response.release()

    def close(self) -> None:
        """Give the answer up."""
        self.forget()
        self.response.close()


def split_url(url: str) -> SplitResult:
    """The parts of an http or https URL; ModelError otherwise."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ModelError(f"The provider's base URL {url!r} is not an http or https address.")
    return parts


def _moved_to(url: str, response: Response) -> str | None:
    """Where a redirect leads, if the request may be repeated there: the key goes to no other host."""
    if response.status not in (301, 302, 303, 307, 308):
        return None
    target = response.headers.get("location", "")
    old, new = urlsplit(url), urlsplit(target)
    same = (not new.netloc or new.hostname == old.hostname) and new.scheme in ("", "https", old.scheme)
    if response.status not in (307, 308) or not same:
        raise ModelError(f"The model's server redirects to {target[:200]!r}; set that as the base URL.")
    if new.netloc:
        return target
    return f"{old.scheme}://{old.netloc}{target}"


def _request_bytes(parts: SplitResult, exchange: Exchange, proxy: Proxy | None) -> bytes:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.rpartition("@")[2]
    forward = proxy is not None and parts.scheme == "http"
    lines = [f"{exchange.method} {f'http://{host}{path}' if forward else path} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in exchange.headers.items()]
    if proxy is not None and forward:
        lines += proxy.header_lines()
    lines += [f"Content-Length: {len(exchange.body)}", "", ""]
    return "\r\n".join(lines).encode("utf-8") + exchange.body


def fault(problem: OSError, host: str) -> ModelTransient:
    """A connection fault in words for people."""
    kind = type(problem).__name__
    if isinstance(problem, TimeoutError):
        return ModelTimeout(f"The connection to {host} timed out.")
    if isinstance(problem, socket.gaierror):
        return ModelTransient(f"The host {host!r} was not found. Check the base URL and the network connection.")
    if isinstance(problem, ConnectionRefusedError):
        return ModelTransient(f"Nothing answers at {host}: the connection was refused. Is the model's server running?")
    if kind == "SSLCertVerificationError":
        return ModelTransient(f"The certificate of {host} cannot be verified.")
    return ModelTransient(f"The connection to {host} was closed before the model answered ({kind}).")
