"""The HTTP side: each blueprint checks a request, calls one service, and shapes the answer."""

from flask import Flask

from . import (
    aftermath,
    auth,
    conversations,
    docs,
    files,
    health,
    messages,
    metrics,
    models,
    pages,
    problems,
    projects,
    runs,
    search,
    security,
    tasks,
    tools,
    transfer,
)
from .http import EXTENSION
from .state import EXTENSION as WEB_STATE
from .state import THREADS_FOR_OTHERS, StreamSlots, WebState

BLUEPRINTS = (
    health.bp, docs.bp, auth.bp, projects.bp, files.bp, conversations.bp, transfer.bp, messages.bp, search.bp,
    runs.bp, aftermath.bp, tasks.bp, tools.bp, models.bp, metrics.bp, pages.bp,
)  # fmt: skip


def register_routes(app: Flask) -> None:
    """Put every address, check and error handler on an application that holds a Runtime."""
    threads = app.extensions[EXTENSION].settings.threads
    app.extensions[WEB_STATE] = WebState(StreamSlots(max(1, threads - THREADS_FOR_OTHERS)))
    # Ids in addresses are opaque texts: an address ends where it ends.
    app.url_map.strict_slashes = False
    problems.register(app)
    security.register(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
