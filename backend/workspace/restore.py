"""Put back what a change did away with, and tell whether a change that a crash cut short took effect."""

import hashlib
import os
from typing import Literal

from ..errors import FileMissing, FileProblem, FileTaken
from . import trees
from .blobs import chunks
from .encodings import text_of
from .files import Before, Workspace, Written
from .history import MAX_DIFF_INPUT_BYTES, Change, diff
from .paths import Place, locate, problems
from .writing import Staged, stage

Proof = Literal["done", "not_done", "unknown"]
MAX_PROOF_BYTES = 64 << 20


def restore(workspace: Workspace, change: Change) -> None:
    """Undo one change. It is recorded as a change itself, so that it can be undone too.

    Raises FileTaken if the file is no longer what the change left, FileMissing if the earlier
    content is no longer kept. Nothing is touched then.
    """
    if change.action == "mkdir":
        trees.delete(workspace, change.path)
    elif change.action == "move":
        _move_back(workspace, change)
    elif change.action == "unlink":
        _link_again(workspace, change)
    elif change.action == "delete" and change.before_hash is None:
        workspace.mkdir(change.path)
    elif change.before_hash is None:
        _expect(digest_of(workspace, change.path), change.after_hash, change.path)
        trees.delete(workspace, change.path)
    else:
        _put_back(workspace, change, change.before_hash)


def _expect(found: str | None, wanted: str | None, path: str) -> None:
    if found != wanted:
        raise FileTaken(
            f"{path!r} has been changed since: it was not put back, so that the later content is not lost.",
            suggestion="Save or delete the present file first, or undo the later change first.",
        )


def _put_back(workspace: Workspace, change: Change, digest: str) -> Written:
    def produce(place: Place, before: Before | None) -> Staged:
        _expect(before.digest if before else None, change.after_hash, change.path)
        with workspace.blobs.open(digest) as stream:
            return stage(place, chunks(stream))

    return workspace.replace(change.path, produce)


def _move_back(workspace: Workspace, change: Change) -> None:
    if change.new_path is None:
        raise FileProblem("This record of a move is not complete.")
    if change.after_hash is not None:
        _expect(digest_of(workspace, change.new_path), change.after_hash, change.new_path)
    trees.move(workspace, change.new_path, change.path)


def _link_again(workspace: Workspace, change: Change) -> None:
    if change.new_path is None:
        raise FileProblem(f"{change.path!r} was a device, a pipe or a socket; it cannot be put back.")
    with workspace.usage.changing(), locate(workspace.root, change.path, follow=False, make=True) as place:
        if place.stat() is not None:
            _expect("something", None, change.path)
        workspace.changes.keep(workspace.change("write", place.path))
        with problems(place.path):
            os.symlink(change.new_path, place.folder.at(place.name), dir_fd=place.folder.fd)


def digest_of(workspace: Workspace, path: str) -> str | None:
    """The SHA-256 of a file as it is now, or None if there is no such file."""
    try:
        with workspace.open(path).stream as stream:
            sha = hashlib.sha256()
            for piece in chunks(stream):
                sha.update(piece)
            return sha.hexdigest()
    except FileMissing:
        return None


def prove_change(workspace: Workspace, change: Change) -> Proof:
    """Whether a recorded change took effect, judged by what is on the disk now."""
    if change.action in ("write", "append"):
        now = digest_of(workspace, change.path)
        if now == change.after_hash:
            return "done"
        return "not_done" if now == change.before_hash else "unknown"
    if change.action == "move":
        old, new = _is_there(workspace, change.path), _is_there(workspace, change.new_path or "")
        return "unknown" if old == new else "done" if new else "not_done"
    there = _is_there(workspace, change.path)
    return "done" if there == (change.action == "mkdir") else "not_done"


def _is_there(workspace: Workspace, path: str) -> bool:
    try:
        with locate(workspace.root, path, follow=False) as place:
            return place.stat() is not None
    except FileMissing:
        return False


def prove_written(workspace: Workspace, path: str, content: str, mode: str = "overwrite") -> bool | None:
    """Whether a `file_write` took effect: True if that is certain, False if certainly not, None if nobody can tell.

    An append can only be disproved: a file may have ended like that before. With its Change, use `prove_change`.
    """
    try:
        found = workspace.read_bytes(path, MAX_PROOF_BYTES)
    except FileMissing:
        return False
    except FileProblem:
        return None
    if mode != "append":
        return True if content in (_utf8(found), text_of(found)) else None
    text = text_of(found)
    return None if text is None or text.endswith(content) else False


def _utf8(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def change_diff(workspace: Workspace, change: Change) -> str | None:
    """What a change did, as a unified diff; None if it is binary, too large, or the content is no longer known."""
    before = _content(workspace, change, change.before_hash, change.before_size)
    after = _content(workspace, change, change.after_hash, change.after_size)
    if (before is None and change.before_hash) or (after is None and change.after_hash):
        return None
    return diff(before, after, change.path)


def _content(workspace: Workspace, change: Change, digest: str | None, size: int | None) -> bytes | None:
    """A content by its hash: kept as a blob, or still in the file itself."""
    if digest is None or (size or 0) > MAX_DIFF_INPUT_BYTES:
        return None
    try:
        with workspace.blobs.open(digest) as stream:
            return stream.read()
    except FileMissing:
        pass  # the newest content is no blob yet: it lies in the file, unless somebody changed it since
    try:
        content = workspace.read_bytes(change.new_path or change.path, MAX_DIFF_INPUT_BYTES)
    except FileProblem:
        return None
    return content if hashlib.sha256(content).hexdigest() == digest else None
