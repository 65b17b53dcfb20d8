"""Text that leaves this room: valid UTF-8, no control characters, tidy spaces, bounded length."""

import math
import re
from typing import Any

MAX_DEPTH = 40
TOO_DEEP = "…"

_BAD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_BLANKS = re.compile(r"[ \t\r\f\v\u00a0]+")
_MANY_LINES = re.compile(r"\n[ \n]*\n")


def plain(text: str) -> str:
    """Without control characters and lone surrogates."""
    return _BAD.sub("", text)


def one_line(text: str, limit: int) -> str:
    """On one line, at most `limit` characters."""
    text = " ".join(plain(text[: limit * 8]).split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def tidy(text: str) -> str:
    """Runs of blanks become one, runs of empty lines become one empty line."""
    lines = (line.strip() for line in _BLANKS.sub(" ", plain(text)).split("\n"))
    return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip()


def deep(value: Any, depth: int = 0) -> Any:
    """A JSON value with every text cleaned and bounded in depth."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, (dict, list)) and depth >= MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, dict):
        return {plain(str(key)): deep(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [deep(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
