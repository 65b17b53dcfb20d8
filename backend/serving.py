"""The web server: gunicorn's threads (waitress on Windows), one process, ended cleanly by one signal."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from flask import Flask

from .settings import Settings

# Runs get 10 s to reach their next record; the answers under way get the rest.
GRACEFUL_SECONDS = 12
KEEPALIVE_SECONDS = 75
BACKLOG = 1024

Start = Callable[[], tuple[Flask, Callable[[], None]]]


def serve(settings: Settings, start: Start) -> None:
    """Serve until SIGTERM or Ctrl-C. `start` is called in the serving process; it gives the app and how to stop it."""
    if os.name == "nt":
        _serve_waitress(settings, start)
    else:
        _serve_gunicorn(settings, start)


def _serve_gunicorn(settings: Settings, start: Start) -> None:
    from gunicorn.app.base import BaseApplication
    from gunicorn.arbiter import Arbiter
    from gunicorn.workers.gthread import ThreadWorker

    class Worker(ThreadWorker):  # type: ignore[misc]
        """Threads; on SIGTERM streams are ended and runs handed over first, then the rest is drained."""

        def init_signals(self) -> None:
            super().init_signals()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the master, which sends SIGTERM

        def load_wsgi(self) -> None:
            self.wsgi, self.stop_app = start()

        def handle_exit(self, sig: int, frame: Any) -> None:
            if self.alive:
                threading.Thread(target=self._stop, name="stop", daemon=True).start()

        def _stop(self) -> None:
            self.stop_app()
            super().handle_exit(signal.SIGTERM, None)

    class Server(Arbiter):  # type: ignore[misc]
        """The master process: Ctrl-C is as graceful as SIGTERM."""

        def handle_int(self) -> None:
            self.handle_term()

    class Application(BaseApplication):  # type: ignore[misc]
        """Hands our options to gunicorn."""

        def load_config(self) -> None:
            for name, value in _options(settings, Worker).items():
                self.cfg.set(name, value)

        def load(self) -> None:
            raise NotImplementedError("the worker loads the application itself")

        def run(self) -> None:
            Server(self).run()

    Application().run()


def _options(settings: Settings, worker: type) -> dict[str, Any]:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return {
        "bind": f"{host}:{settings.port}",
        "workers": 1,
        "threads": settings.threads,
        "worker_class": worker,
        "worker_connections": settings.threads * 4,
        "backlog": BACKLOG,
        "keepalive": KEEPALIVE_SECONDS,
        "timeout": 0,
        "graceful_timeout": GRACEFUL_SECONDS,
        "loglevel": "error",
        "control_socket_disable": True,
    }


def _serve_waitress(settings: Settings, start: Start) -> None:
    from waitress import create_server

    app, stop = start()
    server = create_server(app, host=settings.host, port=settings.port, threads=settings.threads)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        stop()
        server.close()
