"""Reads an exported file one conversation at a time: never more of it than the largest conversation that is allowed."""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from ... import strict_json
from ...agent.types import JsonObject
from ...errors import InvalidInput
from ..exporting import FORMAT, VERSION

PIECE_CHARS = 1 << 16
MAX_CONVERSATION_CHARS = 32_000_000
# Values take up to some 80 bytes each, however short they are in the file.
MAX_VALUES = 2_000_000
MAX_CONVERSATIONS = 10_000
BLANK = " \t\r\n"
NOT_OURS = f'it must be a JSON object with "format": "{FORMAT}"'


def wrong(why: str, where: str = "file") -> InvalidInput:
    """What is wrong with a file."""
    return InvalidInput(f"The file cannot be imported: {why}.", {where: [why]})


class Reader:
    """A file of conversations; `conversations` raises InvalidInput for whatever is no such file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._source = io.TextIOWrapper(io.BufferedReader(_Unclosed(stream)), encoding="utf-8-sig", newline="")
        self._decoder = strict_json.decoder()
        self._text = ""
        self._at = 0
        self._before = 0  # characters of the file before `_text`
        self._ended = False
        self._place = "file"

    def conversations(self) -> Iterator[tuple[int, JsonObject]]:
        """Each with its number in the file, from 0. Read to the end: only then is the file known to be whole."""
        self._expect("{", NOT_OURS)
        facts: dict[str, Any] = {}
        listed = False
        for name in self._names():
            if name == "conversations":
                if listed:
                    raise wrong("it has two lists of conversations")
                listed = True
                yield from self._list()
            else:
                facts[name] = self._value(PIECE_CHARS)
                self._check(facts)
        if facts.get("format") is None:
            raise wrong(NOT_OURS)
        if not listed or facts.get("version") is None:
            raise wrong('"version" or "conversations" is missing')
        if self._peek():
            raise wrong(f"something follows its end, at character {self._where()}")

    def _check(self, facts: dict[str, Any]) -> None:
        if facts.get("format", FORMAT) != FORMAT:
            raise wrong(NOT_OURS)
        version = facts.get("version", VERSION)
        if type(version) is not int or version != VERSION:
            raise wrong(f"its version is {str(version)[:20]}; this server reads version {VERSION}", "version")

    def _names(self) -> Iterator[str]:
        """The names of the outermost object; whoever asks for the next has read the value."""
        if self._peek() == "}":
            self._at += 1
            return
        while True:
            if self._peek() != '"':
                raise self._broken()
            name = self._value(PIECE_CHARS)
            self._expect(":")
            yield name
            if self._one_of(",}") == "}":
                return

    def _list(self) -> Iterator[tuple[int, JsonObject]]:
        self._place = "conversations"
        self._expect("[", '"conversations" must be a list')
        index = 0
        if self._peek() == "]":
            self._at += 1
        else:
            while True:
                if index >= MAX_CONVERSATIONS:
                    raise wrong(f"it has more than {MAX_CONVERSATIONS:,} conversations")
                self._place = f"conversations.{index}"
                yield index, self._value(MAX_CONVERSATION_CHARS)
                index += 1
                if self._one_of(",]") == "]":
                    break
        self._place = "file"

    # ------------------------------------------------------------ characters
    def _expect(self, character: str, why: str | None = None) -> None:
        if self._peek() != character:
            raise wrong(why, self._place) if why and self._peek() else self._broken()
        self._at += 1

    def _one_of(self, characters: str) -> str:
        found = self._peek()
        if not found or found not in characters:
            raise self._broken()
        self._at += 1
        return found

    def _peek(self) -> str:
        """The next character that is not blank, "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in BLANK:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read on: half as much again as is held, so that trying anew costs little. False at the end."""
        if self._ended:
            return False
        self._before += self._at
        self._text, self._at = self._text[self._at :], 0
        try:
            piece = self._source.read(max(PIECE_CHARS, len(self._text) // 2))
        except UnicodeDecodeError as e:
            raise wrong(f"it is not UTF-8 text after character {self._before + len(self._text)}", self._place) from e
        self._ended = not piece
        self._text += piece
        return bool(piece)

    # ------------------------------------------------------------ values
    def _value(self, limit: int) -> Any:
        """The next value, of at most about so many characters."""
        self._peek()
        while True:
            self._check_count()
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError as e:
                raise wrong(f"it is nested too deeply, near character {self._where()}", self._place) from e
            except ValueError as e:
                if len(self._text) - self._at > limit:
                    raise wrong(f"a value has more than {limit:,} characters, or is broken", self._place) from e
                at = self._before + getattr(e, "pos", self._at)
                if not self._more():
                    raise self._broken(e, at) from e
                continue
            if end == len(self._text) and self._more():  # the rest of a number may follow
                continue
            return self._taken(value, end)

    def _taken(self, value: Any, end: int) -> Any:
        piece = self._text[self._at : end]
        self._at = end
        try:
            strict_json.check_depth(piece, value)
        except ValueError as e:
            raise wrong(f"it is {e}", self._place) from e
        return value

    def _check_count(self) -> None:
        count = sum(self._text.count(mark) for mark in ",:[{")
        if count > MAX_VALUES:
            raise wrong(f"a conversation holds more than {MAX_VALUES:,} values", self._place)

    def _broken(self, error: ValueError | None = None, at: int | None = None) -> InvalidInput:
        if self._at >= len(self._text) and self._ended:
            return wrong("it ends too early", self._place)
        at = self._where() if at is None else at
        what = getattr(error, "msg", str(error) if error else "something else was expected")
        early = "it ends too early, or " if self._ended else ""
        return wrong(f"{early}it is not valid JSON at character {at + 1}: {what}", self._place)

    def _where(self) -> int:
        return self._before + self._at


class _Unclosed(io.RawIOBase):
    """The stream of somebody else, who closes it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some."""
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)
