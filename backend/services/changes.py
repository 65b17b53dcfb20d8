"""Earlier contents of a project's files: who changed what, the difference, and putting one back."""

from collections.abc import Sequence
from datetime import timedelta
from typing import BinaryIO, cast

from sqlalchemy import Select, exists, select
from sqlalchemy.orm import Session, aliased

from ..agent.types import JsonObject
from ..errors import FileProblem, NotFound, WorkspaceViolation
from ..ids import iso, utc_now
from ..models import FileChange
from ..workspace import Change, Workspace, change_diff, restore
from ..workspace.history import Action
from .files import open_workspace, tell_change
from .paging import Page, decode_cursor, encode_cursor, list_json
from .projects import get_project
from .runtime import Runtime

# From the first file of a folder that is deleted to the folder itself, at most.
TOGETHER = timedelta(seconds=60)


def list_changes(
    runtime: Runtime, user_id: str, project_id: str, page: Page, *, path: str | None, run_id: str | None
) -> JsonObject:
    """Changes of the project's files, the newest first; of one path, or of one run."""
    query = select(FileChange).where(FileChange.project_id == project_id)
    if path:
        query = query.where((FileChange.path == path) | (FileChange.new_path == path))
    if run_id:
        query = query.where(FileChange.run_id == run_id)
    if page.cursor:
        query = query.where(FileChange.position < decode_cursor(page.cursor, (int,))[0])
    with runtime.db.read() as session:
        get_project(session, user_id, project_id)
        rows = session.scalars(query.order_by(FileChange.position.desc()).limit(page.limit + 1)).all()
    return list_json(rows, page, change_json, lambda c: encode_cursor(c.position))


def list_deleted(runtime: Runtime, user_id: str, project_id: str, page: Page) -> JsonObject:
    """For each file that is gone and can be put back the change that deleted it, the newest first.

    `folder` names the folder that it was deleted with, null for a file that was deleted by itself. A page may hold less than its limit: what is there again, or no longer kept, is left out of it.
    """
    workspace = open_workspace(runtime, user_id, project_id)
    with runtime.db.read() as session:
        rows = list(session.scalars(_deletions(project_id, page)))
        shown = rows[: page.limit]
        folders = list(session.scalars(_deleted_folders(project_id, shown))) if shown else []
    cursor = encode_cursor(shown[-1].position) if len(rows) > page.limit else None
    items = [{**change_json(row), "folder": _folder_of(row, folders)} for row in shown if _can_return(workspace, row)]
    return {"items": items, "next_cursor": cursor}


def _deleted_folders(project_id: str, files: Sequence[FileChange]) -> Select[FileChange]:
    """Deletions of folders in the time of these deletions: a folder goes right after what was in it."""
    oldest, newest = files[-1], files[0]
    return select(FileChange).where(
        FileChange.project_id == project_id,
        FileChange.action == "delete",
        FileChange.before_hash.is_(None),
        FileChange.position > oldest.position,
        FileChange.created_at <= newest.created_at + TOGETHER,
    )


def _folder_of(file: FileChange, folders: Sequence[FileChange]) -> str | None:
    """The outermost folder that the same person or call deleted with the file in it, just after it."""
    around = [
        folder.path
        for folder in folders
        if file.path.startswith(f"{folder.path}/")
        and folder.position > file.position
        and folder.created_at - file.created_at <= TOGETHER
        and (folder.run_id, folder.call_id, folder.user_id) == (file.run_id, file.call_id, file.user_id)
    ]
    return min(around, key=len, default=None)


def _can_return(workspace: Workspace, row: FileChange) -> bool:
    """Nothing stands at its place now, and what it held is still kept."""
    try:
        if row.before_hash is None or workspace.stat(row.path) is not None:
            return False
        return workspace.blobs.path(row.before_hash).exists()
    except (FileProblem, WorkspaceViolation):
        return False


def _deletions(project_id: str, page: Page) -> Select[FileChange]:
    """Deletions of contents after which nothing happened at that path."""
    later = aliased(FileChange)
    since = exists().where(
        later.project_id == project_id, later.path == FileChange.path, later.position > FileChange.position
    )
    query = select(FileChange).where(
        FileChange.project_id == project_id,
        FileChange.action == "delete",
        FileChange.before_hash.is_not(None),
        FileChange.reverted_at.is_(None),
        ~since,
    )
    if page.cursor:
        query = query.where(FileChange.position < decode_cursor(page.cursor, (int,))[0])
    return query.order_by(FileChange.position.desc()).limit(page.limit + 1)


def show_change(runtime: Runtime, user_id: str, project_id: str, change_id: str) -> JsonObject:
    """One change with its `diff` (null for binary or too large contents)."""
    with runtime.db.read() as session:
        row = _get(session, user_id, project_id, change_id)
    workspace = open_workspace(runtime, user_id, project_id)
    return {**change_json(row), "diff": change_diff(workspace, change_of(row))}


def open_before(runtime: Runtime, user_id: str, project_id: str, change_id: str) -> tuple[str, BinaryIO]:
    """(path, stream) of what the file held before a change. Raises NotFound if there was nothing."""
    with runtime.db.read() as session:
        row = _get(session, user_id, project_id, change_id)
    if row.before_hash is None:
        raise NotFound("There was no content before this change.")
    return row.path, runtime.blobs.open(row.before_hash)


def revert(runtime: Runtime, user_id: str, project_id: str, change_id: str) -> JsonObject:
    """Put back what was there before a change. Raises FileTaken when the file was changed since."""
    with runtime.db.read() as session:
        row = _get(session, user_id, project_id, change_id)
    restore(open_workspace(runtime, user_id, project_id), change_of(row))
    with runtime.db.write() as session:
        row = _get(session, user_id, project_id, change_id)
        row.reverted_at = utc_now()
        answer = change_json(row)
    tell_change(runtime, user_id, project_id)
    return answer


def change_json(row: FileChange) -> JsonObject:
    """A change as the API shows it; `user_id` is the person, or the one for whom the run worked."""
    return {
        "id": row.id,
        "path": row.path,
        "new_path": row.new_path,
        "action": row.action,
        "before_hash": row.before_hash,
        "after_hash": row.after_hash,
        "before_size": row.before_size,
        "after_size": row.after_size,
        "run_id": row.run_id,
        "call_id": row.call_id,
        "user_id": row.user_id,
        "reverted_at": iso(row.reverted_at),
        "created_at": iso(row.created_at),
    }


def _get(session: Session, user_id: str, project_id: str, change_id: str) -> FileChange:
    get_project(session, user_id, project_id)
    row = session.get(FileChange, change_id)
    if row is None or row.project_id != project_id:
        raise NotFound("There is no such change.")
    return row


def change_of(row: FileChange) -> Change:
    """A stored change as the workspace knows it."""
    return Change(
        project_id=row.project_id, path=row.path, action=cast(Action, row.action), new_path=row.new_path,
        before_hash=row.before_hash, after_hash=row.after_hash, before_size=row.before_size,
        after_size=row.after_size, run_id=row.run_id, call_id=row.call_id, user_id=row.user_id, id=row.id,
    )  # fmt: skip
