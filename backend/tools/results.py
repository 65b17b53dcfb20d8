"""Turns what a tool gave into the JSON text the model sees: valid UTF-8, valid JSON, never too long."""

import base64
import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from .core import JsonObject, ToolResult
from .encoding import fast_encoder, text_of

RESULT_LIMIT_CHARACTERS = 16_000
MAX_DEPTH = 150
SUMMARY_CHARACTERS = 160
SUMMARY_PAIRS = 6
REPLACEMENT = "\ufffd"

_encode = fast_encoder(sort_keys=False)


@dataclasses.dataclass(slots=True)  # not frozen: that takes a microsecond a call; nothing changes one
class Outcome:
    """How one execution ended. `text` is for the model; `full` the whole text when that was cut.

    `size` is the UTF-8 length of the whole text in bytes. `retryable` and `error` are of a failure.
    """

    status: str
    text: str
    full: str | None = None
    size: int = 0
    summary: str = ""
    error: str | None = None
    code: str | None = None
    retryable: bool = False

    @property
    def success(self) -> bool:
        """True unless it failed."""
        return self.status == "success"

    @property
    def bytes_held(self) -> int:
        """Roughly what keeping this costs."""
        return self.size + (len(self.text) if self.full is not None else 0)


def as_result(value: Any, tool_name: str) -> JsonObject:
    """The result object of a tool's return value; a failed one has every field of the contract."""
    if isinstance(value, ToolResult):
        value.tool_name = value.tool_name or tool_name
        return value.to_dict()
    if not isinstance(value, dict) or not isinstance(value.get("success"), bool):
        return {"success": True, "data": value}
    if value["success"]:
        return value
    failed = {"tool": tool_name, "status": "error", "code": "tool_failed", "error": "The tool reports a failure."}
    return {**failed, "retryable": False, "suggestion": None, **value}


def to_text(result: JsonObject) -> tuple[str, int, JsonObject]:
    """JSON text of a result, its UTF-8 size, and the result as written: what JSON cannot carry became text."""
    try:
        text = _encode(result)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError):  # UnicodeEncodeError is a ValueError
        return _cleaned_text(result)
    return _cleaned_text(result) if "\\u0000" in text else (text, size, result)


def with_notes(text: str, notes: tuple[str, ...]) -> str:
    """The result text with `notice`, what the executor has to say about this call."""
    return f'{text[:-1]}, "notice": {_encode(notes)}}}' if notes else text


def _cleaned_text(result: JsonObject) -> tuple[str, int, JsonObject]:
    cleaned = clean(result)
    text = _encode(cleaned)
    return text, len(text.encode()), cleaned


def clean(value: Any, _path: tuple[int, ...] = ()) -> Any:
    """The nearest thing JSON can carry: no NaN, no NUL, no lone surrogate, no cycle, no endless depth."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return _clean_int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if len(_path) >= MAX_DEPTH or id(value) in _path:
        return "(nested too deeply)" if len(_path) >= MAX_DEPTH else "(refers to itself)"
    return _clean_other(value, (*_path, id(value)))


def clean_text(text: str) -> str:
    """Valid UTF-8 without NUL: halves of a surrogate pair are joined, lone ones replaced."""
    return valid_text(text).replace("\x00", REPLACEMENT)


def valid_text(text: str) -> str:
    """Text that UTF-8 can hold: halves of a surrogate pair are joined, lone ones replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _clean_int(value: int) -> Any:
    try:
        str(value)
    except ValueError:  # Python writes no more than 4,300 digits
        return f"(an integer of {value.bit_length()} bits)"
    return int(value)


def _clean_other(value: Any, path: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return {_clean_key(key): clean(item, path) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [clean(item, path) for item in value]
    if isinstance(value, bytes | bytearray):
        return _clean_bytes(bytes(value))
    if isinstance(value, date | datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: clean(getattr(value, f.name), path) for f in dataclasses.fields(value)}
    return clean_text(text_of(value))


def _clean_key(key: Any) -> str:
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    return clean_text(key if isinstance(key, str) else text_of(key))


def _clean_bytes(data: bytes) -> str:
    try:
        return clean_text(data.decode())
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii")


def default_summary(result: JsonObject) -> str:
    """One line for the card when the tool gives none."""
    if result.get("success") is not True:
        return one_line(str(result.get("error", "failed")))
    data = result.get("data", result)
    if isinstance(data, list):
        return f"{len(data)} item{'' if len(data) == 1 else 's'}"
    if isinstance(data, dict):
        return one_line(", ".join(_shown_pair(key, item) for key, item in list(data.items())[:SUMMARY_PAIRS]))
    return "" if data is None else one_line(str(data))


def _shown_pair(key: Any, item: Any) -> str:
    if isinstance(item, list | dict):
        return f"{key} ({len(item)})"
    return f"{key}: {str(item)[:SUMMARY_CHARACTERS]}"


def one_line(text: str) -> str:
    """The first line's worth of a text."""
    if len(text) <= SUMMARY_CHARACTERS and text.isprintable():
        return text
    line = " ".join(text[: SUMMARY_CHARACTERS * 2].split())
    return line if len(line) <= SUMMARY_CHARACTERS else line[: SUMMARY_CHARACTERS - 1] + "…"
