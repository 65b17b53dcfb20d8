"""Contents kept by their SHA-256: written once, whole or not at all, never changed."""

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import FileMissing

CHUNK_BYTES = 1 << 20
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
            if not self._known(digest):
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
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix="tmp-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as out:
                sha = hashlib.sha256()
                for piece in pieces:
                    sha.update(piece)
                    out.write(piece)
                out.flush()
                os.fsync(out.fileno())
            return self._publish(temporary, sha.hexdigest())
        except BaseException:
            _forget(temporary)
            raise

    def _publish(self, temporary: str, digest: str) -> str:
        target = self.path(digest)
        if self._known(digest):
            _forget(temporary)
            return digest
        target.parent.mkdir(exist_ok=True)
        os.replace(temporary, target)
        _sync(target.parent)
        return digest

    def _known(self, digest: str) -> bool:
        """Whether it is kept; if so it counts as new, so that a clean-up that spares young files spares it."""
        try:
            os.utime(self.path(digest))
        except FileNotFoundError:
            return False
        return True


def _sync(folder: Path) -> None:
    """Make the name of a new file durable, where the system can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _forget(temporary: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
