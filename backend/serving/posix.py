"""Serving on Linux and macOS: gunicorn's `gthread` worker, one process beside the master."""

import errno
import selectors
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from gunicorn import util
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers import gthread

from ..llm.crowd import CROWD_OF_PROCESS
from ..routes.sse import STREAM_SERVER
from ..settings import Settings
from . import Start, connections, openings
from .streams import Live, Streams

# Runs get 10 s to reach their next record; the answers under way get the rest.
GRACEFUL_SECONDS = 12
KEEPALIVE_SECONDS = 75
# What streams have to send when the server stops is small.
LAST_WORDS_SECONDS = 1.0
# While the server stops, a page may still ask something on a connection that is open.
STOP_LINGER_SECONDS = 0.3
BACKLOG = 1024
# The longest that the parser takes: an address may hold a path of 2,700 encoded bytes.
REQUEST_LINE_BYTES = 8190
NOT_NOW = (errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED, errno.EMFILE, errno.ENFILE)


class Worker(gthread.ThreadWorker):  # type: ignore[misc]
    """Threads; on SIGTERM streams are ended and runs handed over first, then the rest is drained."""

    def init_signals(self) -> None:
        """As gunicorn's, but Ctrl-C reaches the master alone, which then sends SIGTERM."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def load_wsgi(self) -> None:
        """Build the application here, after the fork: it has threads and database connections."""
        util.write_error = connections.refuse
        gthread.STOP_KEEPALIVE_LINGER = STOP_LINGER_SECONDS
        connections.quiet_about_slow_clients()
        connections.allow_many_connections()
        self._app, self.stop_app = self.app.start()
        self.wsgi = self._answer
        self._streams = Streams()
        self._openings = ThreadPoolExecutor(1, thread_name_prefix="opening")
        self._serving = threading.local()

    def accept(self, listener: socket.socket) -> None:
        """Take a connection; it gets a thread when its client has asked something."""
        try:
            client, address = listener.accept()
        except OSError as fault:
            if fault.errno not in NOT_NOW:
                raise
            return
        self.nr_conns += 1
        connection = connections.Connection(self.cfg, client, address, listener.getsockname())
        self._wait_for_head(connection)
        connection.timeout = time.monotonic() + connections.FIRST_BYTE_SECONDS

    def on_pending_socket_readable(self, conn: Any, client: Any) -> None:
        """A connection gets a thread when the head of its request is whole: one that is slow holds no thread."""
        begins = not conn.head
        conn.receive()
        if conn.needs_no_waiting():
            super().on_pending_socket_readable(conn, client)
        elif begins and self.alive:
            conn.timeout = time.monotonic() + connections.HEAD_SECONDS

    def on_client_socket_readable(self, conn: Any, client: Any) -> None:
        """The same for the next request on a connection."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        conn.receive()
        self.enqueue_req(conn)

    def enqueue_req(self, conn: Any) -> None:
        """As gunicorn's, but those who open a stream stand in line: all at once would only wait for one another."""
        conn.read_ahead()
        if not conn.needs_no_waiting():
            self._wait_for_head(conn)
            return
        if openings.opens_stream(conn.head, conn.sock):
            CROWD_OF_PROCESS.hold_back()
            served = self._openings.submit(self.handle, conn)
            served.add_done_callback(lambda _: CROWD_OF_PROCESS.let_go())
        else:
            served = self.tpool.submit(self.handle, conn)
        served.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))

    def _wait_for_head(self, conn: connections.Connection) -> None:
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + (connections.HEAD_SECONDS if self.alive else STOP_LINGER_SECONDS)
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def murder_pending(self) -> None:
        """Close those whose time is up; when there is no room, also who has waited longest without a request."""
        now = time.monotonic()
        for conn in [conn for conn in self.pending_conns if conn.timeout <= now]:
            self.pending_conns.remove(conn)
            self._dismiss(conn)
        while self.nr_conns >= self.worker_connections and (waiting := self.pending_conns or self.keepalived_conns):
            self._dismiss(waiting.popleft())

    def _dismiss(self, conn: connections.Connection) -> None:
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()

    def handle(self, conn: Any) -> Any:
        """As gunicorn's; a head without an end is refused."""
        if conn.is_too_long():
            util.write_error(conn.sock, 431, "Request Header Fields Too Large", "")
            return False
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """As gunicorn's; a body that stops early is an error."""
        self._serving.connection = conn
        conn.head_is_read()
        req.body.reader = connections.whole(req.body.reader)
        return super().handle_request(req, conn)

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The application, which may hand its event streams over."""
        place = _StreamPlace(self._streams, self._serving.connection, start_response.__self__)
        return self._app({**environ, STREAM_SERVER: place}, start_response)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM: stop the application in a thread, then end the worker as gunicorn does."""
        if self.alive:
            threading.Thread(target=self._stop, name="stop", daemon=True).start()

    def _stop(self) -> None:
        self.stop_app()
        self._streams.close(LAST_WORDS_SECONDS)
        super().handle_exit(signal.SIGTERM, None)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """As gunicorn's, which would look only once a second whether the last connection may be closed."""
        super().wait_for_and_dispatch_events(timeout if self.alive else min(timeout, STOP_LINGER_SECONDS))

    def _cap_keepalive(self, deadline: float) -> None:
        """While stopping: neither are connections waited for that never said anything."""
        super()._cap_keepalive(deadline)
        for connection in self.pending_conns:
            connection.timeout = min(connection.timeout, deadline)


@dataclass(frozen=True, slots=True)
class _StreamPlace:
    """One request, seen by an application that answers with a stream."""

    streams: Streams
    connection: connections.Connection
    response: Any  # gunicorn's

    def will_adopt(self) -> None:
        """The connection serves no other request after this one."""
        self.response.force_close()

    def adopt(self, live: Live, first: bytes) -> None:
        """The loop of streams goes on, from the head; the thread of the request is free."""
        response, chunked = self.response, self.response.chunked
        head = "".join([*response.default_headers(), *(f"{name}: {value}\r\n" for name, value in response.headers)])
        response.headers_sent, response.chunked = True, False  # nothing is left for gunicorn to send
        self.connection.given_away = True
        self.streams.adopt(self.connection.sock, live, f"{head}\r\n".encode("latin-1"), first, chunked=chunked)


class Server(Arbiter):  # type: ignore[misc]
    """The master process: Ctrl-C is as graceful as SIGTERM."""

    def handle_int(self) -> None:
        """Ctrl-C."""
        self.handle_term()


class Application(BaseApplication):  # type: ignore[misc]
    """Hands our options to gunicorn."""

    def __init__(self, settings: Settings, start: Start) -> None:
        self._settings = settings
        self.start = start
        super().__init__()

    def load_config(self) -> None:
        """Our options; nothing is read from files or the command line."""
        for name, value in _options(self._settings).items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Never called: the worker builds the application itself."""
        raise NotImplementedError

    def run(self) -> None:
        """Serve until a signal ends it."""
        Server(self).run()


def serve(settings: Settings, start: Start) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    Application(settings, start).run()


def _options(settings: Settings) -> dict[str, Any]:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return {
        "bind": f"{host}:{settings.port}",
        "workers": 1,
        "threads": settings.threads,
        "worker_class": Worker,
        "worker_connections": settings.threads * 4,
        "backlog": BACKLOG,
        "limit_request_line": REQUEST_LINE_BYTES,
        "keepalive": KEEPALIVE_SECONDS,
        "timeout": 0,
        "graceful_timeout": GRACEFUL_SECONDS,
        "loglevel": "error",
        "control_socket_disable": True,
    }
