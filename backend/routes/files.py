"""The files of a project."""

import mimetypes
from datetime import datetime
from pathlib import PurePosixPath
from typing import BinaryIO

from flask import Blueprint, Response, request
from werkzeug.wsgi import wrap_file

from ..errors import InvalidInput, RequestError, TooLarge
from ..services import changes, files
from .downloads import attachment
from .http import nothing, operation, reply, runtime, user_id
from .schemas import answers, requests

bp = Blueprint("files", __name__, url_prefix="/api/projects/<project_id>")
# Room for the borders and headers of a multipart body around the file itself.
MULTIPART_SLACK_BYTES = 64 << 10


@bp.get("/files")
@operation(
    "List a folder",
    query=requests.FolderQuery,
    returns={200: answers.page_of(answers.FileEntry)},
    errors=(400, 404, 409),
)
def list_folder(project_id: str, query: requests.FolderQuery) -> Response:
    """Folders first, then by name."""
    return reply(files.list_folder(runtime(), _place(project_id, query.path), query.page()))


@bp.patch("/files")
@operation(
    "Move or rename",
    query=requests.FileQuery,
    body=requests.MoveBody,
    returns={200: answers.FileEntry},
    errors=(400, 404, 409),
)
def move(project_id: str, query: requests.FileQuery, body: requests.MoveBody) -> Response:
    """Never over something that is there."""
    return reply(files.move_entry(runtime(), _place(project_id, query.path), body.new_path))


@bp.get("/files/content")
@operation(
    "Read a file", query=requests.FileQuery,
    returns={200: "application/octet-stream", 206: "application/octet-stream", 304: None}, errors=(400, 404, 409, 416),
)  # fmt: skip
def read(project_id: str, query: requests.FileQuery) -> Response:
    """The raw bytes, as an attachment; ETag and ranges are honoured."""
    opened = files.open_file(runtime(), _place(project_id, query.path))
    response = Response(
        wrap_file(request.environ, opened.stream), mimetype=media_type(opened.path), direct_passthrough=True
    )
    response.set_etag(opened.etag.strip('"'))
    response.last_modified = datetime.fromisoformat(opened.modified_at)
    return attachment(response, PurePosixPath(opened.path).name, opened.size)


@bp.put("/files/content")
@operation(
    "Write a file", query=requests.FileQuery, raw_body="application/octet-stream",
    returns={200: answers.WrittenFile, 201: answers.WrittenFile}, errors=(400, 404, 409, 412, 413),
)  # fmt: skip
def write(project_id: str, query: requests.FileQuery) -> Response:
    """The body is the content; If-Match and If-None-Match: * are honoured. Written whole or not at all."""
    request.max_content_length = runtime().settings.upload_max
    _check_length(runtime().settings.upload_max)
    written = files.write_file(runtime(), _place(project_id, query.path), request.stream, _conditions())
    return reply(written, 201 if written["created"] else 200, {"ETag": written["etag"]})


@bp.delete("/files/content")
@operation("Delete a file or folder", query=requests.DeleteQuery, returns={204: None}, errors=(400, 404, 409))
def delete(project_id: str, query: requests.DeleteQuery) -> Response:
    """What it held is kept and can be put back; with `recursive=false` a folder must be empty."""
    files.delete_entry(runtime(), _place(project_id, query.path), query.recursive)
    return nothing()


@bp.post("/files/upload")
@operation(
    "Upload a file", query=requests.UploadQuery, raw_body="multipart/form-data",
    returns={201: answers.WrittenFile}, errors=(400, 404, 409, 413),
)  # fmt: skip
def upload(project_id: str, query: requests.UploadQuery) -> Response:
    """One part `file`, into the folder `path`; a folder is uploaded file by file."""
    limit = runtime().settings.upload_max + MULTIPART_SLACK_BYTES
    request.max_content_length = limit
    _check_length(limit)
    parts = request.files.getlist("file")
    if len(parts) != 1:
        raise InvalidInput("Send one file a request.", {"file": ["exactly one part named file"]})
    part = parts[0]
    place = _place(project_id, query.path)
    written = files.upload(runtime(), place, part.filename or "", _binary(part.stream), query.on_conflict)
    return reply(written, 201, {"ETag": written["etag"]})


@bp.post("/directories")
@operation(
    "Make a folder",
    body=requests.DirectoryBody,
    returns={200: answers.FileEntry, 201: answers.FileEntry},
    errors=(400, 404, 409),
)
def make_folder(project_id: str, body: requests.DirectoryBody) -> Response:
    """And those above it; 200 when it is there already."""
    folder, made = files.make_folder(runtime(), _place(project_id, body.path))
    return reply(folder, 201 if made else 200)


@bp.post("/files/search")
@operation(
    "Search in files",
    body=requests.FileSearchBody,
    returns={200: answers.page_of(answers.FileMatch)},
    errors=(400, 404, 409),
)
def search(project_id: str, body: requests.FileSearchBody) -> Response:
    """Lines that match; `incomplete` says why there may be more."""
    place = _place(project_id, body.path)
    return reply(files.search(runtime(), place, body.query, body.case_sensitive, body.regex))


# ---------------------------------------------------------------- earlier contents
@bp.get("/changes")
@operation(
    "Who changed which file",
    query=requests.ChangesQuery,
    returns={200: answers.page_of(answers.FileChange)},
    errors=(404,),
)
def list_changes(project_id: str, query: requests.ChangesQuery) -> Response:
    """The newest first; of one path or one run. `deleted=true`: the deletions of what is gone now, with the `folder` each went with."""
    page = query.page()
    if query.deleted:
        return reply(changes.list_deleted(runtime(), user_id(), project_id, page))
    return reply(changes.list_changes(runtime(), user_id(), project_id, page, path=query.path, run_id=query.run_id))


@bp.get("/changes/<change_id>")
@operation("One change with its diff", returns={200: answers.FileChange}, errors=(404,))
def show_change(project_id: str, change_id: str) -> Response:
    """`diff` is null for contents that are no text, or too large."""
    return reply(changes.show_change(runtime(), user_id(), project_id, change_id))


@bp.get("/changes/<change_id>/content")
@operation(
    "What the file held before",
    returns={200: "application/octet-stream", 206: "application/octet-stream"},
    errors=(404, 416),
)
def read_before(project_id: str, change_id: str) -> Response:
    """The raw bytes, as an attachment."""
    path, stream = changes.open_before(runtime(), user_id(), project_id, change_id)
    size = stream.seek(0, 2)
    stream.seek(0)
    response = Response(wrap_file(request.environ, stream), mimetype=media_type(path), direct_passthrough=True)
    return attachment(response, PurePosixPath(path).name, size)


@bp.post("/changes/<change_id>/revert")
@operation("Put back what was there before", returns={200: answers.FileChange}, errors=(404, 409))
def revert(project_id: str, change_id: str) -> Response:
    """Refused when the file was changed since; itself a change that can be undone."""
    return reply(changes.revert(runtime(), user_id(), project_id, change_id))


def media_type(path: str) -> str:
    """The type a name suggests."""
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _place(project_id: str, path: str) -> files.Place:
    return files.Place(user_id(), project_id, path)


def _binary(stream: object) -> BinaryIO:
    return stream  # type: ignore[return-value]


def _check_length(limit: int) -> None:
    length = request.content_length or 0
    if length > limit:
        raise TooLarge(f"This is {_size(length)}; at most {_size(limit)} can be sent at once.")


def _size(count: int) -> str:
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count:,} bytes"


def _conditions() -> files.Conditions:
    if_match = request.headers.get("If-Match", "")
    if_none_match = request.headers.get("If-None-Match", "").strip()
    if if_none_match not in ("", "*"):
        raise RequestError("If-None-Match can only be * here.")
    return files.Conditions(tuple(tag.strip() for tag in if_match.split(",") if tag.strip()), if_none_match == "*")
