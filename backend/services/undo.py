"""Puts back what a run did to files: a whole run, one step, or some paths; later edits are kept or shown as conflicts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from sqlalchemy import and_, or_, select, update
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, FileMissing, FileProblem, FileTaken, NotFound, WorkspaceViolation
from ..ids import utc_now
from ..models import GOING_ON, FileChange, Run, ToolCall
from ..workspace import Change, Workspace, delete, restore
from ..workspace.files import Before
from ..workspace.history import diff
from ..workspace.merging import MAX_MERGE_BYTES, take_back
from ..workspace.paths import Place
from ..workspace.restore import digest_of
from ..workspace.writing import Staged, stage
from .changes import change_of
from .files import open_workspace, tell_change
from .runs import get_run
from .runtime import Runtime

CONTENT_ACTIONS = ("write", "append", "delete")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to put back: of one step only, of some paths (a folder stands for all below it) only, or everything."""

    step: int | None = None
    paths: tuple[str, ...] | None = None


class _Why(NamedTuple):
    """Why a path is left alone: a code for programs that have their own words, and a sentence."""

    code: str
    reason: str


@dataclass(slots=True)
class _File:
    """One path while its changes are taken back, the newest first; nothing is written before all are."""

    found: str | None
    digest: str | None
    content: bytes | None = None
    merged: bool = False
    undone: list[Change] = field(default_factory=list)
    conflict: _Why | None = None


def list_diffs(runtime: Runtime, user_id: str, run_id: str) -> JsonObject:
    """`{items: [{path, new_path, action, diff, change_ids, call_ids, reverted}]}`: each path once, from before the run to after it."""
    with runtime.db.read() as session:
        run = get_run(session, user_id, run_id)
        rows = _rows(session, run, Wanted()) if run.project_id else []
    if not rows or run.project_id is None:
        return {"items": []}
    workspace = open_workspace(runtime, user_id, run.project_id)
    by_path: dict[tuple[str, str | None], list[FileChange]] = {}
    for row in rows:
        key = (row.path, row.new_path if row.action not in CONTENT_ACTIONS else None)
        by_path.setdefault(key, []).append(row)
    return {"items": [_item(workspace, group) for group in by_path.values()]}


def undo(runtime: Runtime, user_id: str, run_id: str, wanted: Wanted) -> JsonObject:
    """Take the changes back, newest first: `{undone, conflicts}`; each `{path, how, change_ids}`, or with `code` and `reason`.

    A file that was edited since keeps those edits if they lie in other lines; else it is a conflict and is left
    alone. What is put back is itself a change, so it can be undone. Raises NotFound, Conflict during the run.
    """
    with runtime.db.read() as session:
        run = get_run(session, user_id, run_id)
        if run.status in GOING_ON:
            raise Conflict("The run goes on; stop it, or wait for its end.")
        if run.project_id is None:
            raise NotFound("This run had no project, so it changed no files.")
        rows = [row for row in _rows(session, run, wanted) if row.reverted_at is None]
    work = _Undo(open_workspace(runtime, user_id, run.project_id))
    for row in reversed(rows):
        work.take(change_of(row))
    work.write()
    with runtime.db.write() as session:
        session.execute(update(FileChange).where(FileChange.id.in_(work.done_ids)).values(reverted_at=utc_now()))
    if work.undone:
        tell_change(runtime, user_id, run.project_id)
    return {"undone": work.undone, "conflicts": work.conflicts}


class _Undo:
    """One undo over one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files: dict[str, _File] = {}
        self.undone: list[JsonObject] = []
        self.conflicts: list[JsonObject] = []
        self.done_ids: list[str] = []

    def take(self, change: Change) -> None:
        """Take one change back, in mind if it is of a file's content, at once if it is of the tree."""
        if change.action in CONTENT_ACTIONS and (change.before_hash or change.after_hash):
            self._take_content(change)
        else:
            self.write()
            self._take_tree(change)

    def write(self) -> None:
        """Write what was taken back in mind."""
        for path, file in self._files.items():
            if file.conflict is None:
                try:
                    self._write_one(path, file)
                except (FileProblem, WorkspaceViolation) as problem:
                    file.conflict = _Why(problem.code, problem.message)
            if file.conflict is not None:
                self._conflict(path, file.conflict, file.undone)
        self._files = {}

    # ---------------------------------------------------------------- contents
    def _take_content(self, change: Change) -> None:
        file = self._files.get(change.path)
        if file is None:
            digest = digest_of(self._workspace, change.path)
            file = self._files[change.path] = _File(digest, digest)
        file.undone.append(change)
        if file.conflict is not None or file.digest == change.before_hash:
            return  # it is as before: the change never took effect, or somebody put it back
        if file.digest == change.after_hash:
            file.digest, file.content = change.before_hash, None
            return
        merged = self._merged(change, file)
        if merged is None:
            file.conflict = _Why("changed_since", "It was changed since, in the same place.")
        else:
            file.digest, file.content, file.merged = "", merged, True

    def _merged(self, change: Change, file: _File) -> bytes | None:
        before, after = self._kept(change.before_hash), self._kept(change.after_hash)
        now = file.content if file.content is not None else self._now(change.path, file)
        if before is None or after is None or now is None:
            return None
        return take_back(before, after, now)

    def _kept(self, digest: str | None) -> bytes | None:
        if digest is None:
            return None
        try:
            with self._workspace.blobs.open(digest) as stream:
                content: bytes = stream.read(MAX_MERGE_BYTES + 1)
        except FileMissing:
            return None
        return content if len(content) <= MAX_MERGE_BYTES else None

    def _now(self, path: str, file: _File) -> bytes | None:
        if file.digest != file.found:
            return self._kept(file.digest)
        try:
            return self._workspace.read_bytes(path, MAX_MERGE_BYTES)
        except FileProblem:
            return None

    def _write_one(self, path: str, file: _File) -> None:
        if file.content is None and file.digest == file.found:
            self.done_ids += [change.id for change in file.undone]
            return
        if file.content is None and file.digest is None:
            if digest_of(self._workspace, path) != file.found:
                raise FileTaken(f"{path!r} is being changed.")
            delete(self._workspace, path)
            self._done(path, "removed", file.undone)
            return
        self._workspace.replace(path, lambda place, before: self._staged(place, before, file))
        how = "merged" if file.merged else "restored" if file.found is not None else "created"
        self._done(path, how, file.undone)

    def _staged(self, place: Place, before: Before | None, file: _File) -> Staged:
        if (before.digest if before else None) != file.found:
            raise FileTaken(f"{place.path!r} is being changed.")
        if file.content is not None:
            return stage(place, [file.content])
        assert file.digest is not None
        with self._workspace.blobs.open(file.digest) as stream:
            return stage(place, iter(lambda: stream.read(1 << 20), b""))

    # ---------------------------------------------------------------- the tree
    def _take_tree(self, change: Change) -> None:
        try:
            if change.action == "mkdir" and not self._remove_folder(change):
                return
            if change.action != "mkdir":
                restore(self._workspace, change)
        except (FileProblem, WorkspaceViolation) as problem:
            self._conflict(change.path, _Why(problem.code, problem.message), [change])
            return
        how = {"mkdir": "removed", "move": "moved back"}.get(change.action, "created")
        self._done(change.path, how, [change])

    def _remove_folder(self, change: Change) -> bool:
        """Only an empty folder is removed: what lies in it now is somebody's."""
        if self._workspace.stat(change.path) is None:
            self.done_ids.append(change.id)
            return False
        if self._workspace.list(change.path):
            raise FileTaken(f"{change.path!r} is not empty; the folder was kept.")
        delete(self._workspace, change.path)
        return True

    def _done(self, path: str, how: str, changes: Iterable[Change]) -> None:
        ids = [change.id for change in changes]
        self.done_ids += ids
        self.undone.append({"path": path, "how": how, "change_ids": ids})

    def _conflict(self, path: str, why: _Why, changes: Iterable[Change]) -> None:
        ids = [change.id for change in changes]
        self.conflicts.append({"path": path, "code": why.code, "reason": why.reason, "change_ids": ids})


# ---------------------------------------------------------------- which changes
def _rows(session: Session, run: Run, wanted: Wanted) -> Sequence[FileChange]:
    """Changes of the run and its children, oldest first."""
    children = select(Run.id, Run.parent_call_id).where(Run.parent_run_id == run.id)
    if wanted.step is None:
        mine = FileChange.run_id == run.id
        ids = [row.id for row in session.execute(children)]
    else:
        calls = list(
            session.scalars(select(ToolCall.id).where(ToolCall.run_id == run.id, ToolCall.step == wanted.step))
        )
        mine = and_(FileChange.run_id == run.id, FileChange.call_id.in_(calls))
        ids = [row.id for row in session.execute(children.where(Run.parent_call_id.in_(calls)))]
    query = select(FileChange).where(or_(mine, FileChange.run_id.in_(ids)), FileChange.project_id == run.project_id)
    rows = session.scalars(query.order_by(FileChange.position)).all()
    if wanted.paths is None:
        return rows
    folders = [PurePosixPath(path) for path in wanted.paths]
    return [row for row in rows if any(_below(row, folder) for folder in folders)]


def _below(row: FileChange, folder: PurePosixPath) -> bool:
    names = (PurePosixPath(name) for name in (row.path, row.new_path) if name)
    return any(name == folder or folder in name.parents for name in names)


def _item(workspace: Workspace, rows: Sequence[FileChange]) -> JsonObject:
    first, last = rows[0], rows[-1]
    content = first.action in CONTENT_ACTIONS
    return {
        "path": first.path,
        "new_path": None if content else first.new_path,
        "action": _net_action(first, last) if content else first.action,
        "diff": _diff(workspace, first, last) if content else None,
        "change_ids": [row.id for row in rows],
        "call_ids": list(dict.fromkeys(row.call_id for row in rows if row.call_id)),
        "reverted": all(row.reverted_at is not None for row in rows),
    }


def _net_action(first: FileChange, last: FileChange) -> str:
    if first.before_hash is None:
        return "create" if last.after_hash else "none"
    return "edit" if last.after_hash else "delete"


def _diff(workspace: Workspace, first: FileChange, last: FileChange) -> str | None:
    before = _content(workspace, first.path, first.before_hash)
    after = _content(workspace, last.path, last.after_hash)
    if (before is None and first.before_hash) or (after is None and last.after_hash):
        return None
    return diff(before, after, first.path)


def _content(workspace: Workspace, path: str, digest: str | None) -> bytes | None:
    if digest is None:
        return None
    try:
        with workspace.blobs.open(digest) as stream:
            return bytes(stream.read(MAX_MERGE_BYTES))
    except FileMissing:
        pass  # the newest content is no blob yet: it lies in the file, unless somebody changed it since
    try:
        return workspace.read_bytes(path, MAX_MERGE_BYTES) if digest_of(workspace, path) == digest else None
    except FileProblem:
        return None
