"""JSON as the standard has it: no NaN, every digit of an integer, duplicate keys noticed, depth bounded."""

import json
import math
from decimal import Decimal
from typing import Any

import regex

from ....errors import InvalidArguments

MAX_JSON_CHARACTERS = 25_000_000
MAX_DEPTH = 400
MAX_INTEGER_DIGITS = 4_300
MAX_NOTES = 10
EXACT_FLOAT_CHARACTERS = 16
NEAR_CHARACTERS = 30

OUTSIDE_STRINGS = regex.compile(r'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)')
SURROGATE = regex.compile("[\ud800-\udfff]")
HINTS = {
    "'": "strings stand in double quotes",
    "/": "comments are not allowed",
    "#": "comments are not allowed",
    "T": "write true in small letters",
    "F": "write false in small letters",
    "N": "write null in small letters; NaN is not allowed",
    "I": "Infinity is not allowed",
    "+": "a number has no plus sign",
    ".": "a number begins with a digit",
    "u": "undefined is not allowed, write null",
}


class JsonProblem(InvalidArguments):
    """A text is not JSON. `line` and `column` begin with 1, `position` with 0."""

    def __init__(self, reason: str, text: str, position: int) -> None:
        self.reason = reason
        self.position = position
        self.line = text.count("\n", 0, position) + 1
        self.column = position - text.rfind("\n", 0, position)
        self.near = text[max(position - NEAR_CHARACTERS, 0) : position + NEAR_CHARACTERS]
        super().__init__(f"Not valid JSON: {reason} (line {self.line}, column {self.column}).")


class _Constant(Exception):
    """NaN or Infinity was met."""


class Reader:
    """Reads one text and notes what a careful reader should know of it."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def read(self, text: str) -> Any:
        """The value; raises JsonProblem with line and column, InvalidArguments for what is too large."""
        if len(text) > MAX_JSON_CHARACTERS:
            raise InvalidArguments(
                f"The JSON text has {len(text):,} characters; the limit is {MAX_JSON_CHARACTERS:,}.",
                suggestion="Take it in parts.",
            )
        if text.startswith("\ufeff"):
            self._note("The text begins with a byte order mark, which was left out.")
            text = text[1:]
        value = self._parsed(text)
        if depth_over(value, MAX_DEPTH):
            raise _too_deep()
        return value

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(
                text,
                object_pairs_hook=self._pairs,
                parse_constant=_refuse,
                parse_int=self._integer,
                parse_float=self._float,
            )
        except json.JSONDecodeError as error:
            raise _problem(error, text) from None
        except _Constant:
            raise _constant_problem(text) from None
        except RecursionError:
            raise _too_deep() from None

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            self._note(f"The key {twice!r} stands more than once in an object; the last value counts.")
        return made

    def _integer(self, digits: str) -> int:
        if len(digits) > MAX_INTEGER_DIGITS:
            raise InvalidArguments(f"An integer has more than {MAX_INTEGER_DIGITS:,} digits.")
        return int(digits)

    def _float(self, text: str) -> float:
        number = float(text)
        if math.isinf(number):
            raise InvalidArguments(f"The number {text[:NEAR_CHARACTERS]} is too large to be calculated with.")
        if len(text) > EXACT_FLOAT_CHARACTERS and Decimal(text) != Decimal(repr(number)):
            self._note(f"The number {text[:NEAR_CHARACTERS]} has more digits than can be kept and was rounded.")
        return number

    def _note(self, note: str) -> None:
        if note not in self.notes and len(self.notes) < MAX_NOTES:
            self.notes.append(note)


class Checker(Reader):
    """Reads only to check: numbers of any size pass, since they are not used."""

    def _integer(self, digits: str) -> int:
        return 0

    def _float(self, text: str) -> float:
        return 0.0


def _refuse(name: str) -> Any:
    raise _Constant(name)


def _problem(error: json.JSONDecodeError, text: str) -> JsonProblem:
    if not text.strip():
        return JsonProblem("the text is empty", text, 0)
    position = min(error.pos, len(text))
    return JsonProblem(_reason(error.msg, text, position), text, position)


def _reason(message: str, text: str, position: int) -> str:
    here = text[position : position + 1]
    before = text[:position].rstrip()[-1:] if position < MAX_JSON_CHARACTERS else ""
    if message.startswith("Extra data"):
        return "comments are not allowed" if here in ("/", "#") else "something follows after the end of the value"
    if here in ("}", "]") and before == ",":
        return "a comma stands before the closing bracket"
    if message.startswith("Illegal trailing comma"):
        return "a comma stands before the closing bracket"
    if not here:
        return f"the text ends too early ({message[:1].lower()}{message[1:]})"
    hint = HINTS.get(here) if message.startswith("Expecting") else None
    return f"{message[:1].lower()}{message[1:]}" + (f"; {hint}" if hint else "")


def _constant_problem(text: str) -> JsonProblem:
    for match in OUTSIDE_STRINGS.finditer(text):
        if match[1]:
            return JsonProblem(f"{match[1]} is not a JSON number", text, match.start())
    return JsonProblem("NaN and Infinity are not JSON numbers", text, 0)


def _too_deep() -> InvalidArguments:
    return InvalidArguments(f"The JSON text is nested more than {MAX_DEPTH} deep.")


def depth_over(value: Any, limit: int) -> bool:
    """Whether lists and objects are nested more than `limit` deep."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def write(value: Any, indent: int | None = None) -> str:
    """JSON text with readable letters; lone surrogates leave as escapes."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, indent=indent, separators=None if indent else (",", ":")
    )
    return escape_surrogates(text)


def escape_surrogates(text: str) -> str:
    """Lone surrogates, which no UTF-8 text can hold, as JSON escapes."""
    return text if text.isascii() else SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def holds_surrogate(value: Any) -> bool:
    """Whether a text in the value has half a surrogate pair."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and SURROGATE.search(item):
                return True
        elif isinstance(item, dict):
            stack += item.keys()
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    return False
