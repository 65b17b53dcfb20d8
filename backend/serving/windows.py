"""Serving on Windows: waitress."""

from waitress import create_server

from ..settings import Settings
from . import Start


def serve(settings: Settings, start: Start) -> None:
    """Serve until Ctrl-C."""
    app, stop = start()
    server = create_server(app, host=settings.host, port=settings.port, threads=settings.threads)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        stop()
        server.close()
