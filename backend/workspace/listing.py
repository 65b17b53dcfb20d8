"""What is in a folder: entries, patterns, walks with bounds, and how many bytes a project holds."""

import fnmatch
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal

from ..errors import FileMissing, FileProblem, ToolError
from ..ids import iso
from .names import TEMPORARY_PREFIX, is_addressable, shown
from .paths import FOLDER_FLAGS, Folder, Place, Root, locate, problems
from .writing import Staged, is_stale_temporary

Kind = Literal["file", "dir", "link", "other"]

MAX_WALK_ENTRIES = 200_000
MAX_WALK_SECONDS = 10.0
MAX_WALK_DEPTH = 64
MAX_FOLDERS_DEEP = 128
MAX_ALTERNATIVES = 64
BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
NOT_WALKED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache", ".ruff_cache"}
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A thing in a folder. `type` is `link` for links that lead nowhere or outside, `other` for devices and pipes."""

    name: str
    path: str
    type: Kind
    size: int
    modified_at: str

    def to_dict(self) -> dict[str, Any]:
        """As the contract shows it."""
        return asdict(self)


def kind_of_mode(mode: int) -> Kind:
    """The kind of thing that a mode of `os.stat` stands for."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "link" if stat.S_ISLNK(mode) else "other"


def entry_of(name: str, path: str, found: os.stat_result) -> Entry:
    """An entry from a status."""
    kind = kind_of_mode(found.st_mode)
    moment = datetime.fromtimestamp(max(found.st_mtime, 0), UTC)
    return Entry(shown(name), shown(path), kind, found.st_size if kind == "file" else 0, iso(moment) or "")


def resolved(root: Root, path: str) -> tuple[str, os.stat_result] | None:
    """Where `path` leads inside the project, with its status; None if nothing is there."""
    try:
        with locate(root, path) as place:
            found = place.stat()
    except FileMissing:
        return None
    return None if found is None else (place.path, found)


def open_folder(place: Place) -> Folder:
    """The folder at `place`, opened anew (close its `fd`); FileMissing or FileProblem if it is none."""
    path = place.path or "."
    found = place.stat()
    if found is None:
        raise FileMissing(f"There is no folder {path!r}.")
    if not stat.S_ISDIR(found.st_mode):
        raise FileProblem(f"{path!r} is a file, not a folder.", suggestion="Use file_read to read it.")
    where = place.folder.path / place.name
    if place.folder.fd is None:
        place.folder.at(place.name)  # checks that the way is still inside
        return Folder(None, where, place.folder.root)
    with problems(path):
        fd = os.open(place.name or ".", FOLDER_FLAGS, dir_fd=place.folder.fd)
    return Folder(fd, where, place.folder.root)


def list_folder(root: Root, path: str, pattern: str | None = None) -> list[Entry]:
    """The entries of one folder, folders first, then by name. Links appear as what they lead to inside the project."""
    with locate(root, path) as place:
        folder = open_folder(place)
        try:
            with problems(place.path or "."):
                items = list(_entries(root, folder, place.path, pattern))
        finally:
            close_folder(folder)
    return sorted(items, key=lambda e: (e.type != "dir", e.name.casefold(), e.name))


def _entries(root: Root, folder: Folder, path: str, pattern: str | None) -> Iterator[Entry]:
    with folder.scan() as scan:
        names = [entry.name for entry in scan if not entry.name.startswith(TEMPORARY_PREFIX)]
    for name in names:
        if pattern is not None and not matches(name, pattern):
            continue
        found = _seen(folder, name)
        if found is None:
            continue  # removed while we looked
        full = f"{path}/{name}" if path else name
        if stat.S_ISLNK(found.st_mode) and is_addressable(full):
            found = _target(root, full) or found
        yield entry_of(name, full, found)


def _seen(folder: Folder, name: str) -> os.stat_result | None:
    try:
        return folder.stat(name)
    except FileProblem:
        return None  # one thing that may not be looked at does not spoil the rest


def _target(root: Root, path: str) -> os.stat_result | None:
    try:
        target = resolved(root, path)
    except ToolError:
        return None  # outside, a loop, not accessible: shown as a link, and nothing more is told
    return None if target is None else target[1]


@dataclass(slots=True)
class Bounds:
    """How much a walk may still do; `hit` says which bound ended it."""

    entries: int = MAX_WALK_ENTRIES
    seconds: float = MAX_WALK_SECONDS
    skip: frozenset[str] = NOT_WALKED
    hit: str | None = None
    _end: float = 0.0

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    @property
    def seconds_left(self) -> float:
        """Time that remains, never below zero."""
        return max(self._end - time.monotonic(), 0.0)

    def spend(self) -> bool:
        """Count one entry; False once a bound is hit."""
        self.entries -= 1
        if self.entries < 0:
            self.hit = "too many files"
        elif time.monotonic() > self._end:
            self.hit = "out of time"
        return self.hit is None


def walk(
    folder: Folder, path: str, bounds: Bounds, depth: int = 0
) -> Iterator[tuple[Folder, str, str, os.stat_result]]:
    """Every entry below an open folder: (open folder, name, path, status); links are given, never followed."""
    try:
        with folder.scan() as scan:
            names = sorted(entry.name for entry in scan)
    except OSError:
        return  # not readable: shown by its name, nothing of it inside
    for name in names:
        if name.startswith(TEMPORARY_PREFIX):
            continue
        if not bounds.spend():
            return
        found = _seen(folder, name)
        if found is None:
            continue
        full = f"{path}/{name}" if path else name
        yield folder, name, full, found
        if stat.S_ISDIR(found.st_mode) and name not in bounds.skip and depth < MAX_WALK_DEPTH:
            inner = _inner(folder, name)
            if inner is not None:
                try:
                    yield from walk(inner, full, bounds, depth + 1)
                finally:
                    close_folder(inner)


def _inner(folder: Folder, name: str) -> Folder | None:
    try:
        fd = None if folder.fd is None else os.open(name, FOLDER_FLAGS, dir_fd=folder.fd)
    except OSError:
        return None  # gone, swapped for a link, or not readable
    return Folder(fd, folder.path / name, folder.root)


def close_folder(folder: Folder) -> None:
    """Give the descriptor of `open_folder` back."""
    if folder.fd is not None:
        os.close(folder.fd)


def find(root: Root, path: str, pattern: str | None, bounds: Bounds) -> Iterator[Entry]:
    """Entries below `path` whose path from there matches `pattern` (see `matches`); all if it is None."""
    with locate(root, path) as place:
        folder = open_folder(place)
        prefix = len(place.path) + 1 if place.path else 0
        try:
            for _, name, full, found in walk(folder, place.path, bounds):
                if pattern is None or matches(full[prefix:], pattern):
                    yield entry_of(name, full, found)
        finally:
            close_folder(folder)


def matches(path: str, pattern: str) -> bool:
    """Glob match: without `/`, on the last part; else part by part, `**` for any number of folders."""
    return any(_matches_one(path, one) for one in _alternatives(pattern))


@lru_cache(maxsize=64)
def _alternatives(pattern: str) -> tuple[str, ...]:
    """`*.{py,txt}` is `*.py` and `*.txt`; braces without a comma, or too many, stand for themselves."""
    found: list[str] = []
    open_ones = [pattern]
    while open_ones and len(found) + len(open_ones) <= MAX_ALTERNATIVES:
        one = open_ones.pop()
        braces = BRACES.search(one)
        if braces is None:
            found.append(one)
        else:
            open_ones += [one[: braces.start()] + part + one[braces.end() :] for part in braces[1].split(",")]
    return tuple(found) if not open_ones else (pattern,)


def _matches_one(path: str, pattern: str) -> bool:
    if "/" not in pattern and pattern != "**":
        return fnmatch.fnmatchcase(path.rsplit("/", 1)[-1], pattern)
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    return _match_parts(path.split("/"), wanted)


def _match_parts(parts: list[str], wanted: list[str]) -> bool:
    reached = {0}  # positions in `wanted` that the parts read so far can lead to
    for part in parts:
        reached = _closure(reached, wanted)
        following = {at for at in reached if at < len(wanted) and wanted[at] == "**"}
        following |= {
            at + 1
            for at in reached
            if at < len(wanted) and wanted[at] != "**" and fnmatch.fnmatchcase(part, wanted[at])
        }
        reached = following
    return len(wanted) in _closure(reached, wanted)


def _closure(reached: set[int], wanted: list[str]) -> set[int]:
    closed = set(reached)
    for at in sorted(reached):
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            closed.add(at)
    return closed


def total_size(root: Root) -> int:
    """Bytes of all files of a project, links not followed; removes what crashed writes left behind."""
    with locate(root, ".") as place:
        folder = open_folder(place)
        try:
            return _folder_size(folder, 0)
        finally:
            close_folder(folder)


def _folder_size(folder: Folder, depth: int) -> int:
    try:
        with folder.scan() as scan:
            names = [entry.name for entry in scan]
    except OSError:
        return 0  # not readable: nothing of it was written by us
    return sum(_entry_size(folder, name, depth) for name in names)


def _entry_size(folder: Folder, name: str, depth: int) -> int:
    found = _seen(folder, name)
    if found is None:
        return 0
    if stat.S_ISDIR(found.st_mode) and depth < MAX_FOLDERS_DEEP:
        inner = _inner(folder, name)
        if inner is None:
            return 0
        try:
            return _folder_size(inner, depth + 1)
        finally:
            close_folder(inner)
    if name.startswith(TEMPORARY_PREFIX):
        if is_stale_temporary(found):
            Staged(folder, name, 0, "").drop()
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
