"""Server-Sent Events: how events of the log become a response that lives as long as its reader."""

import select
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from flask import Response, request

from ..channels.log import HEARTBEAT_SECONDS, Feed
from ..errors import InvalidInput, Unavailable
from .http import identity, runtime
from .state import is_automation, web_state

HEARTBEAT = b": \n\n"
# Told to clients that reconnect on their own: milliseconds.
RETRY = b"retry: 1000\n\n"
MAX_SEQ_DIGITS = 16
# Where a server that goes on with streams says so, in the WSGI environment.
STREAM_SERVER = "nanoclaw.streams"
T = TypeVar("T")


class StreamServer(Protocol):
    """The server's side of one request."""

    def will_adopt(self) -> None:
        """Said before the head is sent."""

    def adopt(self, live: "Live[Any]", first: bytes) -> None:
        """Send the head and the first lines, go on with the stream; close it at its end."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it goes out; `data` is one line of JSON."""

    event: str
    data: str
    id: int | None = None

    def text(self) -> str:
        """The lines of the event."""
        number = f"id: {self.id}\n" if self.id is not None else ""
        return f"{number}event: {self.event}\ndata: {self.data}\n\n"


def last_event_id(after: int) -> int:
    """Where a reader stands: the header of a reconnect counts before the query string."""
    header = request.headers.get("Last-Event-ID", "").strip()
    if not header:
        return after
    if not (header.isascii() and header.isdigit()) or len(header) > MAX_SEQ_DIGITS:
        raise InvalidInput("Last-Event-ID is not a number.", {"Last-Event-ID": ["must be an event's number"]})
    return int(header)


class Live(Generic[T]):
    """A feed as the bytes of its stream; it counts among the open streams until it is closed."""

    def __init__(self, feed: Feed[T], frame_of: Callable[[T], Frame], may_go_on: Callable[[], bool]) -> None:
        self._feed = feed
        self._frame_of = frame_of
        self.may_go_on = may_go_on
        self.on_ready = feed.on_ready
        self.handed_over = False
        self.give_back: Callable[[], None] = lambda: None

    @property
    def behind(self) -> bool:
        """Whether rows must be read before anything else."""
        return self._feed.behind

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._feed.ended

    def page(self) -> bytes:
        """The next of what was missed; asks the database."""
        return self._bytes(self._feed.page())

    def take(self, timeout: float = 0.0) -> bytes:
        """What has come, after at most `timeout` seconds."""
        return self._bytes(self._feed.take(timeout))

    def _bytes(self, items: Sequence[T]) -> bytes:
        return "".join([self._frame_of(item).text() for item in items]).encode()

    def close(self) -> None:
        """The reader has left."""
        self._feed.close()
        self.give_back()

    def answered(self) -> None:
        """The request is done with: its stream is over, unless others go on with it."""
        if not self.handed_over:
            self.close()


def stream(feed: Feed[T], frame_of: Callable[[T], Frame], may_go_on: Callable[[], bool]) -> Response:
    """Answer with what the feed gives, to its end; `may_go_on` is asked again at each heartbeat.

    Where the server takes streams over, they need no thread. Raises Unavailable when too many are open.
    """
    live = Live(feed, frame_of, may_go_on)
    try:
        live.give_back = web_state().slots.take(
            identity().user_id, automation=is_automation(), has_left=reader_has_left()
        )
    except Unavailable:
        live.close()
        raise
    server: StreamServer | None = request.environ.get(STREAM_SERVER)
    response = Response(_begin(live, server) if server else texts(live), mimetype="text/event-stream")
    # Not in the generator: a reader may leave before its first line is sent.
    response.call_on_close(live.answered)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response


def _begin(live: Live[T], server: StreamServer) -> Iterator[bytes]:
    """The request's own thread reads the first lines; the server sends them and goes on with the rest."""
    server.will_adopt()
    first = RETRY + (live.page() if live.behind else b"")
    live.handed_over = True
    server.adopt(live, first)
    yield from ()


def reader_has_left() -> Callable[[], bool]:
    """A question that can be asked later, outside the request: has the reader closed its side of the connection?"""
    sock = request.environ.get("gunicorn.socket")

    def ask() -> bool:
        if sock is None:
            return False
        try:
            poll = select.poll()
            poll.register(sock, select.POLLIN)
            return bool(poll.poll(0)) and sock.recv(1, socket.MSG_PEEK) == b""
        except (OSError, ValueError):
            return True

    return ask


def still_signed_in() -> Callable[[], bool]:
    """A question that can be asked later, outside the request: does this sign-in still hold?"""
    from ..services import auth

    parts, who = runtime(), identity()
    header = request.headers.get("Authorization", "")
    cookie = request.cookies.get(auth.cookie_name(parts), "")

    def ask() -> bool:
        if who.via == "session":
            now = auth.by_session(parts, cookie)
        else:
            now = auth.by_bearer(parts, header.partition(" ")[2].strip())
        return now is not None and now.user_id == who.user_id

    return ask


def texts(live: Live[T]) -> Iterator[bytes]:
    """The stream for a server with a thread for it; it ends with the feed, or at a heartbeat that may not go on."""
    yield RETRY
    while not live.ended:
        data = live.page() if live.behind else live.take(HEARTBEAT_SECONDS)
        if data:
            yield data
        elif not live.behind and not live.ended:
            if not live.may_go_on():
                return
            yield HEARTBEAT
