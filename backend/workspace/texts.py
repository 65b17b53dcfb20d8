"""Write and edit files as text: encodings and line ends of a file are kept when it is rewritten."""

import re
from dataclasses import dataclass

from ..errors import FileMissing, FileProblem
from .encodings import SAMPLE_BYTES, UTF8, Encoding, detect, named, with_mark
from .files import Workspace, Written
from .history import MAX_DIFF_INPUT_BYTES, diff
from .paths import locate
from .reading import open_regular

MAX_EDIT_BYTES = 16 << 20
MAX_PLACES_NAMED = 10


@dataclass(frozen=True, slots=True)
class TextWritten:
    """A write of text: what was written, in which encoding, how many bytes were given, the difference if it is small."""

    written: Written
    encoding: str
    added: int
    diff: str | None
    note: str | None = None
    replacements: int = 0


def write_text(
    workspace: Workspace, path: str, content: str, encoding: str | None = None, append: bool = False
) -> TextWritten:
    """Write text, byte for byte but for the encoding: the one asked for, else the file's own, else UTF-8."""
    found = _encoding_now(workspace, path, may_be_binary=not append or bool(encoding))
    if append:
        chosen = _for_append(path, content, encoding, found)
        data = encoded(content, chosen, path)
        written = workspace.append(path, data if found else chosen.bom + data)
        return TextWritten(written, chosen.name, len(data), None)
    chosen, note = _for_overwrite(content, encoding, found)
    data = encoded(content, chosen, path)
    data = chosen.bom + data
    written = workspace.write(path, data)
    return TextWritten(written, chosen.name, len(data), _diff(workspace, written, data), note)


def encoded(content: str, encoding: Encoding, path: str) -> bytes:
    """The bytes of `content` without a mark; FileProblem that names the first character the encoding lacks."""
    try:
        return encoding.encode(content)
    except UnicodeEncodeError as error:
        sign = ascii(content[error.start])
        raise FileProblem(
            f"The character {sign} at position {error.start} cannot be written as {encoding.name}; {path!r} was not touched.",
            suggestion="Leave lone surrogates out; for other characters overwrite the whole file with encoding utf-8.",
        ) from None


@dataclass(frozen=True, slots=True)
class _Now:
    """A file's encoding as it is; `plain` if its first bytes are ASCII, so that it may be of many encodings."""

    encoding: Encoding
    plain: bool


def _encoding_now(workspace: Workspace, path: str, may_be_binary: bool) -> _Now | None:
    """The encoding of the file as it is; None if there is none yet, or it is empty or (FileProblem if not) binary."""
    if not path or path.endswith("/"):
        return None
    try:
        with locate(workspace.root, path) as place, open_regular(place) as stream:
            head = stream.read(SAMPLE_BYTES)
            stream.seek(0, 2)
            found = detect(head, whole=stream.tell() <= len(head)) if head else None
            if head and found is None and not may_be_binary:
                raise FileProblem(
                    f"{path!r} is binary; text at its end would damage it, so nothing was written.",
                    suggestion="If it is a text after all, name its encoding.",
                )
            return _Now(found, not found.bom and found.newline_is_byte and head.isascii()) if found else None
    except FileMissing:
        return None


def _for_overwrite(content: str, asked: str | None, now: _Now | None) -> tuple[Encoding, str | None]:
    """The encoding asked for, the file's own, or UTF-8; and a note if the file's own had to be given up."""
    if asked:
        wanted = named(asked)
        return (with_mark(wanted, now.encoding.bom) if now and now.encoding.bom else wanted), None
    if now is None:
        return UTF8, None
    if _fits(content, now.encoding) or _has_surrogate(content):  # a surrogate is refused later, by its place
        return now.encoding, None
    was = now.encoding.name
    return UTF8, f"The file was {was}; the new text needs characters that it lacks, so it is UTF-8 now."


def _for_append(path: str, content: str, asked: str | None, now: _Now | None) -> Encoding:
    """The file's own encoding; another that was asked for only if the file stays readable as one."""
    if not asked:
        return now.encoding if now else UTF8
    wanted = named(asked)
    if now is None:
        return wanted
    wanted = with_mark(wanted, now.encoding.bom)
    same = wanted == now.encoding or (now.plain and wanted.newline_is_byte)
    if same or (_fits(content, now.encoding) and encoded(content, wanted, path) == now.encoding.encode(content)):
        return wanted
    raise FileProblem(
        f"{path!r} is {now.encoding.name}; text in {wanted.name} cannot be added to it.",
        suggestion="Leave the encoding out: the file's own is used then.",
    )


def _fits(content: str, encoding: Encoding) -> bool:
    try:
        encoding.encode(content)
    except UnicodeEncodeError:
        return False
    return True


def _has_surrogate(content: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in content)


def _diff(workspace: Workspace, written: Written, data: bytes) -> str | None:
    before = None
    if written.before_hash is not None:
        with workspace.blobs.open(written.before_hash) as stream:
            before = stream.read(MAX_DIFF_INPUT_BYTES + 1)
    return diff(before, data, written.path)


@dataclass(slots=True)
class Edit:
    """An exact replacement in a text; after `apply`, `count` tells how often and `encoding` in what."""

    path: str
    old: str
    new: str
    everywhere: bool = False
    count: int = 0
    encoding: Encoding = UTF8
    data: bytes = b""

    def apply(self, content: bytes | None) -> bytes:
        """The new content; FileProblem if the old text is not there, or in several places."""
        if content is None:
            raise FileProblem(f"There is no file {self.path!r} to edit.", suggestion="Use file_write to create it.")
        found = detect(content[:SAMPLE_BYTES], whole=len(content) <= SAMPLE_BYTES)
        if found is None:
            raise FileProblem(f"{self.path!r} is binary; it cannot be edited as text.")
        text = self._decoded(content, found)
        old, new = self._line_ends(text)
        self._check(text, old)
        self.encoding = found
        self.data = found.bom + encoded(text.replace(old, new), found, self.path)
        return self.data

    def _decoded(self, content: bytes, encoding: Encoding) -> str:
        try:
            return content[len(encoding.bom) :].decode(encoding.codec)
        except UnicodeDecodeError as error:
            raise FileProblem(
                f"{self.path!r} is not valid {encoding.name} at byte {error.start}; it is not edited, so that nothing is damaged."
            ) from None

    def _line_ends(self, text: str) -> tuple[str, str]:
        """Old and new text with the line ends of the file (models send LF, whatever the file has)."""
        crlf = text.count("\r\n")
        if crlf and crlf * 2 >= text.count("\n"):
            return _crlf(self.old), _crlf(self.new)
        return self.old, self.new

    def _check(self, text: str, old: str) -> None:
        self.count = text.count(old)
        if self.count == 0:
            raise FileProblem(f"The old text does not occur in {self.path!r}.{_near(text, old)}", suggestion=_COPY)
        if not self.everywhere and text.find(old, text.find(old) + 1) >= 0:  # "aa" stands twice in "aaa"
            times = max(self.count, 2)
            lines = ", ".join(str(n) for n in _lines_of(text, old))
            raise FileProblem(
                f"The old text occurs {times} times in {self.path!r} (lines {lines}); nothing was changed.",
                suggestion="Give more of the text around the place, or pass replace_all=true.",
            )


_COPY = "Read the file again and copy the text exactly, with its spaces and line ends."


def edit_text(workspace: Workspace, edit: Edit) -> TextWritten:
    """Replace text in a file, with no other writer in between."""
    if not edit.old:
        raise FileProblem("old_text is empty.", suggestion="Use file_write to create a file or to add to its end.")
    if edit.old == edit.new:
        raise FileProblem("old_text and new_text are the same; nothing to do.")
    written = workspace.transform(edit.path, edit.apply, MAX_EDIT_BYTES)
    shown = _diff(workspace, written, edit.data)
    return TextWritten(written, edit.encoding.name, len(edit.data), shown, replacements=edit.count)


def _crlf(text: str) -> str:
    return re.sub(r"\r?\n", "\r\n", text)


def _lines_of(text: str, old: str) -> list[int]:
    lines: list[int] = []
    at = text.find(old)
    while at >= 0 and len(lines) < MAX_PLACES_NAMED:
        lines.append(text.count("\n", 0, at) + 1)
        at = text.find(old, at + 1)
    return lines


def _near(text: str, old: str) -> str:
    """A hint for the usual slip: the same text but for spaces at the line ends or the indentation."""
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    if not first:
        return ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() == first:
            return f" Line {number} is like its first line; compare spaces and the lines after it."
    return ""
