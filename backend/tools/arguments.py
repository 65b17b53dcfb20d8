"""Reads the argument text of a call: tolerantly for tools that only read, strictly for those that write."""

import ast
import json
from typing import Any

import json_repair

from .. import strict_json
from ..errors import InvalidArguments
from .core import JsonObject

MAX_REPAIR_CHARACTERS = 20_000
SHOWN_CHARACTERS = 200
HOW_TO_CALL = 'Send the arguments as one JSON object, for example {"name": "value"}.'

_decoder = strict_json.decoder(strict=False)  # a raw line break inside a string has only one reading


def read_arguments(raw: Any, may_repair: bool) -> JsonObject:
    """The arguments as an object of its own; `raw` is the model's text, or an object already.

    Raises InvalidArguments when no object can be found. Nothing is repaired unless `may_repair`.
    """
    if isinstance(raw, str):
        value = _from_text(raw, may_repair)
    elif raw is None:
        return {}
    else:
        value = _copied(raw)
    if isinstance(value, str):  # an object sent as JSON text within JSON text
        value = _inner_object(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArguments(f"The arguments must be a JSON object, not {_kind(value)}.", suggestion=HOW_TO_CALL)
    return value


def plain_object(text: str) -> JsonObject | None:
    """The usual case at once: the text is one object and nothing else, and cannot be deep."""
    if text[:1] != "{" or text.count("{") + text.count("[") > strict_json.MAX_DEPTH:
        return None
    try:
        value, end = _decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if end == len(text) else None


def _from_text(text: str, may_repair: bool) -> Any:
    try:
        value = _decoder.decode(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        if not text.strip():
            return {}
        repaired = _repaired(text) if may_repair and len(text) <= MAX_REPAIR_CHARACTERS else None
        if repaired is None:
            raise InvalidArguments(f"The arguments are not valid JSON: {error}.", suggestion=HOW_TO_CALL) from None
        value = repaired
    _check_depth(text, value)
    return value


def _check_depth(text: str, value: Any) -> None:
    try:
        strict_json.check_depth(text, value)
    except ValueError:
        raise _too_deep() from None


def _too_deep() -> InvalidArguments:
    return InvalidArguments("The arguments are nested too deeply.", suggestion=HOW_TO_CALL)


def _repaired(text: str) -> JsonObject | None:
    if "{" not in text or _holds_two(text):
        return None
    for read in (ast.literal_eval, json_repair.loads):
        try:
            value = read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict) and all(isinstance(key, str) for key in value) and _is_json(value):
            return value
    return None


def _holds_two(text: str) -> bool:
    """Two objects one after the other: two calls in one, and no one knows which was meant."""
    text = text.lstrip()
    try:
        end = _decoder.raw_decode(text)[1]
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip(" \t\r\n,;")[:1] == "{"


def _is_json(value: JsonObject) -> bool:
    """False for what a Python literal can hold and JSON cannot: sets, bytes, NaN."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _copied(value: Any) -> Any:
    try:
        text = json.dumps(value, allow_nan=False)
        copy = _decoder.decode(text)
    except (TypeError, ValueError, RecursionError):
        raise InvalidArguments("The arguments hold values that JSON cannot carry.", suggestion=HOW_TO_CALL) from None
    _check_depth(text, copy)
    return copy


def _inner_object(text: str) -> Any:
    try:
        value = _decoder.decode(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text
    _check_depth(text, value)
    return value if isinstance(value, dict) else text


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int | float):
        return "a number"
    return f"text ({value[:SHOWN_CHARACTERS]!r})"
