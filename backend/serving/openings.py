"""Who opens an event stream, seen before a thread is spent on it."""

import re
import select
import socket

from .connections import END_OF_HEAD

# A page's request fits in here; what does not is served like any other request.
HEAD_BYTES = 8192
# The routes check the address for themselves: one that only looks like a stream's is answered in this line too.
STREAM = re.compile(rb"GET /api/[^ ?]*events(\?[^ ]*)? HTTP/1\.[01]\r\n")


def opens_stream(head: bytes, sock: socket.socket) -> bool:
    """Whether this is a whole request for an event stream, and its answer can be sent without waiting."""
    return (
        len(head) <= HEAD_BYTES
        and STREAM.match(head) is not None
        and head.endswith(END_OF_HEAD)
        and _takes_answers(sock)
    )


def _takes_answers(sock: socket.socket) -> bool:
    """One that has not read its last answers would hold up all who stand behind it."""
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    return any(events & select.POLLOUT for _, events in poll.poll(0))
