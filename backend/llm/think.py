"""Reasoning that a model writes into its answer between tags, split off while the answer streams."""

import re
from functools import lru_cache

PAIRS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|START_THINKING|>": "<|END_THINKING|>",
}
ORPHANS = ("</think>", "</thinking>", "[/THINK]", "◁/think▷", "</seed:think>")
_TAGS = sorted({*PAIRS, *ORPHANS}, key=len, reverse=True)
_ANY = re.compile("|".join(re.escape(tag) for tag in _TAGS))
_STARTERS = frozenset(tag[0] for tag in _TAGS)
Piece = tuple[str, str]


def held_tail(text: str, tags: tuple[str, ...] | list[str]) -> int:
    """How many characters at the end of `text` may be the beginning of one of `tags`."""
    beginnings, longest = _beginnings(tuple(tags))
    for size in range(min(len(text), longest), 0, -1):
        if text[-size:] in beginnings:
            return size
    return 0


@lru_cache(maxsize=64)
def _beginnings(tags: tuple[str, ...]) -> tuple[frozenset[str], int]:
    """Every beginning of a tag that is not the whole longest one, and the length of the longest."""
    longest = max(map(len, tags)) - 1
    return frozenset(tag[:size] for tag in tags for size in range(1, min(len(tag), longest) + 1)), longest


class Place:
    """Where in a text we are: on a blank line, inside a code block, behind a quotation mark."""

    def __init__(self) -> None:
        self.blank_line = True
        self.fenced = False
        self.quoted = False
        self._ticks = 0  # backticks at the end of the text so far: a fence may arrive in parts
        self._line_ticks = 0  # backticks in this line so far: odd means inside a piece of code

    def note(self, text: str) -> None:
        """Go on by `text`."""
        if not text:
            return
        if self._ticks or "`" in text:
            run = "`" * self._ticks + text
            if (run.count("```") - self._ticks // 3) % 2:
                self.fenced = not self.fenced
            self._ticks = len(run) - len(run.rstrip("`"))
        _, newline, last = text.rpartition("\n")
        self.blank_line = not last.strip() and (bool(newline) or self.blank_line)
        self._line_ticks = last.count("`") + (0 if newline else self._line_ticks)
        self.quoted = self._line_ticks % 2 == 1 or text[-1] in "`\"'“‘「"


class ThinkSplitter:
    """Splits pieces of content into ("text", …) and ("reasoning", …).

    An opening tag counts where a line begins, outside of code. A closing tag without an opening one means
    that the answer began in thought (the opening tag was part of the prompt): `orphan` is set and a piece
    ("recall", …) says that all text before it was reasoning. `in_thought` begins that way at once;
    `assumed` is what was then taken for a thought, and stays empty once that is proved by its end.
    """

    def __init__(self, in_thought: bool = False) -> None:
        self.orphan = False
        self._close = "</think>" if in_thought else ""
        self._assuming = in_thought
        self._assumed: list[str] = []
        self._buffer = ""
        self._place = Place()
        self._trim = False

    @property
    def assumed(self) -> str:
        """What was taken for a thought without any tag that says so."""
        return "".join(self._assumed) if self._assuming else ""

    def feed(self, text: str) -> list[Piece]:
        """Pieces that are certain."""
        if not self._close and not self._buffer and not self._trim and _STARTERS.isdisjoint(text):
            self._place.note(text)
            return [("text", text)]
        self._buffer += text
        out: list[Piece] = []
        while self._step(out):
            pass
        return out

    def close(self) -> list[Piece]:
        """What is left at the end of the answer."""
        rest, self._buffer = self._buffer, ""
        out: list[Piece] = []
        if rest:
            self._buffer = rest
            self._emit("reasoning" if self._close else "text", len(rest), out)
        return out

    # ------------------------------------------------------------ one decision at a time
    def _step(self, out: list[Piece]) -> bool:
        return self._in_thought(out) if self._close else self._in_text(out)

    def _in_thought(self, out: list[Piece]) -> bool:
        at = self._buffer.find(self._close)
        if at < 0:
            keep = held_tail(self._buffer, (self._close,))
            self._emit("reasoning", len(self._buffer) - keep, out)
            return False
        self._emit("reasoning", at, out)
        self._buffer = self._buffer[len(self._close) :]
        self._close = ""
        self._assuming = False
        self._trim = self._place.blank_line = True
        return bool(self._buffer)

    def _in_text(self, out: list[Piece]) -> bool:
        if self._trim:
            self._buffer = self._buffer.lstrip()
            if not self._buffer:
                return False
            self._trim = False
        found = _ANY.search(self._buffer)
        if found is None:
            self._emit("text", len(self._buffer) - held_tail(self._buffer, _TAGS), out)
            return False
        self._emit("text", found.start(), out)
        tag = found.group()
        self._buffer = self._buffer[len(tag) :]
        self._take_tag(tag, out)
        return bool(self._buffer)

    def _take_tag(self, tag: str, out: list[Piece]) -> None:
        if tag in PAIRS and self._place.blank_line and not self._place.fenced:
            self._close = PAIRS[tag]
        elif tag in ORPHANS and not self._place.fenced and not self._place.quoted:
            self._trim = self._place.blank_line = self.orphan = True
            out.append(("recall", ""))
        else:
            self._place.note(tag)
            out.append(("text", tag))

    def _emit(self, kind: str, count: int, out: list[Piece]) -> None:
        if count <= 0:
            return
        text, self._buffer = self._buffer[:count], self._buffer[count:]
        if kind == "text":
            self._place.note(text)
        elif self._assuming:
            self._assumed.append(text)
        out.append((kind, text))
