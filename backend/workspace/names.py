"""Which names may be given to new files, and which names are NanoClaw's own."""

import os
import re

from ..errors import FileProblem

TEMPORARY_PREFIX = ".nanoclaw-tmp-"
PROTECTED_FOLDERS = frozenset({".git"})
MAX_NAME_BYTES = 255

_UNSEEN = re.compile(  # the joiners U+200C and U+200D stay: words of some scripts and emoji are written with them
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]"
)
_WINDOWS_SIGNS = re.compile(r'[<>:"|?*]')
_WINDOWS_DEVICES = re.compile(r"^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$", re.IGNORECASE)


def check_new_name(name: str, windows: bool = os.name == "nt") -> None:
    """FileProblem unless `name` (one part of a path) may be given to something new.

    What exists under such a name can still be read, moved away and deleted.
    """
    if _UNSEEN.search(name):
        raise FileProblem(f"The name {name!r} holds a line break or another unseen character; choose a plain name.")
    if "\\" in name:
        raise FileProblem(f"The name {name!r} holds a backslash; separate folders with '/'.")
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        raise FileProblem(f"The name is too long: at most {MAX_NAME_BYTES} bytes for each part of a path.")
    if name.startswith(TEMPORARY_PREFIX):
        raise FileProblem(f"Names that begin with {TEMPORARY_PREFIX!r} are used by NanoClaw itself.")
    if windows and (_WINDOWS_SIGNS.search(name) or _WINDOWS_DEVICES.match(name) or name[-1] in ". "):
        raise FileProblem(f"{name!r} is no name that Windows can hold.")


def check_writable(path: str) -> None:
    """FileProblem for paths inside folders whose files other programs run or trust (`.git` holds hooks)."""
    for part in path.split("/"):
        if part.casefold() in PROTECTED_FOLDERS:
            raise FileProblem(f"{part!r} is kept by another program and is read-only here: {path!r} was not touched.")


def shown(name: str) -> str:
    """A name from the disk as valid text: bytes that are no UTF-8 appear as `\\xff`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def is_addressable(name: str) -> bool:
    """False for a name on disk that is no valid UTF-8 and so cannot be asked for by text."""
    return shown(name) == name
