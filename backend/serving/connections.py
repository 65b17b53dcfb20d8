"""Connections that wait for their client at a price we can pay: what is silent holds no thread for long, and half a body is no body."""

import json
import logging
import resource
import socket
import threading
from typing import Any

from gunicorn.http.body import ChunkedReader
from gunicorn.http.errors import ParseException
from gunicorn.util import close, close_graceful, write_nonblock
from gunicorn.workers.gthread import TConn

# A client that has begun a request's head has this long for all of it; browsers send it at once.
HEAD_SECONDS = 10.0
# A head that is longer is refused; the parser's own limits are for each line.
HEAD_BYTES = 65_536
END_OF_HEAD = b"\r\n\r\n"
# One that sends a body, or does not take its answer, this long.
IDLE_SECONDS = 60.0
# One that has connected and said nothing waits outside the threads, this long.
FIRST_BYTE_SECONDS = 20.0
WANTED_FILES = 16_384
HEAD_CODES = {414: "too_large", 431: "too_large"}
REFUSAL_HEADERS = (
    "Content-Type: application/problem+json",
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
)


class Connection(TConn):  # type: ignore[misc]
    """A connection whose reads and writes give up in time, and whose end holds nobody up."""

    # Its socket belongs to an event stream by now.
    given_away = False
    # What came of the next request before a thread was spent on it.
    head = b""
    ended = False

    def receive(self) -> None:
        """Take what has come, without waiting."""
        try:
            self.sock.setblocking(False)
            data = self.sock.recv(HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.head += data
        self.ended = not data

    def read_ahead(self) -> None:
        """What was read with the end of the last request belongs to the next."""
        if self.parser is not None:
            self.head += self.parser.unreader.take_buffered()

    def needs_no_waiting(self) -> bool:
        """Whether a thread finds all it needs to answer: a whole head, or one that it may refuse."""
        if self.ended or END_OF_HEAD in self.head or len(self.head) > HEAD_BYTES:
            return True
        return len(self.head) > self.cfg.limit_request_line and b"\r\n" not in self.head

    def is_too_long(self) -> bool:
        """Whether its client has sent more than a head may be, and not its end."""
        return len(self.head) > HEAD_BYTES and END_OF_HEAD not in self.head and b"\r\n" in self.head

    def init(self) -> None:
        """Called before each request, in its thread."""
        super().init()
        self.sock.settimeout(HEAD_SECONDS)
        if self.head:
            self.parser.unreader.unread(self.head)
            self.head = b""

    def head_is_read(self) -> None:
        """The request is known; what comes now may take longer."""
        self.sock.settimeout(IDLE_SECONDS)

    def close(self, graceful: bool = False) -> None:
        """Called in the thread that serves everybody: it does not wait for the client to close too."""
        if self.given_away:
            return
        if not graceful or _has_ended(self.sock):
            close(self.sock)
            return
        threading.Thread(target=close_graceful, args=(self.sock,), name="linger", daemon=True).start()


class WholeBody:
    """Reads a request's body; one that ends early or is garbled is an error, never a shorter body."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._left: int | None = getattr(reader, "length", None)

    def read(self, size: int) -> bytes:
        """As the reader's. Raises ConnectionAbortedError when the client has left or sends no chunks."""
        try:
            data: bytes = self._reader.read(size)
        except ParseException as fault:
            raise ConnectionAbortedError("the body is garbled") from fault
        if self._left is not None:
            if len(data) < min(size, self._left):
                raise ConnectionAbortedError("the client left before the end of the body")
            self._left -= len(data)
        return data


def whole(reader: Any) -> Any:
    """The reader, checked; one without a length that is not chunked ends where it ends."""
    known = isinstance(reader, ChunkedReader) or hasattr(reader, "length")
    return WholeBody(reader) if known else reader


def refuse(sock: socket.socket, status: int, reason: str, _message: str) -> None:
    """What is no HTTP request never reaches the application: answered in the form of its errors, without an echo."""
    code = HEAD_CODES.get(status, "bad_request" if status < 500 else "internal_error")
    problem = {"type": f"/api/docs#error-{code}", "title": reason, "status": status, "detail": reason, "code": code}
    body = json.dumps(problem).encode()
    head = [
        f"HTTP/1.1 {status} {reason}",
        "Connection: close",
        f"Content-Length: {len(body)}",
        *REFUSAL_HEADERS,
        "",
        "",
    ]
    write_nonblock(sock, "\r\n".join(head).encode("latin-1") + body)


def quiet_about_slow_clients() -> None:
    """A client that was given up for its silence is no error of ours."""
    logging.getLogger("gunicorn.error").addFilter(_is_worth_a_line)


def allow_many_connections() -> None:
    """Raise this process's limit of open files towards WANTED_FILES, where the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    fault = record.exc_info[1] if record.exc_info else None
    return not isinstance(fault, TimeoutError | ConnectionAbortedError)


def _has_ended(sock: socket.socket) -> bool:
    """Whether the client has closed its side already; else it is told that we close ours."""
    try:
        sock.setblocking(False)
        sock.shutdown(socket.SHUT_WR)
        return sock.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
