"""Numbers for a Prometheus server."""

from flask import Blueprint, Response

from ..services import metrics as numbers
from .http import operation, runtime

bp = Blueprint("metrics", __name__)


@bp.get("/metrics")
@operation("Metrics, as Prometheus text", returns={200: "text/plain"}, admin=True)
def metrics() -> Response:
    """For administrators' tokens."""
    return Response(numbers.text(runtime()), content_type=numbers.CONTENT_TYPE)
