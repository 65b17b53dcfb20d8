"""Cuts a result that is too long for the model: head, tail, and how to get the rest."""

import json
from typing import Any

from .core import JsonObject

MAX_NODES_WALKED = 5_000
SHORT_STRING = 400  # strings up to this many characters are never cut
MARKER_ROOM = 80
FRAME_ROOM = 700  # characters for the words around a cut result
HEAD_SHARE = 0.65
PAGING_ARGUMENTS = ("offset", "limit", "start", "page", "max_results", "path", "pattern", "query", "operation")

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def how_to_get_the_rest(parameters: JsonObject) -> str:
    """A hint that names the arguments by which this tool gives less at a time."""
    known = [name for name in PAGING_ARGUMENTS if name in parameters.get("properties", {})]
    if known:
        return f"Call the tool again for another or smaller part ({', '.join(known)}); the user can download it whole."
    return "Ask the tool for less at a time; the user can download the whole result from this call's card."


def cut_result(result: JsonObject, text: str, limit: int, hint: str) -> str:
    """The JSON text of `result` in about `limit` characters; `text` is its whole JSON text."""
    room = max(limit - FRAME_ROOM, 0)
    extra = {"truncated": True, "whole_size": len(text), "rest": hint}
    slim = _cut_strings(result, room)
    if slim is not None:
        cut = _encode({**slim, **extra})
        if len(cut) <= limit:
            return cut
    inner = result.get("data", result) if result.get("success") is True else result
    shown = inner if isinstance(inner, str) else _encode(inner)
    frame = {key: result[key] for key in ("success", "tool", "status", "code") if key in result}
    return _encode({**frame, "data": cut_text(shown, room), **extra})


def cut_text(text: str, room: int) -> str:
    """Head and tail of `text` whose JSON form takes at most `room` characters."""
    keep = max(min(room - MARKER_ROOM, len(text) - 1), 0)
    for _ in range(8):
        head = int(keep * HEAD_SHARE)
        shown = f"{text[:head]}\n… [{len(text) - keep:,} characters left out] …\n{text[len(text) - (keep - head) :]}"
        written = len(_encode(shown))
        if written <= room or keep == 0:
            return shown
        keep = int(keep * room / written * 0.98)
    return shown


def _cut_strings(result: JsonObject, room: int) -> JsonObject | None:
    """A copy whose long strings are cut so that all fits; None if that would not do."""
    lengths = _long_strings(result)
    if not lengths:
        return None
    fixed = len(_encode(_rebuilt(result, 0)))
    budget = room - fixed
    if budget < SHORT_STRING:
        return None
    rebuilt: JsonObject = _rebuilt(result, _fair_share(lengths, budget))
    return rebuilt


def _long_strings(result: JsonObject) -> list[int] | None:
    """Written lengths of the long strings; None when there are too many parts to look at."""
    lengths: list[int] = []
    stack: list[Any] = [result]
    walked = 0
    while stack:
        value = stack.pop()
        walked += 1
        if walked + len(stack) > MAX_NODES_WALKED:
            return None
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, str) and len(value) > SHORT_STRING:
            lengths.append(len(value))
    return lengths


def _fair_share(lengths: list[int], budget: int) -> int:
    """The cap c for which the sum of min(length, c) fits the budget."""
    left = budget
    for count, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - count)
        if length > share:
            return max(share, 1)
        left -= length
    return max(lengths)


def _rebuilt(value: Any, cap: int) -> Any:
    if isinstance(value, dict):
        return {key: _rebuilt(item, cap) for key, item in value.items()}
    if isinstance(value, list):
        return [_rebuilt(item, cap) for item in value]
    if isinstance(value, str) and len(value) > max(SHORT_STRING, cap):
        return cut_text(value, cap) if cap else ""
    return value
