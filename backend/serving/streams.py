"""Event streams without a thread each: one loop owns their sockets, so that two hundred viewers cost what they send."""

import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

log = logging.getLogger(__name__)

HEARTBEAT = b": \n\n"
HEARTBEAT_SECONDS = 10.0
# A viewer that takes nothing of what was sent to it for so long is given up; it may come back and go on.
STUCK_SECONDS = 60.0
# An ended stream waits so long for its viewer to close too.
LINGER_SECONDS = 2.0
CHECK_SECONDS = 1.0
# What may wait for the database does it here: pages of rows, and whether a viewer may still watch.
READERS = 2
RECEIVE_BYTES = 65_536
# With more viewers than this the loop rests between its turns: waking for each event of each run costs more than the events.
CROWD = 32
CROWD_REST_SECONDS = 0.005
END = b"0\r\n\r\n"
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Live(Protocol):
    """A stream as bytes. While it is `behind`, the next is a `page`, which may wait; else what `take` gives at once."""

    @property
    def behind(self) -> bool:
        """Whether rows must be read before anything else."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""

    def page(self) -> bytes:
        """The next of what was missed."""

    def take(self) -> bytes:
        """What has come."""

    def on_ready(self, notify: Callable[[], None]) -> None:
        """From now on call this when there is something to take."""

    def may_go_on(self) -> bool:
        """Asked before each heartbeat; may wait."""

    def close(self) -> None:
        """Its viewer has gone."""


@dataclass(slots=True, eq=False)
class _Viewer:
    """One stream; `busy` while its rows are read, `asking` while it is asked whether it may go on."""

    sock: socket.socket
    live: Live
    out: bytes
    chunked: bool
    sent_at: float = field(default_factory=time.monotonic)
    busy: bool = False
    asking: bool = False
    writing: bool = False
    ended: bool = False
    gone: bool = False

    def framed(self, data: bytes) -> bytes:
        """Bytes of the stream as they go out."""
        return b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data


class Streams:
    """The loop. `adopt` may be called from any thread; all else happens in the loop's own."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._selector.register(self._woken, READ)
        self._awake = False
        self._posts: deque[tuple[_Viewer, Callable[[], object]]] = deque()
        self._ready: deque[_Viewer] = deque()
        self._viewers: set[_Viewer] = set()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="stream-reader")
        self._close_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="streams", daemon=True)
        self._thread.start()

    def adopt(self, sock: socket.socket, live: Live, head: bytes, first: bytes, *, chunked: bool) -> None:
        """Send a response from its head on, then what the stream gives; both are closed here.

        `chunked` as the head says; else the end of the connection is the end of the stream, as in HTTP/1.0.
        """
        sock.setblocking(False)
        viewer = _Viewer(sock, live, b"", chunked)
        viewer.out = head + viewer.framed(first)
        with suppress(OSError):  # full or left: the loop finds out again
            viewer.out = viewer.out[sock.send(viewer.out) :]
        self._post(viewer, lambda: self._add(viewer))

    def close(self, timeout: float) -> None:
        """Let the streams that end send their end; after `timeout` seconds the rest is closed as it is."""
        self._close_at = time.monotonic() + timeout
        self._wake()
        self._thread.join(timeout + CHECK_SECONDS)
        self._readers.shutdown(wait=False, cancel_futures=True)

    # ---------------------------------------------------------------- from other threads
    def _post(self, viewer: _Viewer, act: Callable[[], object]) -> None:
        self._posts.append((viewer, act))
        self._wake()

    def _is_ready(self, viewer: _Viewer) -> None:
        self._ready.append(viewer)
        self._wake()

    def _wake(self) -> None:
        if not self._awake:
            self._awake = True
            with suppress(OSError):  # full: it wakes anyway; closed: nobody is left to be woken
                self._waker.send(b"\0")

    # ---------------------------------------------------------------- the loop
    def _run(self) -> None:
        check = time.monotonic() + CHECK_SECONDS
        while (pause := self._pause()) is not None:
            for key, mask in self._selector.select(pause):
                if key.data is None:
                    self._woken.recv(RECEIVE_BYTES)
                else:
                    self._do(key.data, partial(self._turn_to, key.data, mask))
            self._catch_up()
            if len(self._viewers) > CROWD:
                time.sleep(CROWD_REST_SECONDS)
            if (now := time.monotonic()) >= check:
                check = now + CHECK_SECONDS
                self._check(now)
        for viewer in list(self._viewers):
            self._drop(viewer)
        self._selector.close()
        self._woken.close()
        self._waker.close()

    def _pause(self) -> float | None:
        """How long to wait for something to do; None when it is time to stop."""
        if self._close_at is None:
            return CHECK_SECONDS
        left = self._close_at - time.monotonic()
        return min(left, CHECK_SECONDS) if left > 0 and (self._viewers or self._posts) else None

    def _do(self, viewer: _Viewer, act: Callable[[], object]) -> None:
        """Something for one viewer: a fault in it ends that stream, whose viewer comes back, and no other's."""
        try:
            act()
        except Exception:
            log.exception("a stream is ended by a fault")
            self._drop(viewer)

    def _turn_to(self, viewer: _Viewer, mask: int) -> None:
        if viewer.gone:
            return
        if mask & READ:
            self._listen(viewer)
        if mask & WRITE and not viewer.gone:
            self._send(viewer)

    def _catch_up(self) -> None:
        """Do what other threads have asked for."""
        self._awake = False  # first: what is asked from now on wakes again
        while self._posts:
            self._do(*self._posts.popleft())
        while self._ready:
            viewer = self._ready.popleft()
            self._do(viewer, partial(self._serve, viewer))

    def _add(self, viewer: _Viewer) -> None:
        self._viewers.add(viewer)
        self._selector.register(viewer.sock, READ, viewer)
        viewer.live.on_ready(lambda: self._is_ready(viewer))
        self._put(viewer, b"")  # its head and first lines
        self._serve(viewer)

    def _serve(self, viewer: _Viewer) -> None:
        """Send what there is; nothing more is taken while the viewer has not taken the last."""
        while not (viewer.gone or viewer.busy or viewer.out or viewer.ended):
            if viewer.live.behind:
                viewer.busy = True
                self._readers.submit(self._read_page, viewer)
                return
            if not (self._put(viewer, viewer.live.take()) or viewer.live.behind):
                return

    def _put(self, viewer: _Viewer, data: bytes) -> bool:
        """Send a chunk, and the end if it is the last; whether there was anything to send."""
        if data:
            viewer.out += viewer.framed(data)
        if viewer.live.ended:
            viewer.out += END if viewer.chunked else b""
            viewer.ended = True
        if not viewer.out:
            return False
        self._send(viewer)
        return True

    def _send(self, viewer: _Viewer) -> None:
        try:
            sent = viewer.sock.send(viewer.out)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._drop(viewer)
            return
        if sent:
            viewer.sent_at = time.monotonic()
            viewer.out = viewer.out[sent:]
        if bool(viewer.out) != viewer.writing:
            viewer.writing = bool(viewer.out)
            self._selector.modify(viewer.sock, READ | WRITE if viewer.writing else READ, viewer)
            if not viewer.writing:
                self._serve(viewer)
        if viewer.ended and not viewer.out:
            self._end(viewer)

    def _end(self, viewer: _Viewer) -> None:
        """All is sent: the viewer closes first, so that nothing on its way is lost."""
        try:
            viewer.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._drop(viewer)

    def _listen(self, viewer: _Viewer) -> None:
        """A viewer says nothing but that it leaves."""
        try:
            left = not viewer.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            left = True
        if left:
            self._drop(viewer)

    def _drop(self, viewer: _Viewer) -> None:
        if viewer.gone:
            return
        viewer.gone = True
        self._viewers.discard(viewer)
        try:
            with suppress(KeyError, ValueError):  # it was closed before it could be registered
                self._selector.unregister(viewer.sock)
            viewer.sock.close()
            viewer.live.close()
        except Exception:
            log.exception("a stream could not be closed")

    # ---------------------------------------------------------------- what may wait
    def _read_page(self, viewer: _Viewer) -> None:
        try:
            data = viewer.live.page()
        except Exception:
            log.exception("the events of a stream could not be read")
            self._post(viewer, lambda: self._drop(viewer))  # it comes back and asks again
            return
        self._post(viewer, lambda: self._got_page(viewer, data))

    def _got_page(self, viewer: _Viewer, data: bytes) -> None:
        viewer.busy = False
        if not viewer.gone:
            self._put(viewer, data)
            self._serve(viewer)

    def _ask(self, viewer: _Viewer) -> None:
        try:
            goes_on = viewer.live.may_go_on()
        except Exception:
            log.exception("whether a stream may go on could not be asked")
            goes_on = False
        self._post(viewer, lambda: self._asked(viewer, goes_on))

    def _asked(self, viewer: _Viewer, goes_on: bool) -> None:
        viewer.asking = False
        if viewer.gone or viewer.ended:
            return
        if not goes_on:
            self._drop(viewer)
        elif not (viewer.out or viewer.busy):
            viewer.out = viewer.framed(HEARTBEAT)
            self._send(viewer)

    def _check(self, now: float) -> None:
        """Heartbeats for the silent, an end for the stuck."""
        for viewer in list(self._viewers):
            self._do(viewer, partial(self._check_one, viewer, now - viewer.sent_at))

    def _check_one(self, viewer: _Viewer, silent: float) -> None:
        if silent > (LINGER_SECONDS if viewer.ended and not viewer.out else STUCK_SECONDS):
            self._drop(viewer)
        elif silent >= HEARTBEAT_SECONDS and not (viewer.asking or viewer.out or viewer.ended):
            viewer.asking = True
            self._readers.submit(self._ask, viewer)
