"""Server-Sent Events: how events of the log become a response that lives as long as its reader."""

import select
import socket
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from flask import Response, request

from ..errors import InvalidInput, Unavailable
from .http import identity, runtime
from .state import is_automation, web_state

HEARTBEAT = ": \n\n"
# Told to clients that reconnect on their own.
RETRY_MS = 1000
MAX_SEQ_DIGITS = 16
T = TypeVar("T")


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


def stream(
    source: Iterator[T | list[T] | None], frame_of: Callable[[T], Frame], may_go_on: Callable[[], bool]
) -> Response:
    """Answer with what `source` gives, a list at once; its None is a heartbeat, before which `may_go_on` is asked again.

    Raises Unavailable when too many streams are open.
    """
    close = source.close if isinstance(source, Generator) else None
    try:
        give_back = web_state().slots.take(identity().user_id, automation=is_automation(), has_left=reader_has_left())
    except Unavailable:
        if close:
            close()
        raise
    response = Response(texts(source, frame_of, may_go_on), mimetype="text/event-stream")
    # Not in the generator: a reader may leave before its first line is sent.
    response.call_on_close(give_back)
    if close:
        response.call_on_close(close)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response


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


def texts(
    source: Iterable[T | list[T] | None], frame_of: Callable[[T], Frame], may_go_on: Callable[[], bool]
) -> Iterator[str]:
    """The stream as text; it ends with the source, or at a heartbeat that may not go on."""
    yield f"retry: {RETRY_MS}\n\n"
    for item in source:
        if isinstance(item, list):
            yield "".join(frame_of(one).text() for one in item)
        elif item is not None:
            yield frame_of(item).text()
        elif may_go_on():
            yield HEARTBEAT
        else:
            return
