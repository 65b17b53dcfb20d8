"""What a file held before: the record of a change, where it is kept, and differences as text."""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..ids import new_id
from .encodings import text_of

Action = Literal["write", "append", "delete", "move", "mkdir", "unlink"]

MAX_DIFF_INPUT_BYTES = 400_000
MAX_DIFF_LINES = 20_000
MAX_DIFF_CHARS = 6_000
MAX_DIFF_PAIRS = 150_000
CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a run (with the call), or a person."""

    run_id: str | None = None
    call_id: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one path, recorded before it happens; the hashes name blobs.

    `before_hash` is None if the file was not there, or for folders. For `unlink` (a symbolic link
    was removed) `new_path` holds what the link pointed to. Sizes are in bytes.
    """

    project_id: str
    path: str
    action: Action
    new_path: str | None = None
    before_hash: str | None = None
    after_hash: str | None = None
    before_size: int | None = None
    after_size: int | None = None
    run_id: str | None = None
    call_id: str | None = None
    user_id: str | None = None
    id: str = field(default_factory=new_id)


class ChangeLog(Protocol):
    """Where changes are kept."""

    def keep(self, change: Change) -> None:
        """Store `change` for good. Called before the act; if it raises, nothing is done to the file."""

    def keep_all(self, changes: Sequence[Change]) -> None:
        """The same for many at once, in this order: all are stored, or none."""


class MemoryChangeLog:
    """A change log for tests and notebooks; `changes` is in the order of the acts."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def keep(self, change: Change) -> None:
        """Append it."""
        self.changes.append(change)

    def keep_all(self, changes: Sequence[Change]) -> None:
        """Append them."""
        for change in changes:
            self.keep(change)


def diff(before: bytes | None, after: bytes | None, path: str = "file", max_chars: int = MAX_DIFF_CHARS) -> str | None:
    """A unified diff of two contents, cut at `max_chars` with a note; None if one is binary or too large to compare.

    None as content means that the file is not there.
    """
    if max(len(before or b""), len(after or b"")) > MAX_DIFF_INPUT_BYTES:
        return None
    old, new = text_of(before or b""), text_of(after or b"")
    if old is None or new is None:
        return None
    return unified(old, new, path, max_chars, created=before is None)


def unified(old: str, new: str, path: str, max_chars: int = MAX_DIFF_CHARS, *, created: bool = False) -> str | None:
    """`diff` for texts."""
    old_lines, new_lines = _lines(old), _lines(new)
    if len(old_lines) + len(new_lines) > MAX_DIFF_LINES:
        return None
    pieces: list[str] = []
    used = 0
    source = "/dev/null" if created else f"a/{path}"
    compare = difflib.unified_diff if _is_quick(old_lines, new_lines) else _replaced
    for line in compare(old_lines, new_lines, source, f"b/{path}"):
        whole = line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        if used + len(whole) > max_chars:
            pieces.append("… the rest of the difference is left out\n")
            break
        pieces.append(whole)
        used += len(whole)
    return "".join(pieces)


def _lines(text: str) -> list[str]:
    """Lines with their ends; only LF ends one (`splitlines` would cut at form feeds and other signs too)."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _is_quick(old: list[str], new: list[str]) -> bool:
    """False if so many lines are equal to so many others that difflib would take seconds.

    It passes over lines that make up more than a hundredth of the new text, and so do we.
    """
    popular = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    in_new = Counter(new)
    return sum(n * in_new[line] for line, n in Counter(old).items() if in_new[line] <= popular) <= MAX_DIFF_PAIRS


def _replaced(old: list[str], new: list[str], source: str, target: str) -> Iterator[str]:
    """A unified diff that takes everything between the common beginning and end as replaced."""
    most = min(len(old), len(new))
    start = next((i for i in range(most) if old[i] != new[i]), most)
    end = next((i for i in range(most - start) if old[-1 - i] != new[-1 - i]), most - start)
    first = max(start - CONTEXT_LINES, 0)
    after = old[len(old) - end :][:CONTEXT_LINES]
    removed, added = old[start : len(old) - end], new[start : len(new) - end]
    if not removed and not added:
        return
    around = start - first + len(after)
    yield f"--- {source}\n"
    yield f"+++ {target}\n"
    yield f"@@ -{first + 1},{len(removed) + around} +{first + 1},{len(added) + around} @@\n"
    yield from (f" {line}" for line in old[first:start])
    yield from (f"-{line}" for line in removed)
    yield from (f"+{line}" for line in added)
    yield from (f" {line}" for line in after)
