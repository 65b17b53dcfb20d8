"""Regular expressions that come from outside: run in bounded time, whatever the pattern."""

import time
from collections.abc import Iterator

import regex

from ....errors import InvalidArguments, ToolTimeout

MAX_PATTERN_CHARACTERS = 2_000
MAX_MATCHES = 10_000
MANY_MATCHES = 10_000  # after which a pattern is not slow for its own sake
MAX_OUTPUT_CHARACTERS = 10_000_000
MAX_COMPILED_SIZE = 50_000  # pieces of a pattern when its counted repetitions are written out
SECONDS = 0.6  # of work for one match; on a busy machine it takes longer by the clock
ALL_SECONDS = 3.0  # by the clock, for all matches

Match = regex.Match[str]
Pattern = regex.Pattern[str]


def compile_pattern(pattern: str) -> Pattern:
    """The compiled pattern; raises InvalidArguments with the place of a mistake."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidArguments(f"The pattern is longer than {MAX_PATTERN_CHARACTERS:,} characters.")
    if compiled_size(pattern) > MAX_COMPILED_SIZE:
        raise InvalidArguments("The pattern's counted repetitions, such as (a{1000}){1000}, are too large.")
    try:
        return regex.compile(pattern, cache_pattern=False)
    except regex.error as error:
        raise InvalidArguments(f"The pattern is not a valid regular expression: {error}.") from None
    except (RecursionError, OverflowError, MemoryError, IndexError, KeyError, ValueError, TypeError):
        raise InvalidArguments("The pattern is too complex to compile.") from None


PIECE = regex.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\{(\d+)[\d,]*\}|.", regex.DOTALL)


def compiled_size(pattern: str) -> int:
    """How large the pattern becomes, since the library writes {n} out n times, also within one another."""
    open_groups = [0]
    last = 0
    for piece in PIECE.finditer(pattern):
        if piece[0] == "(":
            open_groups.append(0)
            last = 0
        elif piece[0] == ")" and len(open_groups) > 1:
            last = open_groups.pop()
            open_groups[-1] += last
        elif piece[1] is not None:
            added = last * (min(int(piece[1]), MAX_COMPILED_SIZE + 1) - 1)
            open_groups[-1] += max(added, 0)
            last += max(added, 0)
        else:
            last = 1
            open_groups[-1] += 1
    return sum(open_groups)


def matches(pattern: Pattern, text: str) -> Iterator[Match]:
    """Every match, in bounded time; raises ToolTimeout when that is over."""
    deadline = time.monotonic() + ALL_SECONDS
    forward = not pattern.flags & regex.REVERSE
    found = 0
    start: int | None = 0
    try:
        while start is not None:
            rest, start, began = _from(pattern, text, start), None, found
            for match in rest:
                yield match
                found += 1
                if time.monotonic() > deadline:
                    raise TimeoutError
                if found - began >= MANY_MATCHES and match.end() > match.start() and forward:
                    start = match.end()
                    break
    except (TimeoutError, MemoryError):
        raise _too_slow(found) from None


def _from(pattern: Pattern, text: str, start: int) -> Iterator[Match]:
    """Matches from there on; the library counts the time of all of them together."""
    return pattern.finditer(text, start, timeout=SECONDS, concurrent=True)


def _too_slow(found: int) -> ToolTimeout:
    if found >= MANY_MATCHES:
        return ToolTimeout(
            f"The text has so many matches that they take longer than {ALL_SECONDS:g} s; {found:,} were found.",
            suggestion="Use less text at a time.",
        )
    return ToolTimeout(
        f"The pattern took longer than {SECONDS:g} s on this text and was stopped.",
        suggestion="Nested repetitions such as (a+)+ explode; write the pattern without them, or use less text.",
    )


def replace(pattern: Pattern, replacement: str, text: str) -> tuple[str, int]:
    """The text with every match replaced, and how many there were."""
    parts: list[str] = []
    end = count = size = 0
    plain = "\\" not in replacement
    for match in matches(pattern, text):
        put = replacement if plain else _expanded(match, replacement)
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
