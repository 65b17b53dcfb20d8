"""Raw bytes that people or models made: sent so that no browser runs them as ours."""

import re
from urllib.parse import quote

from flask import Response, request
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from .security import DOWNLOAD_POLICY


def attachment(response: Response, name: str, size: int) -> Response:
    """Make a download of a response over a seekable stream: sandboxed, never sniffed, ranged, asked for anew each time."""
    response.headers["Content-Disposition"] = disposition(name)
    response.headers["Content-Security-Policy"] = DOWNLOAD_POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "private, no-cache"
    response.content_length = size
    try:
        response.make_conditional(request.environ, accept_ranges=True, complete_length=size)
    except RequestedRangeNotSatisfiable:
        response.close()
        raise
    return response


def disposition(name: str) -> str:
    """Content-Disposition of a download whose name may hold anything (RFC 6266): exact for browsers, plain for the rest."""
    plain = re.sub(r"[^ !#-\[\]-~]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
