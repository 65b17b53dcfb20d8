"""Raw bytes that people or models made: sent so that no browser runs them as ours."""

import re
from typing import Any
from urllib.parse import quote

from flask import Response, request
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from .security import DOWNLOAD_POLICY

# Fewer digits than Python refuses to read, more than any file has bytes.
ONE_RANGE = re.compile(r"bytes=(?P<first>[0-9]{1,30})-(?P<last>[0-9]{0,30})|bytes=-(?P<tail>[0-9]{1,30})")
# Characters that systems refuse, that separate folders, or that turn the direction of what is read.
NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+')
MAX_NAME_CHARS = 80


def attachment(response: Response, name: str, size: int) -> Response:
    """Make a download of a response over a seekable stream: sandboxed, never sniffed, ranged, asked for anew each time."""
    response.headers["Content-Disposition"] = disposition(name)
    response.headers["Content-Security-Policy"] = DOWNLOAD_POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "private, no-cache"
    response.content_length = size
    try:
        response.make_conditional(_one_range(size), accept_ranges=True, complete_length=size)
    except RequestedRangeNotSatisfiable:
        response.close()
        raise
    return response


def _one_range(size: int) -> dict[str, Any]:
    """The request as RFC 9110 has it read: what is not one range of bytes is left out, more than all from the end is all."""
    environ = dict(request.environ)
    asked = ONE_RANGE.fullmatch(environ.pop("HTTP_RANGE", ""))
    if asked is None or (asked["last"] and int(asked["last"]) < int(asked["first"])):
        return environ
    whole = asked["tail"] and int(asked["tail"]) >= size > 0
    environ["HTTP_RANGE"] = "bytes=0-" if whole else asked[0]
    return environ


def disposition(name: str) -> str:
    """Content-Disposition of a download whose name may hold anything (RFC 6266): exact for browsers, plain for the rest."""
    plain = re.sub(r"[^ !#-\[\]-~]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def file_name(title: str, instead: str, ending: str) -> str:
    """A file's name made from any title: one that every system takes, with nothing in it that leads elsewhere or deceives."""
    plain = NOT_IN_NAMES.sub("_", " ".join(title.split()))[:MAX_NAME_CHARS].strip("._ ")
    return f"{plain or instead}.{ending}"
