"""Read files that exist: only regular ones, page by page, never a whole large file in memory."""

import codecs
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import BinaryIO

from ..errors import FileMissing, FileProblem
from .encodings import SAMPLE_BYTES, Encoding, detect, named, with_mark
from .names import shown
from .paths import Place, problems

DEFAULT_LIMIT_LINES = 2_000
MAX_LIMIT_LINES = 20_000
PAGE_CHARS = 13_000
PAGE_JSON_CHARS = 15_000
COUNT_LINES_BYTES = 64 << 20
CHUNK_BYTES = 1 << 20
MAX_NAMES_COMPARED = 1_000
DECODE_BYTES = 64 << 10
READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO without a writer must not block
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class TextPage:
    """Some lines of a text file. `offset` is the number of the first line, from 1.

    If `next_offset` is not None, more follows there (at character `next_column` of that line, if
    the line itself was cut). `total_lines` is None where counting would cost too much.
    """

    content: str
    encoding: str
    offset: int
    lines: int
    size: int
    next_offset: int | None = None
    next_column: int | None = None
    total_lines: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a text is wanted: from line `offset` and character `column`, both from 1, `limit` lines."""

    offset: int = 1
    limit: int = DEFAULT_LIMIT_LINES
    column: int = 1

    def checked(self) -> "Window":
        """With sensible bounds; FileProblem for negative numbers."""
        if self.offset < 0 or self.limit < 1 or self.column < 0:
            raise FileProblem("offset counts lines from 1, and limit is at least 1.")
        return Window(max(self.offset, 1), min(self.limit, MAX_LIMIT_LINES), max(self.column, 1))


def check_regular(found: os.stat_result | None, path: str) -> os.stat_result:
    """The same status if it is a file that can be read to an end; FileMissing or FileProblem if not."""
    if found is None:
        raise FileMissing(f"There is no file {path!r}.", suggestion="Use file_list to see what is there.")
    if stat.S_ISDIR(found.st_mode):
        raise FileProblem(f"{path!r} is a folder, not a file.", suggestion="Use file_list to see what is in it.")
    if stat.S_ISLNK(found.st_mode):
        raise FileProblem(f"{path!r} is a link that changed while it was followed.")
    if not stat.S_ISREG(found.st_mode):
        raise FileProblem(f"{path!r} is a device, a pipe or a socket, not a file; it is not opened.")
    return found


def missing(place: Place) -> FileMissing:
    """The error for a name that is not there, with names that are like it."""
    with problems(place.path), place.folder.scan() as scan:
        names = [shown(entry.name) for entry in islice(scan, MAX_NAMES_COMPARED)]
    near = [name for name in names if name.casefold() == place.name.casefold()]
    near = near or get_close_matches(place.name, names, n=3)
    hint = f" There is {' and '.join(repr(name) for name in near)}." if near else ""
    return FileMissing(f"There is no file {place.path!r}.{hint}", suggestion="Use file_list to see what is there.")


def open_regular(place: Place) -> BinaryIO:
    """The file at `place`, open for reading; only regular files are ever opened."""
    path = place.path or "."
    found = place.stat()
    if found is None:
        raise missing(place)
    check_regular(found, path)
    with problems(path):
        fd = os.open(place.folder.at(place.name), READ_FLAGS, dir_fd=place.folder.fd)
    try:
        check_regular(os.fstat(fd), path)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def etag_of(status: os.stat_result) -> str:
    """A quoted entity tag that changes with every rewrite: inode, size and time in nanoseconds."""
    return f'"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"'


def encoding_of(stream: BinaryIO, asked: str | None, size: int) -> Encoding | None:
    """The encoding asked for, or found in the first bytes; None if binary. Leaves the stream at its start."""
    head = stream.read(SAMPLE_BYTES)
    stream.seek(0)
    if asked:
        return with_mark(named(asked), head)
    return detect(head, whole=size <= len(head))


def read_page(stream: BinaryIO, encoding: Encoding, size: int, window: Window) -> TextPage:
    """One page of a text stream. Bytes that are not of `encoding` appear as `\\xff`."""
    window = window.checked()
    stream.seek(len(encoding.bom))
    texts = _from_line(stream, encoding, window.offset)
    text, ended = _collect(_from_column(texts, window.column), window.limit)
    content = _cut(text, window.limit)
    done = ended and len(content) == len(text)
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    next_offset, next_column = (None, None) if done else _next(content, window, lines)
    total = _total_lines(stream, encoding, size)
    return TextPage(
        content=content,
        encoding=encoding.name,
        offset=window.offset,
        lines=lines,
        size=size,
        next_offset=next_offset,
        next_column=next_column,
        total_lines=total,
        note=_note(window, total) if not content else None,
    )


def _note(window: Window, total: int | None) -> str | None:
    if total is not None and window.offset > max(total, 1):
        return f"The file has {total} lines; line {window.offset} is past its end."
    return None


def _next(content: str, window: Window, lines: int) -> tuple[int, int | None]:
    if content.endswith("\n"):
        return window.offset + lines, None
    start = window.column if "\n" not in content else 1
    return window.offset + lines - 1, start + len(content) - (content.rfind("\n") + 1)


def _decoded(stream: BinaryIO, encoding: Encoding) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding.codec)("backslashreplace")
    while piece := stream.read(DECODE_BYTES):
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _from_line(stream: BinaryIO, encoding: Encoding, offset: int) -> Iterator[str]:
    """The decoded text from line `offset` on."""
    skip = offset - 1
    if skip and encoding.newline_is_byte:
        _skip_lines(stream, skip)
        skip = 0
    for text in _decoded(stream, encoding):
        start = 0
        while skip and (found := text.find("\n", start)) >= 0:
            start = found + 1
            skip -= 1
        if not skip:
            yield text[start:]


def _skip_lines(stream: BinaryIO, skip: int) -> None:
    """Move behind the `skip`-th line end, counting bytes (many times faster than decoding)."""
    while piece := stream.read(CHUNK_BYTES):
        count = piece.count(b"\n")
        if count < skip:
            skip -= count
            continue
        at = -1
        for _ in range(skip):
            at = piece.index(b"\n", at + 1)
        stream.seek(at + 1 - len(piece), os.SEEK_CUR)
        return


def _from_column(texts: Iterator[str], column: int) -> Iterator[str]:
    """Without the first `column` - 1 characters of the first line."""
    skip = column - 1
    for text in texts:
        if skip:
            end = text.find("\n")
            drop = min(skip, len(text) if end < 0 else end)
            skip = 0 if end >= 0 else skip - drop
            text = text[drop:]
        yield text


def _collect(texts: Iterator[str], limit: int) -> tuple[str, bool]:
    """Enough text for a page, and whether the file ended in it."""
    text = ""
    for piece in texts:
        text += piece
        if len(text) > PAGE_CHARS or text.count("\n") > limit:
            return text, False
    return text, True


def _cut(text: str, limit: int) -> str:
    """At most `limit` lines that fit a page, whole lines if at least one fits."""
    content = _whole_lines(_lines(text, limit), PAGE_CHARS)
    while len(json.dumps(content, ensure_ascii=False)) > PAGE_JSON_CHARS:
        content = _whole_lines(content, len(content) * 3 // 4)
    return content


def _whole_lines(text: str, chars: int) -> str:
    """At most `chars` characters, cut after the last line end in them if there is one."""
    if len(text) <= chars:
        return text
    return text[: text.rfind("\n", 0, chars) + 1] or text[:chars]


def _lines(text: str, limit: int) -> str:
    at = -1
    for _ in range(limit):
        at = text.find("\n", at + 1)
        if at < 0:
            return text
    return text[: at + 1]


def _total_lines(stream: BinaryIO, encoding: Encoding, size: int) -> int | None:
    if size > COUNT_LINES_BYTES:
        return None
    stream.seek(len(encoding.bom))
    if not encoding.newline_is_byte:
        texts = list(_decoded(stream, encoding)) if size <= CHUNK_BYTES * 8 else None
        return None if texts is None else _count("".join(texts))
    count, last = 0, b""
    while piece := stream.read(CHUNK_BYTES):
        count += piece.count(b"\n")
        last = piece[-1:]
    return count + (last not in (b"", b"\n"))


def _count(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))
