"""Search in the text files of a project, in bounded time whatever the pattern."""

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import regex

from ..errors import FileProblem, ToolCancelled
from .encodings import SAMPLE_BYTES, Encoding, detect
from .listing import Bounds, close_folder, matches, open_folder, walk
from .names import shown
from .paths import Folder, Place, Root, locate
from .reading import open_regular

DEFAULT_MAX_MATCHES = 100
MAX_MATCHES = 1_000
MAX_SECONDS = 10.0
MAX_STEP_SECONDS = 1.5
MAX_QUERY_CHARS = 2_000
MAX_SHOWN_CHARS = 300
MAX_FILE_BYTES = 512 << 20
BLOCK_BYTES = 1 << 20
MAX_LINE_CHARS = 4 << 20


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. Without `regex`, the text itself; `pattern` is a glob for the files' paths."""

    text: str
    path: str = ""
    pattern: str | None = None
    regex: bool = False
    case_sensitive: bool = False
    max_matches: int = DEFAULT_MAX_MATCHES


@dataclass(frozen=True, slots=True)
class Match:
    """One line that matches; `line` and `column` count from 1."""

    path: str
    line: int
    column: int
    text: str


@dataclass(slots=True)
class Found:
    """The matches, how many files were searched and how many skipped (binary, too large), and why there may be more (None if all were found)."""

    matches: list[Match] = field(default_factory=list)
    files: int = 0
    skipped: int = 0
    incomplete: str | None = None


def compile_query(query: Query) -> "regex.Pattern[str]":
    """The compiled pattern; FileProblem with the place of the fault if it is no regular expression."""
    if not query.text:
        raise FileProblem("The query is empty; give the text to look for.")
    if len(query.text) > MAX_QUERY_CHARS:
        raise FileProblem(f"The query is too long: at most {MAX_QUERY_CHARS} characters.")
    flags = regex.MULTILINE | (0 if query.case_sensitive else regex.IGNORECASE)
    try:
        return regex.compile(query.text if query.regex else regex.escape(query.text), flags, cache_pattern=False)
    except regex.error as error:
        raise FileProblem(
            f"The query is no valid regular expression: {error}.",
            suggestion="Pass regex=false to look for the text itself.",
        ) from None
    except (RecursionError, OverflowError, MemoryError):
        raise FileProblem("The regular expression is too deep or too large.") from None


def search(root: Root, query: Query, cancelled: Callable[[], bool] = lambda: False) -> Found:
    """Every matching line below `query.path` (a folder or one file), until a bound is hit."""
    look = _Look(compile_query(query), query, Bounds(seconds=MAX_SECONDS), cancelled)
    with locate(root, query.path or ".") as place:
        found = place.stat()
        if found is not None and not stat.S_ISDIR(found.st_mode):
            look.file(place)
            return look.found
        folder = open_folder(place)
        try:
            look.folder(folder, place.path)
        finally:
            close_folder(folder)
    look.found.incomplete = look.found.incomplete or look.bounds.hit
    return look.found


@dataclass(slots=True)
class _Look:
    """One search under way."""

    pattern: "regex.Pattern[str]"
    query: Query
    bounds: Bounds
    cancelled: Callable[[], bool]
    found: Found = field(default_factory=Found)

    def folder(self, folder: Folder, path: str) -> None:
        prefix = len(path) + 1 if path else 0
        for holder, name, full, status in walk(folder, path, self.bounds):
            if self.cancelled():
                raise ToolCancelled("The search was stopped.")
            if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
                continue
            if self.query.pattern and not matches(full[prefix:], self.query.pattern):
                continue
            try:
                self.file(Place(holder, name, full))
            except FileProblem:
                continue  # gone or not readable: the others are still worth searching
            if self.found.incomplete:
                return

    def file(self, place: Place) -> None:
        with open_regular(place) as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(SAMPLE_BYTES)
            stream.seek(0)
            encoding = detect(head, whole=size <= len(head))
            if encoding is None or size > MAX_FILE_BYTES:
                self.found.skipped += 1
                return
            self.found.files += 1
            line = 1
            for block in _blocks(stream, encoding):
                if not self._block(place.path, block, line):
                    return
                line += block.count("\n")

    def _block(self, path: str, block: str, line: int) -> bool:
        """Matches in a block of whole lines; False if a bound is hit."""
        at, counted = 0, 0
        while at <= len(block):
            if self.cancelled():
                raise ToolCancelled("The search was stopped.")
            try:
                # concurrent: without it the expression would hold up every other thread of the server
                hit = self.pattern.search(block, at, concurrent=True, timeout=self._patience())
            except TimeoutError:
                return self._stop("out of time")
            if hit is None:
                return True
            if len(self.found.matches) >= min(self.query.max_matches, MAX_MATCHES):
                return self._stop("too many matches")
            line += block.count("\n", counted, hit.start())
            counted = hit.start()
            self.found.matches.append(_match(shown(path), line, block, hit.start()))
            end = block.find("\n", hit.start())
            at = len(block) + 1 if end < 0 else end + 1
        return True

    def _patience(self) -> float:
        """Seconds for one step: short enough that a stopped run ends soon."""
        return max(min(self.bounds.seconds_left, MAX_STEP_SECONDS), 0.001)

    def _stop(self, why: str) -> bool:
        self.found.incomplete = why
        return False


def _match(path: str, line: int, block: str, at: int) -> Match:
    """The line around a hit; of a very long line, the part around the hit."""
    start = block.rfind("\n", 0, at) + 1
    end = block.find("\n", at)
    end = len(block) if end < 0 else end
    first = max(start, min(at - MAX_SHOWN_CHARS // 3, end - MAX_SHOWN_CHARS))
    return Match(path, line, at - start + 1, block[first : min(end, first + MAX_SHOWN_CHARS)].rstrip("\r"))


def _blocks(stream: BinaryIO, encoding: Encoding) -> Iterator[str]:
    """The text in blocks of whole lines (a line longer than MAX_LINE_CHARS is cut)."""
    stream.seek(len(encoding.bom))
    decoder: Any = codecs.getincrementaldecoder(encoding.codec)("backslashreplace")
    rest = ""
    while piece := stream.read(BLOCK_BYTES):
        text = rest + decoder.decode(piece)
        cut = text.rfind("\n") + 1
        if cut == 0 and len(text) < MAX_LINE_CHARS:
            rest = text
            continue
        cut = cut or len(text)
        yield text[:cut]
        rest = text[cut:]
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest
