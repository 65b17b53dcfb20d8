"""os, os.path, pathlib and glob as code sees them: everything that only concerns the files in memory."""

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
    "listdir remove unlink getcwd makedirs mkdir rename replace scandir walk stat fspath fsdecode fsencode"
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


_MEMBERS: dict[str, Callable[[], dict[str, Any]]] = {
    "os": _os,
    "os.path": lambda: {name: getattr(posixpath, name) for name in _PATH_NAMES},
    "pathlib": lambda: {
        n: getattr(pathlib, n) for n in ("Path", "PurePath", "PurePosixPath", "PureWindowsPath", "PosixPath")
    },
    "glob": lambda: {n: getattr(glob, n) for n in ("glob", "iglob", "escape")},
    "fnmatch": lambda: {n: getattr(fnmatch, n) for n in ("fnmatch", "fnmatchcase", "filter", "translate")},
}
