"""Write files whole or not at all: into a temporary file beside the target, then renamed over it."""

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from .names import TEMPORARY_PREFIX
from .paths import Folder, Place, problems

STALE_TEMPORARY_SECONDS = 3600
_FLAGS = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Staged:
    """A content that lies on the disk under a temporary name, whole."""

    folder: Folder
    name: str
    size: int
    digest: str

    def drop(self) -> None:
        """Remove it if it was not published."""
        with suppress(OSError):  # published, or its folder is gone: nothing is left to remove
            os.unlink(self.folder.at(self.name), dir_fd=self.folder.fd)


def stage(place: Place, pieces: Iterable[bytes]) -> Staged:
    """Write the pieces beside `place` and make them durable. On any failure nothing is left behind."""
    folder, name = place.folder, TEMPORARY_PREFIX + secrets.token_hex(8)
    with problems(place.path):
        fd = os.open(folder.at(name), _FLAGS, 0o666, dir_fd=folder.fd)
        staged = Staged(folder, name, 0, "")
        try:
            with os.fdopen(fd, "wb") as out:
                _keep_mode(out.fileno(), place)
                size, sha = 0, hashlib.sha256()
                for piece in pieces:
                    size += len(piece)
                    sha.update(piece)
                    out.write(piece)
                out.flush()
                _date(out.fileno())
                os.fsync(out.fileno())
        except BaseException:
            staged.drop()
            raise
    return Staged(folder, name, size, sha.hexdigest())


def _keep_mode(fd: int, place: Place) -> None:
    """A rewritten script stays executable, a private file private."""
    found = place.stat()
    if found is not None and stat.S_ISREG(found.st_mode) and hasattr(os, "fchmod"):
        os.fchmod(fd, found.st_mode & 0o777)


def _date(fd: int) -> None:
    """The time to the nanosecond: the system's own goes by ticks, and entity tags must differ within one."""
    if os.utime in os.supports_fd:
        now = time.time_ns()
        os.utime(fd, ns=(now, now))


def publish(staged: Staged, place: Place, *, replace: bool) -> None:
    """Give the staged content its name at once; without `replace`, FileExistsError if the name is taken.

    A rename puts a new file in the place of the name: a link there is replaced, never followed, and
    a hard link to a file elsewhere is cut off, so that the other name keeps its old content.
    """
    folder = place.folder
    source, target = folder.at(staged.name), folder.at(place.name)
    if replace:
        os.replace(source, target, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    else:
        rename_new(folder, staged.name, folder, place.name)
    sync_folder(folder)


def rename_new(source: Folder, name: str, target: Folder, new_name: str) -> None:
    """Rename a file without ever replacing another; FileExistsError if the name is taken."""
    try:
        os.link(source.at(name), target.at(new_name), src_dir_fd=source.fd, dst_dir_fd=target.fd, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        # A file system without hard links: look, then rename (as close as such a system allows).
        if target.stat(new_name) is not None:
            raise FileExistsError(17, "exists", new_name) from None
        os.rename(source.at(name), target.at(new_name), src_dir_fd=source.fd, dst_dir_fd=target.fd)
        return
    os.unlink(source.at(name), dir_fd=source.fd)


def sync_folder(folder: Folder) -> None:
    """Make a rename durable, where the system can."""
    if folder.fd is None:
        return
    with suppress(OSError):  # some file systems do not sync folders; the content itself is durable
        os.fsync(folder.fd)


def is_stale_temporary(found: os.stat_result) -> bool:
    """True for a temporary file that a crashed write has left behind."""
    return time.time() - found.st_mtime > STALE_TEMPORARY_SECONDS
