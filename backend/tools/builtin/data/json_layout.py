"""Lays JSON text out anew, piece by piece: every number and key stays as it was written."""

import json
from collections.abc import Iterator

import regex

from .strict_json import escape_surrogates

INDENT = "  "
PIECE = regex.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+')


def minify(text: str) -> str:
    """Valid JSON text without blanks."""
    return "".join(_pieces(text))


def pretty(text: str) -> str:
    """Valid JSON text, one member a line, two blanks a level."""
    parts: list[str] = []
    level = 0
    previous = ""
    for piece in _pieces(text):
        if piece in ("}", "]"):
            level -= 1
            if previous not in ("{", "["):
                parts.append("\n" + INDENT * level)
        elif previous in ("{", "["):
            parts.append("\n" + INDENT * level)
        parts.append(_spaced(piece, level))
        if piece in ("{", "["):
            level += 1
        previous = piece
    return "".join(parts)


def _spaced(piece: str, level: int) -> str:
    if piece == ",":
        return ",\n" + INDENT * level
    return ": " if piece == ":" else piece


def _pieces(text: str) -> Iterator[str]:
    """Strings, signs and literals; escapes of ordinary letters are written out."""
    for match in PIECE.finditer(text):
        piece: str = match[0]
        if piece[0] == '"' and "\\" in piece:
            piece = escape_surrogates(json.dumps(json.loads(piece), ensure_ascii=False))
        yield piece
