"""Regular expressions that come from outside: run in bounded time, whatever the pattern."""

import time
from collections.abc import Iterator

import regex

from ....errors import InvalidArguments, ToolTimeout

MAX_PATTERN_CHARACTERS = 2_000
MAX_MATCHES = 10_000
MAX_OUTPUT_CHARACTERS = 10_000_000
SECONDS = 2.0

Match = regex.Match[str]
Pattern = regex.Pattern[str]


def compile_pattern(pattern: str) -> Pattern:
    """The compiled pattern; raises InvalidArguments with the place of a mistake."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidArguments(f"The pattern is longer than {MAX_PATTERN_CHARACTERS:,} characters.")
    try:
        return regex.compile(pattern, cache_pattern=False)
    except regex.error as error:
        raise InvalidArguments(f"The pattern is not a valid regular expression: {error}.") from None
    except (RecursionError, OverflowError, MemoryError, IndexError, KeyError, ValueError, TypeError):
        raise InvalidArguments("The pattern is too complex to compile.") from None


def matches(pattern: Pattern, text: str) -> Iterator[Match]:
    """Every match, in bounded time; raises ToolTimeout when that is over."""
    deadline = time.monotonic() + SECONDS
    try:
        for match in pattern.finditer(text, timeout=SECONDS, concurrent=True):
            yield match
            if time.monotonic() > deadline:
                raise TimeoutError
    except (TimeoutError, MemoryError):
        raise ToolTimeout(
            f"The pattern took longer than {SECONDS:g} s on this text and was stopped.",
            suggestion="Nested repetitions such as (a+)+ explode; write the pattern without them, or use less text.",
        ) from None


def replace(pattern: Pattern, replacement: str, text: str) -> tuple[str, int]:
    """The text with every match replaced, and how many there were."""
    parts: list[str] = []
    end = count = size = 0
    for match in matches(pattern, text):
        put = _expanded(match, replacement)
        parts += (text[end : match.start()], put)
        size += match.start() - end + len(put)
        end = match.end()
        count += 1
        if size > MAX_OUTPUT_CHARACTERS:
            raise InvalidArguments(f"The result would be longer than {MAX_OUTPUT_CHARACTERS:,} characters.")
    parts.append(text[end:])
    return "".join(parts), count


def _expanded(match: Match, replacement: str) -> str:
    try:
        return match.expand(replacement)
    except (regex.error, IndexError) as error:
        raise InvalidArguments(
            f"The replacement is not valid: {error}.", suggestion=r"Groups are written \1, \2 or \g<name>."
        ) from None
