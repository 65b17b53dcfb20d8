"""The time zones, read before the walls go up since no file can be opened afterwards."""

import importlib.util
import io
import os
import zoneinfo
from typing import Any

_data: dict[str, bytes] = {}
_SKIPPED = ("posix", "right", "posixrules", "localtime")


def load() -> None:
    """Read every zone's bytes and make zoneinfo use them."""
    for folder in _folders():
        _read(folder, "")
        if _data:
            break
    zoneinfo._common.load_tzdata = _open
    zoneinfo._tzpath.find_tzfile = lambda key: None


def names() -> set[str]:
    """Every zone's name, as zoneinfo.available_timezones."""
    return set(_data)


def _folders() -> list[str]:
    spec = importlib.util.find_spec("tzdata")
    places = list(spec.submodule_search_locations or []) if spec else []
    return [*(os.path.join(p, "zoneinfo") for p in places), *zoneinfo.TZPATH]


def _read(folder: str, prefix: str) -> None:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name in _SKIPPED or entry.name.startswith("__"):
            continue
        if entry.is_dir():
            _read(entry.path, f"{prefix}{entry.name}/")
        elif "." not in entry.name:
            with open(entry.path, "rb") as file:
                content = file.read()
            if content.startswith(b"TZif"):
                _data[prefix + entry.name] = content


def _open(key: str) -> Any:
    try:
        return io.BytesIO(_data[key])
    except KeyError:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}") from None
