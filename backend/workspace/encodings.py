"""Text or not, and in which encoding: found from the bytes, kept when a file is rewritten."""

import codecs
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

from charset_normalizer import from_bytes

from ..errors import FileProblem

SAMPLE_BYTES = 256 * 1024
GUESS_BYTES = 32 * 1024
MAX_CONTROL_SHARE = 0.02

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive or office document"),
    (b"PK\x05\x06", "empty ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!", "RAR archive"),
    (b"\xfd7zXZ", "xz archive"),
    (b"BZh", "bzip2 archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"\xca\xfe\xba\xbe", "Java class or macOS program"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xd0\xcf\x11\xe0", "old Office document"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"RIFF", "RIFF media"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
)
# Codecs of Python that are no encodings of text files, or that decode to something else than they say.
_NOT_FOR_FILES = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem", "utf-7"}
)
_CONTROL = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27}) + b"\x7f"
_GUESSES = ["gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1252", "cp1251", "cp1250", "iso8859_15", "koi8_r"]
_ENCODING_NAME = re.compile(r"^[A-Za-z0-9_.:-]{1,40}$")


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding by its Python name; `bom` is what such a file begins with."""

    name: str
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """The bytes of `text` without a byte order mark. Raises UnicodeEncodeError."""
        return text.removeprefix("\ufeff").encode(self.codec) if self.bom else text.encode(self.codec)

    @property
    def codec(self) -> str:
        """The codec for what follows the byte order mark."""
        if self.name == "utf-8-sig":
            return "utf-8"
        if self.name in ("utf-16", "utf-32"):
            big = self.bom in (codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
            return f"{self.name}-{'be' if big else 'le'}"
        return self.name

    @property
    def newline_is_byte(self) -> bool:
        """True if the byte 0x0A is a line end and nothing else."""
        return not self.name.startswith(("utf-16", "utf-32"))


UTF8 = Encoding("utf-8")
MIN_WHOLE_CHARACTERS = 10
# For UTF-16 without a mark: how much is looked at, how much of it must be known, and from which length on that says something.
WIDE_CHARACTERS = 4096
MIN_KNOWN_SHARE = 0.9
MIN_COMMON_CHARACTERS, MIN_EASTERN_CHARACTERS = 3, 16
LETTERS_END = 0x600  # Latin, Greek, Cyrillic, Hebrew


def named(name: str) -> Encoding:
    """The encoding a caller asks for; FileProblem if there is none of that name for text."""
    try:
        if not _ENCODING_NAME.match(name):
            raise LookupError(name)
        info = codecs.lookup(name)
        if not getattr(info, "_is_text_encoding", True) or info.name in _NOT_FOR_FILES:
            raise LookupError(name)
    except LookupError:
        raise FileProblem(
            f"There is no text encoding {name[:40]!r}.",
            suggestion="Use utf-8, gbk, utf-16, latin-1 …, or leave it out.",
        ) from None
    marks = {"utf-8-sig": codecs.BOM_UTF8, "utf-16": codecs.BOM_UTF16_LE, "utf-32": codecs.BOM_UTF32_LE}
    return Encoding(info.name, marks.get(info.name, b""))


def with_mark(encoding: Encoding, head: bytes) -> Encoding:
    """`encoding` with the byte order mark that the file really has."""
    for mark, name in _BOMS:
        if head.startswith(mark) and Encoding(name, mark).codec.split("-")[:2] == encoding.codec.split("-")[:2]:
            return Encoding(name, mark)
    return Encoding(encoding.codec) if encoding.bom else encoding


def detect(head: bytes, *, whole: bool) -> Encoding | None:
    """The encoding of a file that begins with `head` (all of it if `whole`); None if it is binary."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return Encoding(name, mark)
    if kind_of(head) is not None:
        return None
    if b"\0" in head:
        return _wide_without_mark(head)
    if _is_utf8(head, whole):
        return UTF8 if _control_share(head) <= MAX_CONTROL_SHARE else _wide_without_mark(head)
    if _control_share(head) > 0:
        return _wide_without_mark(head)
    return UTF8 if _is_nearly_utf8(head) else _guess(head)


def kind_of(head: bytes) -> str | None:
    """What a binary file is, by its first bytes; None if they tell nothing. Only sure signs count."""
    for magic, kind in _MAGIC:
        # A text may begin with "RIFF" or "MZ": signs made of letters only count beside a zero byte.
        sure = magic == b"%PDF-" or not magic.isascii() or not magic.decode("ascii").isprintable()
        if head.startswith(magic) and (sure or b"\0" in head[:256]):
            return kind
    return None


def text_of(content: bytes) -> str | None:
    """The whole content as text, or None if it is binary."""
    encoding = detect(content[:SAMPLE_BYTES], whole=len(content) <= SAMPLE_BYTES)
    if encoding is None:
        return None
    return content[len(encoding.bom) :].decode(encoding.codec, "backslashreplace")


def _is_utf8(head: bytes, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return False
    return True


def _is_nearly_utf8(head: bytes) -> bool:
    """A few broken bytes among many whole characters: in no other encoding do those come about by chance."""
    text = head.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    whole = len(text) - len(text.encode("ascii", "ignore")) - bad
    return whole >= MIN_WHOLE_CHARACTERS and bad * 10 <= whole


def _control_share(head: bytes) -> float:
    return (len(head) - len(head.translate(None, _CONTROL))) / max(len(head), 1)


def _wide_without_mark(head: bytes) -> Encoding | None:
    """UTF-16 without a mark: in one of the two byte orders the characters are those of real texts."""
    known = {name: _known_share(head, name) for name in ("utf-16-le", "utf-16-be")}
    best = max(known, key=lambda name: known[name])
    return Encoding(best) if known[best] >= MIN_KNOWN_SHARE else None


def _known_share(head: bytes, name: str) -> float:
    """The share of usual characters, read in this encoding; 0 if it is no plain text, or too short to tell."""
    try:
        text = codecs.getincrementaldecoder(name)().decode(head)[:WIDE_CHARACTERS]
    except UnicodeDecodeError:
        return 0.0
    counts = Counter(text)
    if any(ord(c) < 32 and c not in "\t\r\n\f" for c in counts):
        return 0.0
    if len(text) < _least_length(text, 0 in head):
        return 0.0
    eastern = len(text) >= MIN_EASTERN_CHARACTERS
    known = (n for c, n in counts.items() if ord(c) < LETTERS_END or _is_common(c) or (eastern and _is_eastern(c)))
    return sum(known) / max(len(text), 1)


def _least_length(text: str, zeros: bool) -> int:
    """From which length on it is no chance that a text consists of known characters."""
    if max(text, default="") <= "\xff":
        return 1
    return MIN_COMMON_CHARACTERS if zeros else MIN_WHOLE_CHARACTERS


def _is_eastern(character: str) -> bool:
    """Kana, usual traditional characters, usual syllables of Korean, or a pictogram."""
    if "\u3040" <= character <= "\u30ff" or "\U0001f000" <= character <= "\U0001faff":
        return True
    for name, last in (("big5", 0xC6), ("euc_kr", 0xC8)):
        with suppress(UnicodeEncodeError):
            return character.encode(name)[0] <= last
    return False


def _guess(head: bytes) -> Encoding | None:
    sample = head[:GUESS_BYTES]
    if _looks_chinese(sample):
        return Encoding("gb18030")
    best = from_bytes(sample, cp_isolation=_GUESSES, enable_fallback=False).best()
    if best is not None:
        return Encoding(best.encoding)
    share = sum(byte >= 0x80 for byte in sample) / max(len(sample), 1)
    return Encoding("cp1252") if share < 0.3 and _decodes(sample, "cp1252") else None


def _looks_chinese(sample: bytes) -> bool:
    """GB18030 whose characters lie nearly all in the common rows of GB 2312: the guess that short texts need."""
    text = None
    for cut in range(4):
        try:
            text = sample[: len(sample) - cut].decode("gb18030")
            break
        except UnicodeDecodeError:
            continue
    if text is None:
        return False
    wide = [c for c in text if ord(c) >= 0x80]
    common = sum(_is_common(c) for c in wide)
    return bool(wide) and common / len(wide) > 0.9


def _is_common(character: str) -> bool:
    try:
        code = character.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return len(code) == 2 and (0xB0 <= code[0] <= 0xD7 or 0xA1 <= code[0] <= 0xA3)


def _decodes(sample: bytes, name: str) -> bool:
    try:
        sample.decode(name)
    except UnicodeDecodeError:
        return False
    return True
