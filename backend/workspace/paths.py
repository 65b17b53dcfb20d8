"""Where a path of a project leads: walks it by folder descriptors, so that no link, however swapped, leads outside."""

import errno
import os
import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from ..errors import FileMissing, FileProblem, WorkspaceViolation
from .beneath import beneath
from .names import check_new_name, shown

OUTSIDE = "Path is outside project directory"
MAX_PATH_CHARS = 4096
MAX_DEPTH_FOLDERS = 128
MAX_LINKS_FOLLOWED = 40
FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
HAS_DESCRIPTORS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")

_FOREIGN = re.compile(r"^([a-zA-Z]:([\\/]|$)|\\\\|file:|~([\\/]|$))")


def refuse(path: str, why: str = "") -> NoReturn:
    """Raise the one refusal of this module; `path` is what was asked for."""
    raise WorkspaceViolation(
        f"{OUTSIDE}: {why}" if why else OUTSIDE,
        target=path,
        suggestion="Use a path relative to the project folder, such as 'src/main.py'. Nothing outside it can be reached.",
    )


def validate_path_in_project(path: str, project_dir: str | Path) -> Path:
    """The real absolute path that `path` leads to; it need not exist.

    For showing and comparing only: acts go through `locate`, which keeps the folders open.
    Raises WorkspaceViolation if it leads outside, FileProblem if it is no path at all.
    """
    root = Root(Path(project_dir))
    parts = split(path, root)
    for there in range(len(parts), -1, -1):
        try:
            with locate(root, "/".join(parts[:there]) or ".") as place:
                base = place.folder.path / place.name
        except FileMissing:
            continue  # what is missing may still be made: judge by what is there above it
        return Path(os.path.normpath(base.joinpath(*parts[there:])))
    raise FileMissing("The project's folder is not there.")


class Root:
    """A project's folder; `parts_of` tells whether an absolute path lies below it by its text."""

    def __init__(self, folder: Path) -> None:
        self.given = Path(os.path.abspath(folder))
        self.real = Path(os.path.realpath(folder))

    def parts_of(self, path: str) -> list[str] | None:
        """The parts of the absolute `path` below this folder, or None if it is not below."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        for base in (self.given, self.real):
            head = list(base.parts[1:])
            if parts[: len(head)] == head:
                return parts[len(head) :]
        return None

    def open(self) -> int:
        """A descriptor of the folder; FileMissing if it is gone."""
        try:
            return os.open(self.real, FOLDER_FLAGS)
        except OSError:
            raise FileMissing("The project's folder is not there.") from None


def split(path: str, root: Root) -> list[str]:
    """The parts of a path as asked, `..` kept. Raises FileProblem for what is no path, WorkspaceViolation if foreign."""
    check_text(path)
    if _FOREIGN.match(path) or (("\\" in path) and ".." in path.replace("\\", "/").split("/")):
        refuse(path)
    if path.startswith("/"):
        inside = root.parts_of(path)
        if inside is None:
            refuse(path)
        return inside
    return [part for part in path.split("/") if part not in ("", ".")]


def check_text(path: str) -> None:
    """FileProblem unless `path` is a text that a file system can hold."""
    if "\0" in path:
        raise FileProblem("A path cannot contain a NUL character.")
    if len(path) > MAX_PATH_CHARS:
        raise FileProblem(f"The path is too long: {len(path)} characters, at most {MAX_PATH_CHARS}.")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise FileProblem("The path is not valid Unicode text (it holds a lone surrogate).") from None


@dataclass(slots=True)
class Folder:
    """An open folder; `at(name)` with `dir_fd=fd` names an entry of this very folder, wherever it has been moved to."""

    fd: int | None
    path: Path
    root: Path

    def at(self, name: str) -> str:
        """The name to hand to a call of `os` together with `dir_fd=self.fd`."""
        if self.fd is not None:
            return name
        if not Path(os.path.realpath(self.path)).is_relative_to(self.root):
            refuse(name)
        return str(self.path / name)

    def scan(self) -> "os._ScandirIterator[str]":
        """`os.scandir` of this folder."""
        return os.scandir(self.path if self.fd is None else self.fd)

    def stat(self, name: str) -> os.stat_result | None:
        """The entry itself (links not followed), or None if there is none."""
        try:
            with problems(shown(name)):
                return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)
        except FileMissing:
            return None


@dataclass(slots=True)
class Place:
    """A name in an open folder; `name` is "" for the project folder itself.

    Use it in `with`: it closes the folders, and after an error removes those that were made on the way.
    """

    folder: Folder
    name: str
    path: str
    _open: list[int] = field(default_factory=list)
    _made: list[tuple[int, str]] = field(default_factory=list)

    @property
    def is_root(self) -> bool:
        """True for the project folder itself."""
        return not self.name

    def stat(self) -> os.stat_result | None:
        """The entry itself (links not followed), or None if there is none."""
        return self.folder.stat(self.name or ".")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            _unmake(self._open, self._made)
        _close(self._open)


def _unmake(fds: list[int], made: list[tuple[int, str]]) -> None:
    """Remove folders that were made for something that then failed (those that are still empty)."""
    for at, name in reversed(made):
        with suppress(OSError):
            os.rmdir(name, dir_fd=fds[at])


def _close(fds: list[int]) -> None:
    while fds:
        os.close(fds.pop())


def locate(root: Root, path: str, *, follow: bool = True, make: bool = False) -> Place:
    """Find the folder that holds the last part of `path`, and open it.

    With `follow`, a link in the last part is followed (inside the project only). With `make`, missing
    folders on the way are made. Raises WorkspaceViolation if the way leads outside, FileMissing if a
    folder on the way is missing, FileProblem for anything that is no folder or cannot be entered.
    """
    parts = split(path, root)
    if not HAS_DESCRIPTORS:
        return _locate_by_name(root, path, parts, follow=follow, make=make)
    place = _locate_at_once(root, parts, follow)
    if place is not None:
        return place
    walk = _Walk(root, path, make)
    try:
        with problems("/".join(parts)):
            return walk.run(parts, follow)
    except BaseException:
        _unmake(walk.fds, walk.made)
        _close(walk.fds)
        raise


def _locate_at_once(root: Root, parts: list[str], follow: bool) -> Place | None:
    """The usual case in one call of the kernel: plain names, no link; None if it takes a walk to know."""
    if len(parts) < 2 or ".." in parts or not parts[-1].isascii() or not beneath.available:
        return None
    top = root.open()
    try:
        fd = beneath.open(top, "/".join(parts[:-1]), FOLDER_FLAGS)
    finally:
        os.close(top)
    if fd is None:
        return None
    if follow and _link_at(fd, parts[-1]) is not None:
        os.close(fd)
        return None
    return Place(Folder(fd, root.real.joinpath(*parts[:-1]), root.real), parts[-1], "/".join(parts), [fd])


def _link_at(fd: int, name: str) -> str | None:
    """What a link points to, or None if `name` is no link, or not there: whoever acts on it finds out."""
    try:
        return os.readlink(name, dir_fd=fd)
    except OSError:
        return None


class _Walk:
    """One walk: a stack of open folders, from the project's down; `..` goes back on the stack, never up by name."""

    def __init__(self, root: Root, asked: str, make: bool) -> None:
        self.root = root
        self.asked = asked
        self.make = make
        self.names: list[str] = []
        self.fds = [root.open()]
        self.made: list[tuple[int, str]] = []  # (where in `fds` its parent is, name)
        self.todo: deque[str] = deque()
        self.links = 0

    def run(self, parts: list[str], follow: bool) -> Place:
        self.todo.extend(parts)
        while self.todo:
            part = self.todo.popleft()
            if part == "..":
                self._up()
                continue
            if not self.todo:
                place = self._last(part, follow)
                if place is not None:
                    return place
            else:
                self._enter(part)
        return self._here()

    def _up(self) -> None:
        if not self.names:
            refuse(self.asked)
        self._pop()

    def _pop(self) -> str:
        os.close(self.fds.pop())
        self.made = [(at, name) for at, name in self.made if at < len(self.fds)]
        return self.names.pop()

    def _last(self, part: str, follow: bool) -> Place | None:
        """The place of the last part, or None if it was a link that leads on."""
        part = self._known(part)
        if follow:
            target = _link_at(self.fds[-1], part)
            if target is not None:
                self._expand(target)
                return None
        return self._place(self.names, part)

    def _enter(self, part: str) -> None:
        if len(self.names) >= MAX_DEPTH_FOLDERS:
            raise FileProblem(f"The path is too deep: at most {MAX_DEPTH_FOLDERS} folders.")
        part = self._known(part)
        try:
            fd = os.open(part, FOLDER_FLAGS, dir_fd=self.fds[-1])
        except FileNotFoundError:
            fd = self._missing(part)
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            target = _link_at(self.fds[-1], part)
            if target is None:
                raise FileProblem(f"{'/'.join([*self.names, part])!r} is a file, not a folder.") from None
            self._expand(target)
            return
        self.names.append(part)
        self.fds.append(fd)

    def _missing(self, part: str) -> int:
        """Nothing is there: make it if asked to, unless the rest of the path leads outside anyway."""
        depth = len(self.names) + 1
        for rest in self.todo:
            depth += -1 if rest == ".." else 1
            if depth < 0:
                refuse(self.asked)
        if not self.make:
            raise FileMissing(f"There is no folder {'/'.join([*self.names, part])!r}.")
        check_new_name(part)
        with suppress(FileExistsError):  # somebody made it at the same time
            os.mkdir(part, dir_fd=self.fds[-1])
            self.made.append((len(self.fds) - 1, part))
        return os.open(part, FOLDER_FLAGS, dir_fd=self.fds[-1])

    def _expand(self, target: str) -> None:
        self.links += 1
        if self.links > MAX_LINKS_FOLLOWED:
            raise FileProblem(f"{self.asked!r} is a loop of links.")
        parts = [part for part in target.split("/") if part not in ("", ".")]
        if target.startswith("/"):
            inside = self.root.parts_of(target)
            if inside is None:
                refuse(self.asked)
            parts = inside
            while self.names:
                self._up()
        self.todo.extendleft(reversed(parts))

    def _known(self, part: str) -> str:
        """The name on disk for a name that differs in its Unicode form only (macOS writes NFD, people type NFC)."""
        if part.isascii() or self._exists(part):
            return part
        wanted = unicodedata.normalize("NFC", part)
        with os.scandir(self.fds[-1]) as entries:
            same = [e.name for e in entries if not e.name.isascii() and unicodedata.normalize("NFC", e.name) == wanted]
        return same[0] if len(same) == 1 else part

    def _exists(self, part: str) -> bool:
        try:
            os.stat(part, dir_fd=self.fds[-1], follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _here(self) -> Place:
        """The path ended in a folder that is on the stack (`.`, `a/..`, or a link to one of them)."""
        if not self.names:
            return self._place([], "")
        name = self._pop()
        return self._place(self.names, name)

    def _place(self, names: list[str], name: str) -> Place:
        folder = Folder(self.fds[-1], self.root.real.joinpath(*names), self.root.real)
        return Place(folder, name, "/".join([*names, name] if name else names), self.fds, self.made)


def _locate_by_name(root: Root, asked: str, parts: list[str], *, follow: bool, make: bool) -> Place:
    """Where the system has no folder descriptors (Windows): resolve, then check; `Folder.at` checks again."""
    if follow or not parts or parts[-1] == "..":
        real = Path(os.path.realpath(root.real.joinpath(*parts)))
    else:
        real = Path(os.path.realpath(root.real.joinpath(*parts[:-1]))) / parts[-1]
    if not real.is_relative_to(root.real):
        refuse(asked)
    relative = real.relative_to(root.real)
    if not relative.parts:
        return Place(Folder(None, root.real, root.real), "", "")
    with problems(relative.as_posix()):
        if make:
            for part in relative.parts:
                check_new_name(part)
            os.makedirs(real.parent, exist_ok=True)
        elif not real.parent.is_dir():
            raise FileMissing(f"There is no folder {relative.parent.as_posix()!r}.")
    return Place(Folder(None, real.parent, root.real), real.name, relative.as_posix())


_REASONS = {
    errno.EACCES: "NanoClaw may not access {path!r} (permission denied).",
    errno.EPERM: "The system does not allow this on {path!r}.",
    errno.EROFS: "{path!r} lies on a read-only disk.",
    errno.ENOSPC: "The disk is full: {path!r} was not written, what was there before is unchanged.",
    errno.EDQUOT: "The disk quota is used up: {path!r} was not written, what was there before is unchanged.",
    errno.EFBIG: "{path!r} would be larger than the system allows; nothing was written.",
    errno.ENAMETOOLONG: "The name is too long: at most 255 bytes for each part of a path.",
    errno.EISDIR: "{path!r} is a folder.",
    errno.ENOTDIR: "A part of {path!r} is a file, not a folder.",
    errno.ELOOP: "{path!r} is a link that cannot be followed.",
    errno.ENOTEMPTY: "The folder {path!r} is not empty.",
    errno.EEXIST: "{path!r} is already there.",
    errno.EBUSY: "{path!r} is in use.",
    errno.EILSEQ: "{path!r} is no name that this file system can hold.",
    errno.EINVAL: "{path!r} is no name that this file system can hold, or a folder would move into itself.",
}


@contextmanager
def problems(path: str) -> Iterator[None]:
    """Turn errors of the system into FileProblem, naming `path` (project-relative) and no path of the server."""
    try:
        yield
    except FileNotFoundError:
        raise FileMissing(f"There is no file or folder {path!r}.") from None
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, "{path!r} could not be used: " + (os.strerror(error.errno or 0)) + ".")
        raise FileProblem(reason.format(path=path)) from None
