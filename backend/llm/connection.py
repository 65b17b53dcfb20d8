"""One connection to a model's server: opened, written to, read from and aborted, each wait with an end."""

import contextlib
import socket
import threading
import time

from ..errors import ModelTimeout, ModelTransient
from .http1 import Body, Head, parse_head
from .route import Proxy, resolve, tls_context

CONNECT_TIMEOUT_SECONDS = 10.0
READ_BYTES = 65_536
HEAD_LIMIT_BYTES = 65_536


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

    def expect_end(self, seconds: float) -> None:
        """What matters has arrived: wait only this long for more."""
        self._idle_end = min(self._idle_end, time.monotonic() + seconds)

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
