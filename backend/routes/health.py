"""Whether the server lives, and whether it is ready."""

from typing import Any

from flask import Blueprint, Response, g

from ..services.health import readiness
from .http import operation, reply, runtime
from .schemas.answers import Status

bp = Blueprint("health", __name__)


@bp.get("/healthz")
@operation("Liveness", returns={200: Status}, public=True)
def healthz() -> Response:
    """The process answers."""
    return reply({"status": "ok"})


@bp.get("/readyz")
@operation("Readiness; details for the signed-in", returns={200: Status, 503: Status}, public=True)
def readyz() -> Response:
    """The bare status for everyone; database, queue and sandbox walls for the signed-in."""
    ready, details = readiness(runtime())
    body: dict[str, Any] = {"status": "ready" if ready else "not_ready"}
    if g.get("identity") is not None:
        body |= {"details": details}
    return reply(body, 200 if ready else 503)
