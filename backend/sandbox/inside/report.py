"""What a run has to say at its end: the error with the user's lines only, and the value as text."""

import json
import linecache
import traceback
from types import TracebackType
from typing import Any

from .limits import ERROR_MAX_CHARS, VALUE_JSON_MAX_CHARS, VALUE_MAX_CHARS

FILENAME = "<code>"
CUT = "… (cut)"
FRAMES_MAX = 12


def remember_source(code: str) -> None:
    """Let tracebacks show the user's lines."""
    linecache.cache[FILENAME] = (len(code), None, [line + "\n" for line in code.split("\n")], FILENAME)


def cut(text: str, limit: int) -> str:
    """`text`, or its beginning with a mark if it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def describe_error(error: BaseException) -> str:
    """A traceback as Python prints it, without any frame that is not the user's."""
    lines = _user_lines(error.__traceback__)
    head = ["Traceback (most recent call last):\n", *lines] if lines else []
    cause = error.__cause__ if error.__cause__ is not None else error.__context__
    before = ""
    if cause is not None and (error.__cause__ is not None or not error.__suppress_context__):
        last = "".join(traceback.format_exception_only(type(cause), cause)).strip()
        before = f"{last}\n\nThen, while that was handled:\n" if cause is not error else ""
    text = before + "".join(head) + "".join(traceback.format_exception_only(type(error), error))
    return cut(text.rstrip(), ERROR_MAX_CHARS)


def user_trace(error: BaseException, limit: int | None = None) -> traceback.TracebackException:
    """What the traceback module would say of an error, without any frame that is not the user's."""
    trace = traceback.TracebackException(type(error), error, error.__traceback__)
    pending: list[traceback.TracebackException | None] = [trace]
    while pending:
        part = pending.pop()
        if part is None:
            continue
        frames = [f for f in part.stack if f.filename == FILENAME]
        part.stack[:] = frames if limit is None else frames[:limit] if limit >= 0 else frames[limit:]
        pending += [part.__cause__, part.__context__, *(part.exceptions or ())]
    return trace


def _user_lines(trace: TracebackType | None) -> list[str]:
    frames = [f for f in traceback.extract_tb(trace) if f.filename == FILENAME]
    if len(frames) <= FRAMES_MAX:
        return traceback.format_list(frames)
    half = FRAMES_MAX // 2
    left_out = f"  … {len(frames) - FRAMES_MAX} more calls …\n"
    return [*traceback.format_list(frames[:half]), left_out, *traceback.format_list(frames[-half:])]


def value_as_text(value: Any) -> str:
    """The repr, cut; an object whose repr fails says so."""
    return cut(repr(value), VALUE_MAX_CHARS)


def value_as_json(value: Any) -> str | None:
    """The JSON text of a value that is JSON and short enough, else None."""
    if not isinstance(value, (str, int, float, bool, list, dict, tuple)):
        return None
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= VALUE_JSON_MAX_CHARS else None
