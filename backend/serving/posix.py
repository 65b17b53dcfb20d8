"""Serving on Linux and macOS: gunicorn's `gthread` worker, one process beside the master."""

import signal
import threading
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers.gthread import ThreadWorker

from ..settings import Settings
from . import Start

# Runs get 10 s to reach their next record; the answers under way get the rest.
GRACEFUL_SECONDS = 12
KEEPALIVE_SECONDS = 75
BACKLOG = 1024


class Worker(ThreadWorker):  # type: ignore[misc]
    """Threads; on SIGTERM streams are ended and runs handed over first, then the rest is drained."""

    def init_signals(self) -> None:
        """As gunicorn's, but Ctrl-C reaches the master alone, which then sends SIGTERM."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def load_wsgi(self) -> None:
        """Build the application here, after the fork: it has threads and database connections."""
        self.wsgi, self.stop_app = self.app.start()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM: stop the application in a thread, then end the worker as gunicorn does."""
        if self.alive:
            threading.Thread(target=self._stop, name="stop", daemon=True).start()

    def _stop(self) -> None:
        self.stop_app()
        super().handle_exit(signal.SIGTERM, None)


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
        "keepalive": KEEPALIVE_SECONDS,
        "timeout": 0,
        "graceful_timeout": GRACEFUL_SECONDS,
        "loglevel": "error",
        "control_socket_disable": True,
    }
