"""Turns the bytes of a page into text, whatever its labels claim about the character set."""

import codecs
import re
from dataclasses import dataclass

META_SCAN_BYTES = 65_536
DETECT_BYTES = 65_536
MAX_BAD_SHARE = 0.005
MAX_BAD_LETTERS = 0.1  # of the characters beyond ASCII: read in a wrong set, most of them are bad
MIN_UTF8_EVIDENCE = 3
MAX_TOGETHER_SHARE = 0.4

# Labels of the Encoding standard, by the Python codec that reads them best. Nothing else is looked up: Python also
# knows "codecs" that are not character sets (zip, punycode, unicode_escape …).
_LABELS = {
    "utf-8": "utf8 utf-8 unicode-1-1-utf-8 x-unicode20utf8 utf8mb4",
    "utf-16": "utf-16 unicode ucs-2 iso-10646-ucs-2 csunicode",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be unicodefffe",
    "utf-32": "utf-32 utf-32le utf-32be",
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312-80 chinese csgb2312 iso-ir-58 cp936 ms936 euc-cn",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji ms932 windows-31j csshiftjis cp932",
    "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "cp949": "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean cseuckr windows-949 cp949 uhc",
    "cp1252": "iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1 us-ascii ascii windows-1252 cp1252 x-cp1252 ansi",
    "cp1254": "iso-8859-9 latin5 windows-1254 cp1254",
    "cp874": "tis-620 iso-8859-11 windows-874 cp874",
    "koi8_r": "koi8-r koi8 koi8_r",
    "koi8_u": "koi8-u koi8-ru",
    "mac_roman": "macintosh mac x-mac-roman",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp866": "ibm866 866 cp866",
    **{f"cp{n}": f"windows-{n} cp{n} x-cp{n}" for n in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
    **{f"iso8859_{n}": f"iso-8859-{n} iso8859-{n} iso_8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
}
CODECS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Servers send these for everything, so what the page says of itself counts more.
WEAK = frozenset(("cp1252",))
WIDE = ("utf-16", "utf-32")
ASCII_ONLY = frozenset(("iso2022_jp",))

_META = re.compile(rb"""<meta[^>]{0,1024}?charset\s*=\s*["']?\s*([a-zA-Z0-9_:.-]{2,40})""", re.I)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-zA-Z0-9_:.-]{2,40})["']""")
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([a-zA-Z0-9_:.-]{2,40})""", re.I)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
_UTF8_RUN = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{1,3}")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text and the codec that read it; `clean` is False if bytes had to be replaced."""

    text: str
    charset: str
    clean: bool = True


def from_header(content_type: str) -> str | None:
    """The codec that a Content-Type header names, if it is one we know."""
    match = _HEADER.search(content_type)
    return CODECS.get(match.group(1).lower()) if match else None


def decode(data: bytes, content_type: str, cut: bool = False) -> Decoded:
    """Read `data` as text. `cut` says that the end is missing, so that half a character there is no error."""
    for bom, codec in BOMS:
        if data.startswith(bom):
            return _lossy(data[len(bom) :], codec, cut)
    if wide := _wide(data):
        return _lossy(data, wide, cut)
    header, inside = from_header(content_type), _declared_inside(data)
    candidates = _order(data, header, inside)
    for codec in candidates:
        if (text := _strict(data, codec, cut)) is not None:
            return Decoded(text, codec)
    return _best_guess(data, candidates, cut)


def _order(data: bytes, header: str | None, inside: str | None) -> list[str]:
    """Codecs to try strictly, most believable first."""
    # A two-byte set without a mark is believed last: it reads almost any bytes, as nonsense.
    wide = [c for c in (header,) if c and c.startswith(WIDE)]
    declared = [c for c in (header, inside) if c and not c.startswith(WIDE)]
    if header in WEAK and inside:
        declared.reverse()
    strong = [c for c in declared if c not in WEAK]
    if strong and strong[0] in ASCII_ONLY:
        return [*strong, "utf-8", *wide]
    # Bytes that are valid UTF-8 with several characters beyond ASCII are UTF-8, whatever is claimed.
    if len(_UTF8_RUN.findall(data[:META_SCAN_BYTES])) >= MIN_UTF8_EVIDENCE or not strong:
        return list(dict.fromkeys(["utf-8", *strong, *wide]))
    return list(dict.fromkeys([*strong, "utf-8", *wide]))


def _best_guess(data: bytes, candidates: list[str], cut: bool) -> Decoded:
    """Nothing fits without error: a few bad bytes are forgiven, else the bytes themselves are looked at."""
    for codec in candidates:
        decoded = _lossy(data, codec, cut)
        bad = decoded.text.count("\ufffd")
        beyond = len(decoded.text) - len(decoded.text.encode("ascii", "ignore"))
        if bad <= max(len(decoded.text) * MAX_BAD_SHARE, beyond * MAX_BAD_LETTERS):
            return decoded
    if _western(data):
        return _lossy(data, "cp1252", cut)
    from charset_normalizer import from_bytes  # slow to import; needed for few pages

    best = from_bytes(data[:DETECT_BYTES]).best()
    return _lossy(data, best.encoding if best else "cp1252", cut)


def _western(data: bytes) -> bool:
    """Accented letters stand alone among ASCII ones; characters of other scripts stand side by side."""
    sample = data[:DETECT_BYTES]
    beyond = sum(len(run) for run in _BEYOND_ASCII.findall(sample))
    together = sum(len(run) for run in _BEYOND_ASCII.findall(sample) if len(run) > 1)
    return together < beyond * MAX_TOGETHER_SHARE


def _declared_inside(data: bytes) -> str | None:
    head = data[:META_SCAN_BYTES]
    match = _XML.search(head) or _META.search(head)
    codec = CODECS.get(match.group(1).decode("ascii").lower()) if match else None
    # An ASCII-readable declaration cannot stand in UTF-16; the standard reads it as UTF-8.
    return "utf-8" if codec and codec.startswith(WIDE) else codec


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of a Western or marked-up page is zero."""
    head = data[:512]
    if len(head) < 8 or b"\0" not in head:
        return None
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > half * 0.4 and even < half * 0.1:
        return "utf-16-le"
    return "utf-16-be" if even > half * 0.4 and odd < half * 0.1 else None


def _strict(data: bytes, codec: str, cut: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(codec)().decode(data, final=not cut)
    except (UnicodeError, LookupError):
        return None


def _lossy(data: bytes, codec: str, cut: bool) -> Decoded:
    text = codecs.getincrementaldecoder(codec)("replace").decode(data, final=not cut)
    return Decoded(text, codec, "\ufffd" not in text)
