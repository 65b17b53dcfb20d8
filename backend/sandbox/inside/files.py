"""Files that exist only in memory: the ones handed in, and the ones the code writes, which come back as proposals."""

import builtins
import errno
import io
import os
import pathlib
import posixpath
import stat
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from .limits import FILE_OUT_MAX_BYTES, FILES_OUT_MAX, FILES_OUT_MAX_BYTES, NAME_MAX_CHARS

_HOME_FOLDERS = ("/mnt/data/", "/home/sandbox/", "/tmp/", "/workspace/")  # noqa: S108 - habits of models, not folders
_MODES = {"r", "w", "a", "x"}
_real_open = open
#: read by libraries while they work (fonts), never listed
RESOURCES: dict[str, bytes] = {}


class TooMuch(OSError):
    """The code wrote more than may come back."""

    __module__ = "builtins"


TooMuch.__name__ = TooMuch.__qualname__ = "OSError"


def plain_name(path: Any) -> str:
    """The name under which the table keeps a path."""
    text = os.fsdecode(path)
    for folder in _HOME_FOLDERS:
        text = text[len(folder) :] if text.startswith(folder) else text
    name = posixpath.normpath(text).lstrip("/") or "." if text else ""
    if name.startswith(".."):
        raise PermissionError(errno.EPERM, "there is nothing above the working folder", text)
    return name


class _Written(io.BytesIO):
    """A file being written; its content stays with the table when it is closed."""

    def __init__(self, table: "FileTable", name: str, before: bytes, mode: str) -> None:
        super().__init__(before)
        self._table = table
        self.name, self.mode = name, mode  # type: ignore[misc]
        self._text: io.TextIOWrapper | None = None
        self._final: bytes | None = None
        if mode.startswith("a"):
            self.seek(0, io.SEEK_END)

    def write(self, data: Any) -> int:
        """As io.BytesIO, within the size limit."""
        if self.tell() + len(data) > FILE_OUT_MAX_BYTES:
            raise TooMuch(errno.EFBIG, f"a file may hold {FILE_OUT_MAX_BYTES // 1024 // 1024} MB here")
        return super().write(data)

    def close(self) -> None:
        """Keep the content, then close."""
        if not self.closed:
            self._final = self.getvalue()
        super().close()

    def content(self) -> bytes:
        """What has been written so far, text still in the wrapper included."""
        if self._text is not None and not self._text.closed:
            self._text.flush()
        return self._final if self._final is not None else self.getvalue()


class _Read(io.BytesIO):
    """A file handed in."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name, self.mode = name, "rb"  # type: ignore[misc]

    def writable(self) -> bool:
        """False, as of a real file opened for reading."""
        return False

    def write(self, data: Any) -> int:
        """Refused."""
        raise io.UnsupportedOperation("not writable")


class _Entry:
    """What os.scandir gives for one name."""

    def __init__(self, table: "FileTable", name: str, path: str) -> None:
        self.name, self.path = name, path
        self._status = table.stat(path)

    def is_dir(self, **_: Any) -> bool:
        """True for a folder."""
        return stat.S_ISDIR(self._status.st_mode)

    def is_file(self, **_: Any) -> bool:
        """True for a file."""
        return not self.is_dir()

    def is_symlink(self) -> bool:
        """False: there are no links."""
        return False

    def stat(self, **_: Any) -> os.stat_result:
        """Its status."""
        return self._status

    def __fspath__(self) -> str:
        return self.path


class _Listing:
    """The iterator and context manager that os.scandir gives."""

    def __init__(self, entries: Iterator[_Entry]) -> None:
        self._entries = entries

    def __iter__(self) -> Iterator[_Entry]:
        return self._entries

    def __next__(self) -> _Entry:
        return next(self._entries)

    def __enter__(self) -> "_Listing":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        """Nothing to do."""


class FileTable:
    """Name -> content. `open` behaves like the built-in one."""

    def __init__(self, given: dict[str, bytes]) -> None:
        self._given = {plain_name(name): content for name, content in given.items()}
        self._out: dict[str, _Written] = {}
        self._removed: set[str] = set()
        self._folders: set[str] = set()

    # ------------------------------------------------------------ as the code sees it
    def open(  # noqa: PLR0913 - the signature of the built-in
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """The built-in open, on this table."""
        if isinstance(file, int):
            raise PermissionError(errno.EPERM, "descriptors cannot be opened here: use a file name")
        name = plain_name(os.fspath(file))
        binary, kind = "b" in mode, mode.replace("b", "").replace("t", "")
        if kind[:1] not in _MODES or kind.strip("rwax+"):
            raise ValueError(f"invalid mode: {mode!r}")
        raw = self._open_raw(name, kind, file)
        if binary:
            return raw
        text: Any = io.TextIOWrapper(raw, encoding or "utf-8", errors, newline)
        text.mode = mode
        if isinstance(raw, _Written):
            raw._text = text
        return text

    def _open_raw(self, name: str, kind: str, asked: Any) -> BinaryIO:
        before = self.content(name)
        if kind.startswith("r"):
            if before is None:
                raise self._missing(os.fspath(asked))
            if "+" not in kind:
                return _Read(name, before)
        if kind.startswith("x") and before is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        keeps = kind[0] in "ra" and before is not None
        return self._start(name, (before or b"") if keeps else b"", kind)

    def _start(self, name: str, before: bytes, kind: str) -> _Written:
        if not name or name == "." or len(name) > NAME_MAX_CHARS:
            raise IsADirectoryError(errno.EISDIR, "a file name is needed", name)
        if name not in self._out and len(self._out) >= FILES_OUT_MAX:
            raise TooMuch(errno.EMFILE, f"{FILES_OUT_MAX} files may be written here")
        self._removed.discard(name)
        self._out[name] = written = _Written(self, name, before, kind)
        return written

    def _missing(self, asked: Any) -> FileNotFoundError:
        """Python's own words, which code may print; the traceback adds what there is."""
        names = self.names()
        there = (
            f"There are: {', '.join(names)}."
            if names
            else "There is no file: no file was handed in; name it in the tool's `files`."
        )
        error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), asked)
        error.add_note(there)
        return error

    def names(self) -> list[str]:
        """Every file there is, sorted."""
        return sorted((self._given.keys() | self._out.keys()) - self._removed)

    def content(self, name: str) -> bytes | None:
        """The bytes of a file, or None."""
        if name in self._removed:
            return None
        if name in self._out:
            return self._out[name].content()
        return self._given.get(name, RESOURCES.get(name))

    def remove(self, path: Any, **_: Any) -> None:
        """os.remove."""
        name = plain_name(os.fspath(path))
        if self.content(name) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        self._out.pop(name, None)
        self._removed.add(name)

    def rename(self, old: Any, new: Any, **_: Any) -> None:
        """os.rename."""
        name = plain_name(os.fspath(old))
        content = self.content(name)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        self._start(plain_name(os.fspath(new)), content, "w")
        self.remove(name)

    def mkdir(self, path: Any, *_: Any, **__: Any) -> None:
        """os.mkdir and os.makedirs: folders are only parts of names here."""
        name = plain_name(os.fspath(path))
        while name not in ("", "."):
            self._folders.add(name)
            name = posixpath.dirname(name)

    def rmdir(self, path: Any, **_: Any) -> None:
        """os.rmdir."""
        if self.listdir(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(path))
        self._folders.discard(plain_name(os.fspath(path)))

    def touch(self, path: Any, mode: int = 0o666, exist_ok: bool = True) -> None:
        """pathlib.Path.touch."""
        name = plain_name(os.fspath(path))
        if self.content(name) is None:
            self._start(name, b"", "w").close()
        elif not exist_ok:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))

    def scandir(self, path: Any = ".") -> "_Listing":
        """os.scandir."""
        folder = os.fspath(path)
        return _Listing(_Entry(self, name, posixpath.join(folder, name)) for name in self.listdir(folder))

    def listdir(self, path: Any = ".") -> list[str]:
        """os.listdir: the names directly in a folder."""
        folder = plain_name(os.fspath(path))
        prefix = "" if folder == "." else folder + "/"
        below = [n for n in (*self.names(), *self._folders) if n.startswith(prefix) and n not in (folder, "")]
        found = {n[len(prefix) :].partition("/")[0] for n in below}
        if not found and folder != "." and folder not in self._folders:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return sorted(found)

    def stat(self, path: Any, **_: Any) -> os.stat_result:
        """os.stat."""
        if isinstance(path, int):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        name = plain_name(os.fspath(path))
        content = self.content(name)
        now = int(time.time())
        if content is not None:
            return os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, 0, 0, len(content), now, now, now))
        if name == "." or name in self._folders or any(n.startswith(name + "/") for n in self.names()):
            return os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 1, 0, 0, 0, 0, 0, 0))
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))

    # ------------------------------------------------------------ for the runner
    def install(self, keep_real: bool) -> None:
        """Make this table the file system of every library in the process.

        `keep_real` leaves the real calls for all names that are not in the table, so that an attack
        without the policy meets the kernel.
        """
        if keep_real and not self._given:
            return
        opener = self._open_either if keep_real else self.open
        builtins.open = io.open = opener
        if not keep_real:
            self._install_folders()

    def _install_folders(self) -> None:
        os.stat = os.lstat = self.stat
        os.listdir, os.scandir = self.listdir, self.scandir  # type: ignore[assignment]
        os.remove = os.unlink = self.remove
        os.rename = os.replace = self.rename  # type: ignore[assignment]
        os.getcwd = lambda: "/"
        os.makedirs = os.mkdir = self.mkdir  # type: ignore[assignment]
        os.rmdir = self.rmdir
        pathlib.Path.touch = lambda path, *args, **named: self.touch(path, *args, **named)  # type: ignore[method-assign]

    def _open_either(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, str) and self.content(plain_name(file)) is not None and "r" in mode:
            return self.open(file, mode, *args, **kwargs)
        return _real_open(file, mode, *args, **kwargs)

    def written(self) -> dict[str, bytes]:
        """The proposals: every file the code wrote that differs from what was handed in."""
        found: dict[str, bytes] = {}
        total = 0
        for name in sorted(self._out):
            content = self._out[name].content()
            total += len(content)
            if total > FILES_OUT_MAX_BYTES:
                raise TooMuch(errno.EFBIG, f"all files together may hold {FILES_OUT_MAX_BYTES // 1024 // 1024} MB")
            if content != self._given.get(name):
                found[name] = content
        return found
