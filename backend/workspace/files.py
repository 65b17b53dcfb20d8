"""A project's files: every way to read, write, move and delete them, with what they held before kept."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal

from ..errors import FileProblem, FileTaken, PreconditionFailed, TooLarge
from . import listing, reading, searching, writing
from .blobs import BlobGroup, BlobStore, chunks
from .history import Action, Actor, Change, ChangeLog
from .names import check_new_name, check_writable, shown
from .paths import Place, Root, locate, problems, refuse
from .usage import usage_of

DEFAULT_QUOTA_BYTES = 2 << 30
MAX_NAME_TRIES = 1_000
ANY_WRITE_BIT = 0o222
QUOTA_CHECK_BYTES = 8 << 20
ATTEMPTS_WHILE_CHANGING = 3

OnConflict = Literal["fail", "replace", "keep_both"]


@dataclass(slots=True)
class OpenFile:
    """A file open for reading; close `stream`. `etag` is quoted, as HTTP has it."""

    stream: BinaryIO
    path: str
    size: int
    etag: str
    modified_at: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did; hashes name contents, `before_hash` is None for a new file."""

    path: str
    size: int
    created: bool
    etag: str
    before_hash: str | None
    after_hash: str
    change_id: str


@dataclass(frozen=True, slots=True)
class Before:
    """A file as it was found: its status, and the hash under which its content is now kept."""

    status: os.stat_result
    digest: str

    @property
    def version(self) -> tuple[int, int, int]:
        """Changes whenever the file does."""
        return version_of(self.status)


def version_of(status: os.stat_result) -> tuple[int, int, int]:
    """Inode, size and time of change: the same for the same untouched file."""
    return status.st_ino, status.st_size, status.st_mtime_ns


Producer = Callable[[Place, Before | None], writing.Staged]
Check = Callable[[Before | None], None]


class Workspace:
    """The files of one project, for one actor. Paths are project-relative, with `/`.

    Every method raises WorkspaceViolation for a path that leads outside, FileMissing and FileProblem
    for what cannot be done. No message names a path of the server.
    """

    def __init__(
        self,
        project_id: str,
        root: Path,
        changes: ChangeLog,
        blobs: BlobStore,
        quota_bytes: int = DEFAULT_QUOTA_BYTES,
        actor: Actor | None = None,
    ) -> None:
        self.project_id = project_id
        self.root = Root(root)
        self.changes = changes
        self.blobs = blobs
        self.quota_bytes = quota_bytes
        self.actor = actor or Actor()
        self.usage = usage_of(self.root)

    # ------------------------------------------------------------ reading
    def stat(self, path: str) -> listing.Entry | None:
        """What is at `path` (links inside the project followed), or None."""
        found = listing.resolved(self.root, path)
        return None if found is None else listing.entry_of(PurePosixPath(found[0]).name, found[0], found[1])

    def list(self, path: str = "", pattern: str | None = None) -> list[listing.Entry]:
        """The entries of a folder whose names match `pattern`: folders first, then by name."""
        return listing.list_folder(self.root, path, pattern)

    def find(self, path: str, pattern: str | None, bounds: listing.Bounds) -> Iterator[listing.Entry]:
        """Entries below `path` that match a glob pattern, until a bound is hit (see `bounds.hit`)."""
        return listing.find(self.root, path, pattern, bounds)

    def search(self, query: searching.Query, cancelled: Callable[[], bool] = lambda: False) -> searching.Found:
        """Lines of text files that match; bounded in time and number."""
        return searching.search(self.root, query, cancelled)

    def open(self, path: str) -> OpenFile:
        """A regular file, open for reading."""
        check_named(path)
        with locate(self.root, path) as place:
            stream = reading.open_regular(place)
            status = os.fstat(stream.fileno())
            entry = listing.entry_of(place.name, place.path, status)
            return OpenFile(stream, place.path, status.st_size, reading.etag_of(status), entry.modified_at)

    def read_bytes(self, path: str, max_bytes: int) -> bytes:
        """A whole small file; FileProblem if it is larger than `max_bytes`."""
        opened = self.open(path)
        with opened.stream as stream:
            content = stream.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise FileProblem(f"{opened.path!r} has {opened.size} bytes; at most {max_bytes} can be taken at once.")
        return content

    def total_size(self) -> int:
        """Bytes of all files, as the quota counts them."""
        return self.usage.bytes()

    # ------------------------------------------------------------ writing
    def write(self, path: str, content: bytes, *, if_match: str | None = None, if_none_match: bool = False) -> Written:
        """Replace or create a file, at once and whole.

        With `if_match`, PreconditionFailed unless the file has that etag ("*": unless it exists); with
        `if_none_match`, unless there is none.
        """

        def check(before: Before | None) -> None:
            if if_none_match and before is not None:
                raise PreconditionFailed(f"{path!r} is already there.")
            if if_match is not None and (before is None or if_match not in ("*", reading.etag_of(before.status))):
                raise PreconditionFailed(f"{path!r} has changed since you read it.")

        return self.replace(path, lambda place, _: writing.stage(place, [content]), check=check)

    def append(self, path: str, content: bytes) -> Written:
        """Add to the end of a file; what others added in the meantime is kept."""

        def produce(place: Place, before: Before | None) -> writing.Staged:
            return writing.stage(place, self._old_then(before, content))

        return self.replace(path, produce, action="append")

    def transform(
        self, path: str, change: Callable[[bytes | None], bytes], max_bytes: int, action: Action = "write"
    ) -> Written:
        """Replace a file's content by `change(old content)`, with no other writer in between."""

        def produce(place: Place, before: Before | None) -> writing.Staged:
            return writing.stage(place, [change(self._small(place, before, max_bytes))])

        return self.replace(path, produce, action=action)

    def upload(
        self, path: str, stream: BinaryIO, on_conflict: OnConflict = "fail", max_bytes: int | None = None
    ) -> Written:
        """Take a file from a stream of any length; TooLarge beyond `max_bytes`, FileTaken if it is there and must not be."""
        check_named(path)
        with locate(self.root, path, make=True) as place:
            self.check_target(place, path)
            staged = writing.stage(place, self._limited(place, stream, max_bytes))
            try:
                return self._publish_upload(path, place, staged, on_conflict)
            finally:
                staged.drop()

    def replace(self, path: str, produce: Producer, *, action: Action = "write", check: Check | None = None) -> Written:
        """The way of every write: make the new content, keep the old one, record the change, rename.

        `produce` stages the new content from the old; if the file changes on disk meanwhile, it is asked again.
        """
        check_named(path)
        with self.usage.changing(), locate(self.root, path, make=True) as place:
            self.check_target(place, path)
            for _ in range(ATTEMPTS_WHILE_CHANGING):
                before = self.before(place)
                if check is not None:
                    check(before)
                with dropped(produce(place, before)) as staged:
                    written = self._commit(place, before, staged, action)
                if written is not None:
                    return written
        raise FileProblem(f"{path!r} is being changed by another program; nothing was written.")

    def mkdir(self, path: str) -> bool:
        """Make a folder and those above it; False if it is there already."""
        check_named(path)
        with self.usage.changing(), locate(self.root, path, make=True) as place, problems(place.path):
            self.check_allowed(place.path)
            found = place.stat()
            if found is not None:
                if stat.S_ISDIR(found.st_mode):
                    return False
                raise FileProblem(f"{place.path!r} is a file; a folder of that name cannot be made.")
            check_new_name(place.name)
            self.changes.keep(self.change("mkdir", place.path))
            os.mkdir(place.folder.at(place.name), dir_fd=place.folder.fd)
            return True

    # ------------------------------------------------------------ parts that history and trees build on
    def change(self, action: Action, path: str, **fields: str | int | None) -> Change:
        """A record of a change by this workspace's actor."""
        actor = self.actor
        return Change(
            self.project_id,
            shown(path),
            action,
            run_id=actor.run_id,
            call_id=actor.call_id,
            user_id=actor.user_id,
            **fields,  # type: ignore[arg-type]
        )

    def before(self, place: Place, blobs: BlobStore | BlobGroup | None = None) -> Before | None:
        """The file at `place`, its content kept (in `blobs`, if it is one of many); None if there is none. FileProblem for a folder or a device."""
        if place.stat() is None:
            return None
        with reading.open_regular(place) as stream:
            status = os.fstat(stream.fileno())
            with problems(place.path):
                return Before(status, (blobs or self.blobs).put(stream))

    def _commit(self, place: Place, before: Before | None, staged: writing.Staged, action: Action) -> Written | None:
        """Record and rename; None if the file is no longer what `before` says."""
        old_size = before.status.st_size if before else 0
        self.usage.check(staged.size - old_size, self.quota_bytes)
        change = self.change(
            action,
            place.path,
            before_hash=before.digest if before else None,
            after_hash=staged.digest,
            before_size=before.status.st_size if before else None,
            after_size=staged.size,
        )
        self.changes.keep(change)
        now = place.stat()
        if (now and version_of(now)) != (before and before.version):
            return None
        with problems(place.path):
            try:
                writing.publish(staged, place, replace=before is not None)
            except FileExistsError:
                return None  # somebody made it in the last moment
        self.usage.add(staged.size - old_size)
        status = place.stat()
        etag = reading.etag_of(status) if status else ""
        return Written(place.path, staged.size, before is None, etag, change.before_hash, staged.digest, change.id)

    def _limited(self, place: Place, stream: BinaryIO, max_bytes: int | None) -> Iterator[bytes]:
        """The pieces of an upload, ended by an error once it is larger than allowed or than fits."""
        old, size, checked = place.stat(), 0, 0
        for piece in chunks(stream):
            size += len(piece)
            if max_bytes is not None and size > max_bytes:
                raise TooLarge(f"{place.path!r} is larger than the {max_bytes} bytes allowed; nothing was written.")
            if size - checked > QUOTA_CHECK_BYTES:
                self.usage.check(size - (old.st_size if old else 0), self.quota_bytes)
                checked = size
            yield piece

    def _publish_upload(self, path: str, place: Place, staged: writing.Staged, on_conflict: OnConflict) -> Written:
        with self.usage.changing():
            for name in _free_names(place.name):
                there = place.folder.stat(name)
                if there is not None and on_conflict == "keep_both":
                    continue
                if there is not None and on_conflict == "fail":
                    raise FileTaken(f"{place.path!r} is already there.")
                parent = place.path[: -len(place.name)]
                target = Place(place.folder, name, parent + name)
                written = self._commit(target, self.before(target), staged, "write")
                if written is not None:
                    return written
        raise FileTaken(f"{path!r} is being changed by another program; nothing was written.")

    def check_target(self, place: Place, asked: str) -> None:
        """FileProblem if no file may be written at `place`."""
        self.check_allowed(place.path)
        if place.is_root or asked.endswith("/"):
            raise FileProblem(f"{asked!r} names a folder, not a file.")
        found = place.stat()
        if found is None:
            check_new_name(place.name)
        elif stat.S_ISREG(found.st_mode) and not found.st_mode & ANY_WRITE_BIT:
            raise FileProblem(f"{place.path!r} is marked read-only; it was not changed.")  # a rename would not care

    def check_allowed(self, path: str) -> None:
        """FileProblem if a run would change what other programs trust; a person may."""
        if self.actor.run_id is not None:
            check_writable(path)

    def _old_then(self, before: Before | None, content: bytes) -> Iterable[bytes]:
        if before is not None:
            with self.blobs.open(before.digest) as stream:
                yield from chunks(stream)
        yield content

    def _small(self, place: Place, before: Before | None, max_bytes: int) -> bytes | None:
        if before is None:
            return None
        if before.status.st_size > max_bytes:
            raise FileProblem(f"{place.path!r} has {before.status.st_size} bytes; at most {max_bytes} can be edited.")
        with self.blobs.open(before.digest) as stream:
            return stream.read()


@contextmanager
def dropped(staged: writing.Staged) -> Iterator[writing.Staged]:
    """Remove the temporary file at the end, whatever happened (after a rename it is gone already)."""
    try:
        yield staged
    finally:
        staged.drop()


def check_named(path: str) -> None:
    """FileProblem for the empty path."""
    if not path:
        raise FileProblem("The path is empty; give the path of a file in the project, such as 'notes.md'.")


def check_not_root(place: Place, asked: str) -> None:
    """WorkspaceViolation if `place` is the project folder itself."""
    if place.is_root:
        refuse(asked, "only what lies inside the project folder can be deleted or moved, not the folder itself")


def _free_names(name: str) -> Iterator[str]:
    """`a.txt`, then `a (2).txt`, `a (3).txt` …"""
    yield name
    stem, dot, ending = name.rpartition(".") if "." in name[1:] else (name, "", "")
    for number in range(2, MAX_NAME_TRIES):
        yield f"{stem} ({number}){dot}{ending}"
