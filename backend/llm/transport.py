"""HTTP for model servers: bytes are handed on as they arrive, every wait has an end, and a cancel closes the socket.

Why not a general HTTP library: a stream must stop at once from another thread, its limits count events
and not bytes, and a delta must not wait for a buffer to fill (docs/providers.md has the measurements).
"""

import socket
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from ..cancel import CancelToken
from ..errors import ModelCancelled, ModelError, ModelTimeout, ModelTransient
from .connection import Connection, Deadline
from .http1 import Body, Head
from .route import Proxy, proxy_for

IDLE_CONNECTIONS = 16
IDLE_CONNECTION_SECONDS = 120.0
REDIRECT_LIMIT = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, as it is to be sent."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    method: str = "POST"


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
            if opened.response.status not in REDIRECTS:
                return opened
            opened.close()
            url = _moved_to(url, opened.response)
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
            except BaseException as e:
                forget()
                connection.close()
                if not isinstance(e, OSError | ModelError):
                    raise
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


def _moved_to(url: str, response: Response) -> str:
    """Where a redirect leads, if the request may be repeated there: the key goes to no other host."""
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
    lines += [f"{name}: {value.strip()}" for name, value in exchange.headers.items()]
    if any("\n" in line or "\r" in line for line in lines):
        raise ModelError("The provider's key, address or headers hold a line break; enter them anew.")
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
