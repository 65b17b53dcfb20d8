"""Contents kept by their SHA-256: written once, whole or not at all, never changed."""

import contextlib
import ctypes
import hashlib
import os
import re
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import FileMissing

CHUNK_BYTES = 1 << 20
FEW_PATHS = 16
# Linux has a call that waits for a whole file system.
_SYNCFS = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None) if os.name == "posix" else None
_HASH = re.compile(r"[0-9a-f]{64}")


def chunks(source: BinaryIO) -> Iterator[bytes]:
    """The rest of a stream, in pieces of at most CHUNK_BYTES."""
    while piece := source.read(CHUNK_BYTES):
        yield piece


class BlobStore:
    """A folder of contents, `ab/cdef…` by hash. Safe for any number of threads and processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def put(self, content: bytes | BinaryIO) -> str:
        """Keep a content (a stream is read to its end, never held whole); returns its hash in hex."""
        if isinstance(content, bytes):
            digest = hashlib.sha256(content).hexdigest()
            if not self.known(digest):
                self._store(iter([content]))
            return digest
        return self._store(chunks(content))

    def open(self, digest: str) -> BinaryIO:
        """A stream of the content; FileMissing if it is not kept."""
        try:
            return self.path(digest).open("rb")
        except FileNotFoundError:
            raise FileMissing("This earlier content is no longer kept.") from None

    def path(self, digest: str) -> Path:
        """Where the content lies, or would lie; ValueError unless `digest` is a SHA-256 in hex."""
        if not _HASH.fullmatch(digest):
            raise ValueError("not a SHA-256 in hex")
        return self.folder / digest[:2] / digest[2:]

    def _store(self, pieces: Iterator[bytes]) -> str:
        temporary, digest = self.write(pieces)
        try:
            _sync(temporary)
            return self._publish(temporary, digest)
        except BaseException:
            _forget(temporary)
            raise

    def write(self, pieces: Iterator[bytes]) -> tuple[str, str]:
        """(a temporary file with the pieces, its hash); for `BlobGroup`, which puts it on disk and in its place."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix="tmp-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as out:
                sha = hashlib.sha256()
                for piece in pieces:
                    sha.update(piece)
                    out.write(piece)
            return temporary, sha.hexdigest()
        except BaseException:
            _forget(temporary)
            raise

    def _publish(self, temporary: str, digest: str) -> str:
        target = self.path(digest)
        if self.known(digest):
            _forget(temporary)
            return digest
        target.parent.mkdir(exist_ok=True)
        os.replace(temporary, target)
        _sync_name(target.parent)
        return digest

    def known(self, digest: str) -> bool:
        """Whether it is kept; if so it counts as new, so that a clean-up that spares young files spares it."""
        try:
            os.utime(self.path(digest))
        except FileNotFoundError:
            return False
        return True


class BlobGroup:
    """Contents of one store that are put on disk together, since waiting for the disk is what takes the time."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._waiting: dict[str, str] = {}

    def put(self, content: BinaryIO) -> str:
        """The hash of a content, which is kept once `settle` has returned."""
        temporary, digest = self._store.write(chunks(content))
        if digest in self._waiting or self._store.known(digest):
            _forget(temporary)
        else:
            self._waiting[digest] = temporary
        return digest

    def settle(self) -> None:
        """Put everything on disk, then in its place; on a failure nothing of it is kept."""
        if not self._waiting:
            return
        _sync_all(self._store.folder, self._waiting.values())
        folders = set()
        for digest, temporary in self._waiting.items():
            target = self._store.path(digest)
            target.parent.mkdir(exist_ok=True)
            os.replace(temporary, target)
            folders.add(str(target.parent))
        self._waiting = {}
        _sync_all(self._store.folder, folders)

    def drop(self) -> None:
        """Let go of what was not settled."""
        for temporary in self._waiting.values():
            _forget(temporary)
        self._waiting = {}


def _sync_all(folder: Path, paths: Collection[str]) -> None:
    """One wait for the whole file system where there is such a call and it pays, else one for each path."""
    if len(paths) < FEW_PATHS or _SYNCFS is None:
        for path in paths:
            _sync(path)
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        if _SYNCFS(fd) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(fd)


def _sync(path: str | Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_name(folder: Path) -> None:
    """Make the name of a new file durable, where the system can."""
    with contextlib.suppress(OSError):
        _sync(folder)


def _forget(temporary: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
