"""The documentation of the API, served from here: the document, and a page that shows it."""

from pathlib import Path

from flask import Blueprint, Response, current_app, send_from_directory

from .http import operation, reply
from .openapi import document

bp = Blueprint("docs", __name__, url_prefix="/api")
VIEWER = Path(__file__).parent / "viewer"


@bp.get("/openapi.json")
@operation("This document", returns={200: "application/json"}, public=True)
def openapi() -> Response:
    """OpenAPI 3.1."""
    return reply(document(current_app))


@bp.get("/docs")
@operation("A page that shows this document", returns={200: "text/html"}, public=True)
def docs() -> Response:
    """Needs nothing from elsewhere."""
    return send_from_directory(VIEWER, "index.html")


@bp.get("/docs/<name>")
@operation("The page's script and style", returns={200: "application/octet-stream"}, errors=(404,), public=True)
def viewer_file(name: str) -> Response:
    """viewer.js and viewer.css."""
    return send_from_directory(VIEWER, name)
