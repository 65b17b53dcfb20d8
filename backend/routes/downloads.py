"""Raw bytes that people or models made: sent so that no browser runs them as ours."""

from flask import Response, request

from .security import DOWNLOAD_POLICY


def attachment(response: Response, name: str, size: int) -> Response:
    """Make a download of a response over a seekable stream: sandboxed, never sniffed, ranged, asked for anew each time."""
    response.headers.set("Content-Disposition", "attachment", filename=name)
    response.headers["Content-Security-Policy"] = DOWNLOAD_POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "private, no-cache"
    response.content_length = size
    response.make_conditional(request.environ, accept_ranges=True, complete_length=size)
    return response
