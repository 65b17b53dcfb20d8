"""Delete and move files and whole folders, keeping every content first."""

import os
import stat
from dataclasses import dataclass

from ..errors import FileMissing, FileProblem, FileTaken
from .blobs import BlobGroup, BlobStore
from .emptying import Emptying
from .files import ATTEMPTS_WHILE_CHANGING, Workspace, check_named, check_not_root, version_of
from .history import Change
from .listing import Bounds, close_folder, open_folder, walk
from .names import check_new_name, shown
from .paths import Folder, Place, locate, problems
from .writing import rename_new

MAX_FOLDER_ENTRIES = 10_000
MAX_FOLDER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted: the number of files, and the changes that can put them back."""

    path: str
    type: str
    files: int
    change_ids: list[str]


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved where."""

    path: str
    new_path: str
    type: str
    change_id: str


def delete(workspace: Workspace, path: str, *, recursive: bool = False) -> Deleted:
    """Delete a file, a link (never what it leads to) or a folder; with `recursive`, also one that is not empty."""
    with workspace.usage.changing(), locate(workspace.root, path, follow=False) as place:
        check_not_root(place, path)
        workspace.check_allowed(place.path)
        found = place.stat()
        if found is None:
            raise FileMissing(f"There is no file or folder {place.path!r}.")
        if stat.S_ISDIR(found.st_mode):
            return _delete_folder(workspace, place, recursive)
        change = _delete_one(workspace, place)
        return Deleted(place.path, "file", 1, [change.id])


def _delete_one(workspace: Workspace, place: Place) -> Change:
    """Keep and remove one thing that is no folder."""
    for _ in range(ATTEMPTS_WHILE_CHANGING):
        change, version = _recorded(workspace, place, workspace.blobs)
        workspace.changes.keep(change)
        found = place.stat()
        if found is None or version_of(found) == version:
            with problems(place.path):
                os.unlink(place.folder.at(place.name), dir_fd=place.folder.fd)
            workspace.usage.add(-(change.before_size or 0))
            return change
    raise FileProblem(f"{place.path!r} is being changed by another program; it was not deleted.")


def _recorded(workspace: Workspace, place: Place, blobs: BlobStore | BlobGroup) -> tuple[Change, tuple[int, int, int]]:
    """The record of deleting one thing that is no folder, its content kept, and the version it was made for."""
    found = place.stat()
    if found is None:
        raise FileMissing(f"There is no file or folder {place.path!r}.")
    if stat.S_ISREG(found.st_mode):
        before = workspace.before(place, blobs)
        if before is None:
            raise FileMissing(f"There is no file or folder {place.path!r}.")
        size = before.status.st_size
        change = workspace.change("delete", place.path, before_hash=before.digest, before_size=size)
        version = before.version
    else:
        change = workspace.change(
            "unlink", place.path, new_path=shown(_target(place)) if stat.S_ISLNK(found.st_mode) else None
        )
        version = version_of(found)
    return change, version


def _target(place: Place) -> str:
    with problems(place.path):
        return os.readlink(place.folder.at(place.name), dir_fd=place.folder.fd)


def _delete_folder(workspace: Workspace, place: Place, recursive: bool) -> Deleted:
    folder = open_folder(place)
    try:
        with folder.scan() as scan:
            empty = next(scan, None) is None
        if not empty and not recursive:
            raise FileProblem(
                f"The folder {place.path!r} is not empty; nothing was deleted.",
                suggestion="Pass recursive=true to delete it with everything in it (it can be put back).",
            )
        _check_tree(workspace, folder, place.path)
        with problems(place.path):
            emptying = Emptying(workspace, _recorded, _delete_one)
            emptying.empty(folder, place.path)
    finally:
        close_folder(folder)
    own = workspace.change("delete", place.path)
    workspace.changes.keep(own)
    with problems(place.path):
        os.rmdir(place.folder.at(place.name), dir_fd=place.folder.fd)
    files = sum(change.before_hash is not None for change in emptying.changes)
    return Deleted(place.path, "dir", files, [change.id for change in [*emptying.changes, own]])


def _check_tree(workspace: Workspace, folder: Folder, path: str) -> None:
    """Before anything is touched: not too much, and nothing in it that must stay."""
    bounds = Bounds(MAX_FOLDER_ENTRIES, MAX_FOLDER_SECONDS, skip=frozenset())
    for _, _, full, _ in walk(folder, path, bounds):
        workspace.check_allowed(full)
    if bounds.hit:
        raise FileProblem(
            f"{path!r} holds too much to delete at once ({bounds.hit}, at most {MAX_FOLDER_ENTRIES}); nothing was deleted.",
            suggestion="Delete its folders one by one.",
        )


def move(workspace: Workspace, path: str, new_path: str) -> Moved:
    """Rename or move a file or folder; FileTaken if something is at the new path. A link moves itself."""
    check_named(path)
    check_named(new_path)
    with workspace.usage.changing(), locate(workspace.root, path, follow=False) as source:
        check_not_root(source, path)
        found = source.stat()
        if found is None:
            raise FileMissing(f"There is no file or folder {source.path!r}.")
        with locate(workspace.root, new_path, follow=False, make=True) as target:
            _check_move(workspace, source, target, found)
            return _rename(workspace, source, target, found)


def _check_move(workspace: Workspace, source: Place, target: Place, found: os.stat_result) -> None:
    workspace.check_allowed(source.path)
    workspace.check_allowed(target.path)
    if target.is_root or (f"{target.path}/".startswith(f"{source.path}/") and target.path != source.path):
        raise FileProblem(f"{source.path!r} cannot be moved into itself.")
    there = target.stat()
    if there is None:
        check_new_name(target.name)
    elif (there.st_dev, there.st_ino) != (found.st_dev, found.st_ino) or source.path == target.path:
        raise FileTaken(
            f"{target.path!r} is already there; nothing was moved.",
            suggestion="Give the full new path with the new name, or delete what is there first.",
        )


def _rename(workspace: Workspace, source: Place, target: Place, found: os.stat_result) -> Moved:
    regular = stat.S_ISREG(found.st_mode)
    before = workspace.before(source) if regular else None
    fields = {"before_hash": before.digest, "after_hash": before.digest} if before else {}
    size = before.status.st_size if before else None
    change = workspace.change("move", source.path, new_path=target.path, before_size=size, after_size=size, **fields)
    workspace.changes.keep(change)
    kind = "file" if regular else "dir" if stat.S_ISDIR(found.st_mode) else "link"
    with problems(target.path):
        if regular and target.stat() is None:
            rename_new(source.folder, source.name, target.folder, target.name)
        else:
            source_name, target_name = source.folder.at(source.name), target.folder.at(target.name)
            os.rename(source_name, target_name, src_dir_fd=source.folder.fd, dst_dir_fd=target.folder.fd)
    return Moved(source.path, target.path, kind, change.id)
