"""How alike two texts are, and where they differ, in bounded time."""

import difflib

from ....errors import InvalidArguments
from ...core import JsonObject

MAX_COMPARED_CHARACTERS = 50_000
MAX_DIFF_LINES = 5_000
RATIO_DECIMALS = 4


def similarity(one: str, other: str) -> JsonObject:
    """`{ratio, edit_distance, equal}`: ratio is 2 × common characters in order / all; 1 means equal."""
    if max(len(one), len(other)) > MAX_COMPARED_CHARACTERS:
        raise InvalidArguments(f"Texts are compared up to {MAX_COMPARED_CHARACTERS:,} characters; use diff for more.")
    whole = len(one) + len(other)
    ratio = 2 * common_length(one, other) / whole if whole else 1.0
    return {"ratio": round(ratio, RATIO_DECIMALS), "edit_distance": edit_distance(one, other), "equal": one == other}


def _positions(text: str) -> dict[str, int]:
    """For each character the bits of the places where it stands."""
    places: dict[str, int] = {}
    for at, letter in enumerate(text):
        places[letter] = places.get(letter, 0) | (1 << at)
    return places


def common_length(one: str, other: str) -> int:
    """Length of the longest common subsequence, with a row of the table in the bits of one integer."""
    places, mask = _positions(one), (1 << len(one)) - 1
    row = mask
    for letter in other:
        hit = row & places.get(letter, 0)
        row = (row + hit | row - hit) & mask
    return len(one) - row.bit_count()


def edit_distance(one: str, other: str) -> int:
    """Insertions, deletions and replacements that turn one into the other (Myers' bit-parallel way)."""
    if not one:
        return len(other)
    places, mask, last = _positions(one), (1 << len(one)) - 1, 1 << (len(one) - 1)
    up, down, distance = mask, 0, len(one)
    for letter in other:
        equal = places.get(letter, 0)
        vertical = equal | down
        horizontal = ((((equal & up) + up) ^ up) | equal) & mask
        plus = down | ~(horizontal | up) & mask
        minus = up & horizontal
        distance += bool(plus & last) - bool(minus & last)
        plus = (plus << 1 | 1) & mask
        minus = minus << 1 & mask
        up = minus | ~(vertical | plus) & mask
        down = plus & vertical
    return distance


def line_diff(one: str, other: str) -> JsonObject:
    """`{result, added, removed, equal}`: a unified diff from `one` to `other`."""
    before, after = one.splitlines(), other.splitlines()
    if max(len(before), len(after)) > MAX_DIFF_LINES:
        raise InvalidArguments(f"Texts are compared up to {MAX_DIFF_LINES:,} lines.")
    lines = list(difflib.unified_diff(before, after, "text", "other", lineterm=""))
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    result: JsonObject = {"result": "\n".join(lines), "added": added, "removed": removed, "equal": one == other}
    if not lines and one != other:
        result["note"] = "The lines are equal; the texts differ in their line breaks or the one at the end."
    return result
