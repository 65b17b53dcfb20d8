"""The web server: gunicorn's threads (waitress on Windows), one process, ended cleanly by one signal."""

import os
from collections.abc import Callable

from flask import Flask

from ..settings import Settings

Started = tuple[Flask, Callable[[], None]]  # the application, and how to stop it
Start = Callable[[], Started]


def serve(settings: Settings, start: Start) -> None:
    """Serve until SIGTERM or Ctrl-C. `start` is called in the serving process; it gives the app and how to stop it."""
    if os.name == "nt":
        from .windows import serve as serve_here
    else:
        from .posix import serve as serve_here
    serve_here(settings, start)
