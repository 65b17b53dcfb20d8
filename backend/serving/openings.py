"""Who opens an event stream, seen before a thread is spent on it."""

import re
import select
import socket

# The whole head of a page's request, and no body, fits in here; what does not is served like any other request.
HEAD_BYTES = 8192
# The routes check the address for themselves: one that only looks like a stream's is answered in this line too.
STREAM = re.compile(rb"GET /api/[^ ?]*events(\?[^ ]*)? HTTP/1\.[01]\r\n")
END_OF_HEAD = b"\r\n\r\n"


def opens_stream(sock: socket.socket) -> bool:
    """Whether a whole request for an event stream is waiting, and its answer can be sent without waiting.

    Asked by the thread that serves everybody: it never waits, and leaves the socket so that nothing on it waits.
    """
    sock.setblocking(False)  # no flag of the call does it: with a timeout, Python waits whatever the flag says
    try:
        head = sock.recv(HEAD_BYTES, socket.MSG_PEEK)
    except OSError:
        return False
    return STREAM.match(head) is not None and head.endswith(END_OF_HEAD) and _takes_answers(sock)


def _takes_answers(sock: socket.socket) -> bool:
    """One that has not read its last answers would hold up all who stand behind it."""
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    return any(events & select.POLLOUT for _, events in poll.poll(0))
