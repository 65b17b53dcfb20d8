"""Tool calls that a model writes into its text: held back while the answer streams, read at its end."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .deltas import tidy_name
from .think import Place, held_tail

if TYPE_CHECKING:
    from .dialects import TextCall

# What opens a call in the dialects we know, and what must follow for it to be one and no mention of it.
_OBJECT = r"\s*(?:```(?:json)?\s*)?[\[{]"
_NAMED = r"\s*(?:NAME)"
OPENERS: dict[str, str] = {
    "<tool_call>": rf"{_OBJECT}|\s*<|{_NAMED}",
    "<tool_calls>": rf"{_OBJECT}|\s*<",
    "<tool_use>": rf"{_OBJECT}|\s*<",
    "<function_calls>": rf"{_OBJECT}|\s*<",
    "<function_call>": rf"{_OBJECT}|\s*<",
    "<functioncall>": _OBJECT,
    "<function=": _NAMED,
    "<invoke name=": r"\s*[\"']?(?:NAME)",
    "<minimax:tool_call>": r"\s*<",
    "<|tool_call|>": _OBJECT,
    "<|tool_call>": rf"{_OBJECT}|\s*call:(?:NAME)",
    "<|tool_calls_section_begin|>": r"\s*<",
    "<|tool_call_begin|>": r"\s*\w",
    "<|tool▁calls▁begin|>": r"\s*<",
    "<｜tool▁calls▁begin｜>": r"\s*<",
    "<｜tool▁call▁begin｜>": r"\s*\w",
    "<｜DSML｜": r"\w",
    "<|DSML|": r"\w",
    "<|python_tag|>": r"",
    "<|START_ACTION|>": _OBJECT,
    "<|action_start|>": r"",
    "<|channel|>": r"\s*(?:analysis|commentary|final)",
    "[TOOL_CALLS]": rf"{_OBJECT}|{_NAMED}",
    "[TOOL_REQUEST]": _OBJECT,
    "functools[": r"\s*\{",
    "✿FUNCTION✿": r"\s*:",
}
RESIDUES = (
    "</tool_call>", "</tool_calls>", "</function_calls>", "</function_call>", "</function>", "</invoke>",
    "[/TOOL_CALLS]", "[END_TOOL_REQUEST]", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>",
    "<|tool_calls_section_end|>", "<｜tool▁calls▁end｜>", "<｜end▁of▁sentence｜>", "<|END_ACTION|>", "<|END_RESPONSE|>",
    "<|START_RESPONSE|>",
)  # fmt: skip
DECISION_CHARS = 64
RESIDUE_CHARS = 48
_TAGS = sorted({*OPENERS, *RESIDUES}, key=len, reverse=True)
_ANY = re.compile("|".join(re.escape(tag) for tag in _TAGS))
_STARTERS = frozenset(tag[0] for tag in _TAGS)
_BARE = r"""\A\s*(?:```\w*\s*)?(?:
    \[?\s*\{\s*"(?:name|function|tool|tool_name|function_name|type|recipient_name|action)"\s*:
    |\[\s*(?:NAME)\s*\(
    |(?:print\(\s*(?:default_api\.)?|default_api\.)(?:NAME)\s*\(
)|\A\s*```tool_code\s*(?:
    (?:NAME)\s*\(
)"""
_NAMED_OBJECT = re.compile(r"\s*(?:```\w*\s*)?\[?\s*\{\s*\"(?:name|tool_name|function_name)\"\s*:\s*\"([^\"]*)\"")
_FENCE = re.compile(r"\A```\w*\s*")
_JSON_BEGINNING = re.compile(r"\[?\s*(?:\{\s*(?:\"\w*\"?\s*)?)?")
_PYTHON_BEGINNING = re.compile(r"\A\[?\s*(?:print\(\s*)?(?:default_api\.)?")


@dataclass(frozen=True, slots=True)
class TextEnd:
    """What the end of an answer brings: text that was held back, the calls in it, thoughts in it."""

    text: str = ""
    calls: "tuple[TextCall, ...]" = ()
    reasoning: str = ""


class _Rules:
    """The patterns for one set of tool names, compiled once."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True)) or r"(?!)"
        self.bare = re.compile(_BARE.replace("NAME", self._names), re.VERBOSE)
        self._follow: dict[str, re.Pattern[str]] = {}

    def follow(self, tag: str) -> re.Pattern[str]:
        """What must follow an opener."""
        if tag not in self._follow:
            self._follow[tag] = re.compile(OPENERS[tag].replace("NAME", self._names))
        return self._follow[tag]


@lru_cache(maxsize=64)
def _rules(names: frozenset[str]) -> _Rules:
    return _Rules(names)


class CallTextFilter:
    """Lets text through, holds back what may be a call; `names` are the tools that the model knows."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._rules = _rules(self._names)
        self._starting = bool(names)
        self._bare = ""
        self._buffer = ""
        self._markup = ""
        self._rest: list[str] | None = None  # what follows once it is certain that the rest is held back
        self._place = Place()

    def feed(self, text: str) -> str:
        """The text that may be shown."""
        if self._rest is not None:
            self._rest.append(text)
            return ""
        if self._starting:
            text = self._start(text)
        if not text or (not self._buffer and _STARTERS.isdisjoint(text)):
            self._place.note(text)
            return text
        self._buffer += text
        out: list[str] = []
        while self._buffer and self._step(out):
            pass
        return "".join(out)

    # ------------------------------------------------------------ a call that is the whole answer
    def _start(self, text: str) -> str:
        self._bare += text
        stripped = self._bare.lstrip()
        if not stripped:
            return ""
        if self._rules.bare.match(self._bare):
            named = _NAMED_OBJECT.match(self._bare)
            if named is None:
                return ""
            if tidy_name(named.group(1), self._names) in self._names:
                self._rest = []
                return ""
        elif self._may_become_bare(stripped):
            return ""
        text, self._bare, self._starting = self._bare, "", False
        return text

    def _may_become_bare(self, stripped: str) -> bool:
        """False as soon as the beginning cannot be that of a call."""
        fence = _FENCE.match(stripped)
        body = stripped[fence.end() :] if fence else stripped
        if _JSON_BEGINNING.fullmatch(body):
            return True
        rest = _PYTHON_BEGINNING.sub("", body)
        if rest == body and not (fence and "tool_code" in fence.group()):
            return any(beginning.startswith(body) for beginning in ("print(", "default_api.", "```"))
        head = rest.partition("(")[0].rstrip()
        return any(n.startswith(head) for n in (*self._names, "print", "default_api."))

    # ------------------------------------------------------------ a call somewhere in the answer
    def _step(self, out: list[str]) -> bool:
        found = _ANY.search(self._buffer)
        if found is None:
            keep = held_tail(self._buffer, _TAGS)
            self._show(len(self._buffer) - keep, out)
            return False
        self._show(found.start(), out)
        tag = found.group()
        if self._place.fenced or self._place.quoted:
            self._show(len(tag), out)
            return True
        if tag not in OPENERS:
            self._buffer = self._buffer[len(tag) :]
            return True
        return self._opener(tag, out)

    def _opener(self, tag: str, out: list[str]) -> bool:
        rest = self._buffer[len(tag) :]
        if self._rules.follow(tag).match(rest[:DECISION_CHARS]):
            self._markup, self._buffer, self._rest = self._buffer, "", []
            return False
        if len(rest) < DECISION_CHARS:
            return False
        self._show(len(tag), out)
        return True

    def _show(self, count: int, out: list[str]) -> None:
        text, self._buffer = self._buffer[:count], self._buffer[count:]
        self._place.note(text)
        out.append(text)

    # ------------------------------------------------------------ the end
    def close(self, structured: bool) -> TextEnd:
        """Decide about what was held back; with `structured` calls in the reply none are taken from the text."""
        if not (self._bare or self._markup or self._buffer):
            return TextEnd()
        from .dialects import read_bare, read_markup  # many patterns to compile, needed by few answers

        rest, self._rest = "".join(self._rest or ()), None
        if self._bare:
            bare, self._bare, self._starting = self._bare + rest, "", False
            calls = () if structured else read_bare(bare, self._names)
            return TextEnd(calls=calls) if calls else TextEnd(text=self.feed(bare) + self.close(structured).text)
        held = self._markup + rest or self._buffer
        self._markup = self._buffer = ""
        read = read_markup(held, self._names)
        if read is not None:
            return TextEnd(_tidy(read.text), () if structured else read.calls, read.reasoning)
        opened = any(held.startswith(tag) for tag in OPENERS)
        if opened and (structured or (len(held) <= RESIDUE_CHARS and held.count(" ") < 2)):
            return TextEnd()
        return TextEnd(text=held)


def _tidy(text: str) -> str:
    for residue in RESIDUES:
        text = text.replace(residue, "")
    return text if text.strip() else ""
