"""Every error leaves as application/problem+json: a stable code, no trace, no path, no secret."""

import json
import logging
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, request
from sqlalchemy.exc import OperationalError
from werkzeug.exceptions import HTTPException

from .. import errors
from ..ids import new_id

log = logging.getLogger(__name__)
audit = logging.getLogger("nanoclaw.audit")

# The first class an error is an instance of decides.
STATUS: tuple[tuple[type[errors.NanoClawError], int], ...] = (
    (errors.InvalidInput, 422),
    (errors.NotSignedIn, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.PreconditionFailed, 412),
    (errors.TooLarge, 413),
    (errors.RateLimited, 429),
    (errors.RequestError, 400),
    (errors.Unavailable, 503),
    (errors.FileMissing, 404),
    (errors.NoProject, 404),
    (errors.UnknownTool, 404),
    (errors.QuotaExceeded, 413),
    (errors.FileProblem, 409),
    (errors.WorkspaceViolation, 400),
    (errors.InvalidArguments, 422),
    (errors.ToolDenied, 403),
    (errors.ToolUnavailable, 503),
    (errors.ToolTimeout, 504),
    (errors.ToolError, 400),
    (errors.ModelError, 502),
    (errors.LeaseLost, 409),
    (errors.StorageError, 503),
)
HTTP_CODES = {
    400: "bad_request",
    401: "not_signed_in",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "request_timeout",
    412: "precondition_failed",
    413: "too_large",
    414: "too_large",
    415: "unsupported_media_type",
    416: "range_not_satisfiable",
    429: "rate_limited",
    431: "too_large",
    503: "unavailable",
}
KEPT_HEADERS = ("Allow", "Content-Range", "Retry-After")
DEFAULT_RETRY_SECONDS = 5
DRAIN_BYTES = 32 << 20
DRAIN_PIECE_BYTES = 64 << 10


def register(app: Flask) -> None:
    """Handle every error of the application."""
    app.register_error_handler(errors.NanoClawError, from_ours)
    app.register_error_handler(HTTPException, from_http)
    app.register_error_handler(OperationalError, from_database)
    app.register_error_handler(Exception, from_fault)
    app.after_request(drain)


def from_ours(error: errors.NanoClawError) -> Response:
    """One of our own errors."""
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
    if status in (401, 403):
        audit.info("refused: %s %s: %s", request.method, request.path, error.code)
    if status >= 500:
        log.warning("%s: %s", error.code, error.message, exc_info=status == 500)
    more: dict[str, Any] = {}
    if isinstance(error, errors.InvalidInput):
        more["errors"] = error.errors
    if error.suggestion:
        more["suggestion"] = error.suggestion
    response = problem(status, error.code, error.message, retryable=error.retryable, **more)
    if isinstance(error, errors.RateLimited):
        response.headers["Retry-After"] = str(max(1, round(error.retry_after)))
    elif status == 503:
        response.headers["Retry-After"] = str(DEFAULT_RETRY_SECONDS)
    elif status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="NanoClaw"'
    return response


def from_http(error: HTTPException) -> Response:
    """One of the web framework's: no such address, wrong method, too large …; redirects pass."""
    status = error.code or 500
    if status < 400:
        return Response(headers=list(error.get_headers()), status=status)
    code = HTTP_CODES.get(status, "bad_request" if status < 500 else "internal_error")
    response = problem(status, code, error.description or HTTPStatus(status).phrase)
    for name, value in error.get_headers():
        if name in KEPT_HEADERS:
            response.headers[name] = value
    return response


def from_database(error: OperationalError) -> Response:
    """The database is busy, full or gone."""
    log.error("the database did not answer", exc_info=error)
    return from_ours(errors.StorageError("The database does not answer now."))


def from_fault(error: Exception) -> Response:
    """What nobody expected: logged whole under a number, told as that number."""
    number = new_id()
    log.error("unexpected error %s", number, exc_info=error)
    return problem(500, "internal_error", f"Something went wrong here. It is logged under {number}.", request_id=number)


def drain(response: Response) -> Response:
    """Read what a client still sends of a body that is refused: it hears nothing before it has sent it."""
    if response.status_code >= 400:
        body, left = request.environ["wsgi.input"], DRAIN_BYTES
        with suppress(OSError):  # it has left, or garbles what it sends
            while left > 0 and (piece := body.read(min(DRAIN_PIECE_BYTES, left))):
                left -= len(piece)
    return response


def error_codes() -> dict[str, str]:
    """Every code and what it means, for the documentation: ours say it in their first line."""
    meanings = {code: HTTPStatus(status).phrase for status, code in HTTP_CODES.items()}
    kinds = [errors.NanoClawError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        meanings[kind.code] = (kind.__doc__ or "").partition("\n")[0]
    return dict(sorted(meanings.items()))


def problem(status: int, code: str, detail: str, **more: Any) -> Response:
    """The body of RFC 9457."""
    body = {
        "type": f"/api/docs#error-{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **more,
    }
    text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, status, mimetype="application/problem+json")
