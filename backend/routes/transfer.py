"""Conversations as files: out as Markdown or JSON, and in again."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from flask import Blueprint, Response, request
from werkzeug.exceptions import UnsupportedMediaType

from ..errors import InvalidInput, TooLarge
from ..ids import utc_now
from ..services import conversations, exporting, importing, markdown
from .downloads import disposition, file_name
from .http import operation, reply, runtime, user_id
from .schemas import answers, requests
from .security import DOWNLOAD_POLICY

PIECE_BYTES = 1 << 20
SPOOL_BYTES = 1 << 20
# Room for the borders and headers of a multipart body around the file itself.
MULTIPART_SLACK_BYTES = 1 << 16
bp = Blueprint("transfer", __name__, url_prefix="/api")


@bp.get("/conversations/<conversation_id>/export")
@operation(
    "A conversation as a file",
    query=requests.ExportQuery,
    returns={200: ("text/markdown", "application/json")},
    errors=(404,),
)
def export_conversation(conversation_id: str, query: requests.ExportQuery) -> Response:
    """`md`: the active path, for reading. `json`: all branches with calls and results, for an import."""
    title = conversations.show_conversation(runtime(), user_id(), conversation_id)["title"]
    if query.format == "md":
        text = markdown.conversation(runtime(), user_id(), conversation_id)
        return _file(text, file_name(title, "conversation", "md"), "text/markdown")
    text = exporting.conversation(runtime(), user_id(), conversation_id)
    return _file(text, file_name(title, "conversation", "json"), "application/json")


@bp.get("/export")
@operation("All conversations as a file", returns={200: "application/json"})
def export_everything() -> Response:
    """Archived ones too; without those that are temporary or deleted. Sent as it is read."""
    text = exporting.everything(runtime(), user_id())
    return _file(text, f"nanoclaw-{utc_now():%Y-%m-%d}.json", "application/json")


@bp.post("/import")
@operation(
    "Import conversations", query=requests.ImportQuery, raw_body="multipart/form-data",
    returns={201: answers.Imported}, errors=(404, 409),
)  # fmt: skip
def import_conversations(query: requests.ImportQuery) -> Response:
    """An exported file as the part `file`, or as a body of application/json; everything in it gets new ids."""
    with _sent_file(runtime().settings.upload_max) as stream:
        return reply(importing.import_file(runtime(), user_id(), stream, query.project_id), 201)


def _file(text: Iterator[str], name: str, media_type: str) -> Response:
    pieces = (piece.encode("utf-8", "replace") for piece in text)
    response = Response(pieces, mimetype=media_type)
    response.headers["Content-Disposition"] = disposition(name)
    response.headers["Content-Security-Policy"] = DOWNLOAD_POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "private, no-cache"
    return response


@contextmanager
def _sent_file(limit: int) -> Iterator[BinaryIO]:
    """The file of the request, received whole. Raises TooLarge, InvalidInput, UnsupportedMediaType."""
    request.max_content_length = limit + MULTIPART_SLACK_BYTES
    if (request.content_length or 0) > limit + MULTIPART_SLACK_BYTES:
        raise TooLarge(f"The file is too large; at most {limit / 1e6:,.0f} MB can be imported at once.")
    if request.is_json:
        with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spooled:
            while piece := request.stream.read(PIECE_BYTES):
                spooled.write(piece)
            if spooled.tell() >= limit:  # without a length it was cut there
                raise TooLarge(f"The file is too large; at most {limit / 1e6:,.0f} MB can be imported at once.")
            spooled.seek(0)
            yield cast(BinaryIO, spooled)
        return
    if request.mimetype != "multipart/form-data":
        raise UnsupportedMediaType("Send the file as a part `file` of multipart/form-data, or as application/json.")
    parts = request.files.getlist("file")
    if len(parts) != 1:
        raise InvalidInput("Send one file a request.", {"file": ["exactly one part named file"]})
    yield cast(BinaryIO, parts[0].stream)
