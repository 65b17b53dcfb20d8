"""The files of a project for a person: list, read, write, upload, move, delete and search them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import IO, Any, BinaryIO, Literal, cast

from ..agent.types import JsonObject
from ..errors import FileMissing, InvalidInput, PreconditionFailed, TooLarge
from ..workspace import Entry, OpenFile, Workspace, delete, move
from ..workspace.blobs import chunks
from ..workspace.files import Before
from ..workspace.reading import etag_of
from ..workspace.searching import Query
from ..workspace.searching import search as search_files
from ..workspace.writing import Staged, stage
from .paging import Page, decode_cursor, encode_cursor, list_json
from .projects import get_project
from .runtime import Runtime
from .workspaces import Workspaces

OnConflict = Literal["fail", "replace", "keep_both"]
# A body up to this size waits in memory, a longer one on the disk.
SPOOL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A path in a user's project."""

    user_id: str
    project_id: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """If-Match (any of these tags) and If-None-Match: * (only if nothing is there)."""

    if_match: tuple[str, ...] = ()
    if_none_match: bool = False


def open_workspace(runtime: Runtime, user_id: str, project_id: str) -> Workspace:
    """The project's folder for this person. Raises NotFound."""
    with runtime.db.read() as session:
        get_project(session, user_id, project_id)
    return Workspaces(runtime).open(project_id, user_id=user_id)


def list_folder(runtime: Runtime, place: Place, page: Page) -> JsonObject:
    """`{items: [{name, path, type, size, modified_at}], next_cursor}`, folders first."""
    entries = open_workspace(runtime, place.user_id, place.project_id).list(place.path)
    start = decode_cursor(page.cursor, (int,))[0] if page.cursor else 0
    rows = entries[max(start, 0) : max(start, 0) + page.limit + 1]
    return list_json(rows, page, Entry.to_dict, lambda _: encode_cursor(max(start, 0) + page.limit))


def open_file(runtime: Runtime, place: Place) -> OpenFile:
    """A file, open for reading; the caller closes its stream. Raises FileMissing."""
    return open_workspace(runtime, place.user_id, place.project_id).open(place.path)


def write_file(runtime: Runtime, place: Place, body: IO[bytes], conditions: Conditions) -> JsonObject:
    """Replace or create a file from a stream, at once and whole. Raises PreconditionFailed, TooLarge."""
    with _changing(runtime, place) as workspace, tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
        _spool(body, spool, runtime.settings.upload_max)

        def produce(at: Any, _: Before | None) -> Staged:
            spool.seek(0)
            return stage(at, chunks(cast(BinaryIO, spool)))

        written = workspace.replace(place.path, produce, check=lambda before: _check(before, conditions, place.path))
        return _shown(workspace, written.path) | {"etag": written.etag, "created": written.created}


def _spool(body: IO[bytes], spool: IO[bytes], limit: int) -> None:
    size = 0
    for piece in chunks(cast(BinaryIO, body)):
        size += len(piece)
        if size > limit:
            raise TooLarge(f"A file can have at most {limit} bytes; nothing was written.")
        spool.write(piece)


def _check(before: Before | None, conditions: Conditions, path: str) -> None:
    if conditions.if_none_match and before is not None:
        raise PreconditionFailed(f"{path!r} is already there.")
    wanted = conditions.if_match
    if wanted and (before is None or not {"*", etag_of(before.status)} & set(wanted)):
        raise PreconditionFailed(f"{path!r} has changed since you read it.")


def upload(runtime: Runtime, place: Place, name: str, body: BinaryIO, on_conflict: OnConflict) -> JsonObject:
    """Take one file into the folder `place.path`; folders on the way are made. Raises Conflict, TooLarge."""
    path = "/".join(part for part in (place.path.rstrip("/"), name.lstrip("/")) if part)
    if not name.strip("/"):
        raise InvalidInput("The uploaded file has no name.", {"file": ["needs a file name"]})
    with _changing(runtime, place) as workspace:
        written = workspace.upload(path, body, on_conflict, runtime.settings.upload_max)
        return _shown(workspace, written.path) | {"etag": written.etag, "created": written.created}


def move_entry(runtime: Runtime, place: Place, new_path: str) -> JsonObject:
    """Move or rename a file or folder; the entry as it is now. Raises FileTaken if something is there."""
    with _changing(runtime, place) as workspace:
        return _shown(workspace, move(workspace, place.path, new_path).new_path)


def delete_entry(runtime: Runtime, place: Place, recursive: bool) -> None:
    """Delete a file, or a folder; what it held is kept and can be put back."""
    with _changing(runtime, place) as workspace:
        delete(workspace, place.path, recursive=recursive)


def make_folder(runtime: Runtime, place: Place) -> tuple[JsonObject, bool]:
    """The folder, and whether it was made now."""
    with _changing(runtime, place) as workspace:
        made = workspace.mkdir(place.path)
        return _shown(workspace, place.path), made


def search(runtime: Runtime, place: Place, query: str, case_sensitive: bool, regex: bool) -> JsonObject:
    """`{items: [{path, line, column, text}], next_cursor: null, files, incomplete}`; bounded in time."""
    workspace = open_workspace(runtime, place.user_id, place.project_id)
    found = search_files(workspace.root, Query(query, place.path, regex=regex, case_sensitive=case_sensitive))
    return {
        "items": [asdict(match) for match in found.matches],
        "next_cursor": None,
        "files": found.files,
        "incomplete": found.incomplete,
    }


@contextmanager
def _changing(runtime: Runtime, place: Place) -> Iterator[Workspace]:
    """The folder for an act that changes it: afterwards tools forget what they read, and open tabs are told."""
    yield open_workspace(runtime, place.user_id, place.project_id)
    tell_change(runtime, place.user_id, place.project_id)


def tell_change(runtime: Runtime, user_id: str, project_id: str) -> None:
    """Files of the project were changed by a person."""
    runtime.executor.project_written(project_id)
    runtime.tabs.publish(user_id, "files", project_id)


def _shown(workspace: Workspace, path: str) -> JsonObject:
    entry = workspace.stat(path)
    if entry is None:
        raise FileMissing(f"{path!r} was removed in the meantime.")
    return entry.to_dict()
