"""Takes one change back out of a text that has changed since: a three-way merge by lines."""

import difflib
from collections.abc import Iterator, Sequence

from .encodings import text_of

MAX_MERGE_BYTES = 400_000
MAX_MERGE_LINES = 20_000

# (first line, line after the last, what stands there instead)
Hunk = tuple[int, int, list[bytes]]


def take_back(before: bytes, after: bytes, now: bytes) -> bytes | None:
    """`now` without what led from `before` to `after`; None if later edits touch the same lines, or it is no text."""
    if max(len(before), len(after), len(now)) > MAX_MERGE_BYTES or any(
        text_of(content) is None for content in (before, after, now)
    ):
        return None
    base, ours, theirs = (content.splitlines(keepends=True) for content in (after, now, before))
    if max(len(base), len(ours), len(theirs)) > MAX_MERGE_LINES:
        return None
    merged = _merge(base, list(_hunks(base, ours)), list(_hunks(base, theirs)))
    return None if merged is None else b"".join(merged)


def _hunks(base: Sequence[bytes], other: Sequence[bytes]) -> Iterator[Hunk]:
    """Every difference."""
    for tag, start, end, from_, to in difflib.SequenceMatcher(None, base, other, autojunk=True).get_opcodes():
        if tag != "equal":
            yield start, end, list(other[from_:to])


def _merge(base: Sequence[bytes], ours: list[Hunk], theirs: list[Hunk]) -> list[bytes] | None:
    merged: list[bytes] = []
    at = 0
    for start, end, lines in _in_order(ours, theirs):
        if start < at:
            return None
        merged += [*base[at:start], *lines]
        at = end
    return [*merged, *base[at:]]


def _in_order(ours: list[Hunk], theirs: list[Hunk]) -> Iterator[Hunk]:
    """All hunks by place; the same hunk on both sides once, and two that meet come as one that overlaps."""
    hunks = sorted([*ours, *(hunk for hunk in theirs if hunk not in ours)], key=lambda hunk: (hunk[0], hunk[1]))
    last_end = -1
    for start, end, lines in hunks:
        if start == last_end and last_end >= 0:
            yield start - 1, end, lines  # they touch: nobody can tell whose line belongs where
        else:
            yield start, end, lines
        last_end = end
