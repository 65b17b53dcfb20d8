"""os, os.path, pathlib, glob and shutil as code sees them: all that only concerns the files in memory."""

import builtins
import contextlib
import fnmatch
import glob
import os
import pathlib
import posixpath
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from .words import words

_PATH_NAMES = words(
    "abspath basename commonpath commonprefix dirname exists expanduser expandvars getmtime getsize isabs isdir isfile "
    "islink join lexists normcase normpath realpath relpath sep split splitext splitdrive curdir pardir extsep pathsep"
)
_OS_NAMES = words(
    "listdir remove unlink getcwd makedirs mkdir rmdir rename replace scandir walk stat fspath fsdecode fsencode"
)
_OS_CONSTANTS = words("sep linesep name curdir pardir extsep pathsep altsep devnull")


def members(module: str) -> dict[str, Any]:
    """The public names of one of these modules, after this run's file table has been put in place."""
    make = _MEMBERS[module]
    return make()


def _os() -> dict[str, Any]:
    found = {name: getattr(os, name) for name in (*_OS_NAMES, *_OS_CONSTANTS)}
    return found | {
        "environ": MappingProxyType({}),
        "getenv": lambda key, default=None: default,
        "cpu_count": lambda: 1,
        "getpid": lambda: 1,
        "error": OSError,
        "PathLike": os.PathLike,
        "urandom": os.urandom,
    }


# ---------------------------------------------------------------- shutil
def _copy(source: Any, target: Any, **_: Any) -> Any:
    """shutil.copy, copy2 and copyfile."""
    if os.path.isdir(target):
        target = posixpath.join(os.fspath(target), posixpath.basename(os.fspath(source)))
    with builtins.open(source, "rb") as old, builtins.open(target, "wb") as new:
        new.write(old.read())
    return target


def _move(source: Any, target: Any, **_: Any) -> Any:
    copied = _copy(source, target)
    os.remove(source)
    return copied


def _remove_tree(folder: Any, ignore_errors: bool = False, **_: Any) -> None:
    """shutil.rmtree."""
    with contextlib.suppress(FileNotFoundError) if ignore_errors else contextlib.nullcontext():
        for name in os.listdir(folder):
            path = posixpath.join(os.fspath(folder), name)
            _remove_tree(path) if os.path.isdir(path) else os.remove(path)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(folder)


_MEMBERS: dict[str, Callable[[], dict[str, Any]]] = {
    "os": _os,
    "os.path": lambda: {name: getattr(posixpath, name) for name in _PATH_NAMES},
    "pathlib": lambda: {
        n: getattr(pathlib, n) for n in ("Path", "PurePath", "PurePosixPath", "PureWindowsPath", "PosixPath")
    },
    "glob": lambda: {n: getattr(glob, n) for n in ("glob", "iglob", "escape")},
    "shutil": lambda: {**dict.fromkeys(words("copy copy2 copyfile"), _copy), "move": _move, "rmtree": _remove_tree},
    "fnmatch": lambda: {n: getattr(fnmatch, n) for n in ("fnmatch", "fnmatchcase", "filter", "translate")},
}
