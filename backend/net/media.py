"""What a page really is: the declared type, corrected by what the bytes show."""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from ..errors import FetchError
from .body import GZIP_MAGIC, gunzip
from .charset import Decoded, decode
from .fetch import Page

Kind = Literal["html", "xml", "json", "csv", "text", "pdf"]

SNIFF_BYTES = 2048
MAX_NAME_CHARS = 100
MIN_CONTROLS = 8
MAX_CONTROL_SHARE = 0.02
MAX_REPLACED_SHARE = 0.1
PDF_MAGIC = b"%PDF-"
PDF_MAGIC_WITHIN_BYTES = 1024

USUAL_TYPES: dict[Kind, str] = {
    "html": "text/html",
    "xml": "application/xml",
    "json": "application/json",
    "csv": "text/csv",
    "text": "text/plain",
    "pdf": "application/pdf",
}
MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"RIFF", "an image, sound or video file"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
    (GZIP_MAGIC, "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\0asm", "a program"),
    (b"OggS", "a sound or video file"),
    (b"ID3", "a sound file"),
    (b"fLaC", "a sound file"),
    (b"\x1aE\xdf\xa3", "a video file"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (b"SQLite format 3\0", "a database file"),
    (b"\0\0\x01\0", "an icon"),
)
_HTML = re.compile(
    r"^\s*(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta|script|div|p|table)\b", re.I | re.S
)
_XML = re.compile(r"^\s*<(?:\?xml|rss|feed|rdf:rdf|urlset|sitemapindex)\b", re.I)
_XHTML = re.compile(r"<html\b", re.I)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Content:
    """A page's kind with its text (or, for PDF, its bytes)."""

    kind: Kind
    media_type: str
    charset: str | None
    text: str
    data: bytes
    truncated: bool


def read(page: Page, max_bytes: int = 10 * 1024 * 1024) -> Content:
    """Decide what the page is and decode it.

    Raises FetchError, with the name of the kind, for what is not text and not PDF.
    """
    declared = media_type(page)
    data, cut = page.body, page.cut is not None
    if data.startswith(GZIP_MAGIC) and _is_textual(declared):
        inner = gunzip(data, max_bytes)  # packed, but the header that says so is missing
        data, cut = inner.data, cut or inner.cut is not None
    if PDF_MAGIC in data[:PDF_MAGIC_WITHIN_BYTES] and (data.startswith(PDF_MAGIC) or declared == "application/pdf"):
        return Content("pdf", "application/pdf", None, "", data, cut)
    for magic, name in MAGIC:
        if data.startswith(magic):
            raise _not_text(page, name, declared)
    decoded = decode(data, page.headers.get("content-type", ""), cut)
    if _looks_binary(decoded):
        raise _not_text(page, "binary data", declared)
    text = _CONTROL.sub("", decoded.text)
    kind = _kind(declared, text)
    named = declared if _kind(declared, "") == kind else USUAL_TYPES[kind]
    return Content(kind, named, decoded.charset, text, data, cut)


def media_type(page: Page) -> str:
    """The declared type, lower case, without parameters; empty if there is none that could be one."""
    text = page.headers.get("content-type", "").partition(";")[0].partition(",")[0].strip().lower()
    return text if re.fullmatch(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,80}", text) else ""


def _kind(declared: str, text: str) -> Kind:
    head = text[:SNIFF_BYTES]
    if declared in ("text/html", "application/xhtml+xml"):
        return "xml" if _XML.match(head) and not _XHTML.search(head) else "html"
    if declared == "application/json" or declared.endswith("+json"):
        return "html" if _HTML.match(head) else "json"
    if declared in ("text/csv", "text/tab-separated-values"):
        return "csv"
    if declared in ("application/xml", "text/xml") or declared.endswith("+xml"):
        return "html" if _XHTML.search(head) or _HTML.match(head) else "xml"
    if declared == "text/plain":
        return "text"
    if _HTML.match(head):
        return "html"
    if _XML.match(head):
        return "html" if _XHTML.search(head) else "xml"
    return "text"


def _is_textual(declared: str) -> bool:
    return not declared or declared.startswith("text/") or declared.endswith(("xml", "json"))


def _looks_binary(decoded: Decoded) -> bool:
    text = decoded.text
    if not text:
        return False
    return (
        len(_CONTROL.findall(text)) > max(MIN_CONTROLS, len(text) * MAX_CONTROL_SHARE)
        or text.count("\ufffd") > len(text) * MAX_REPLACED_SHARE
    )


def _not_text(page: Page, what: str, declared: str) -> FetchError:
    name = file_name(page)
    kind = ", ".join(part for part in (declared, f"{len(page.body):,} bytes") if part)
    return FetchError(
        f"{repr(name) if name else 'The page'} is {what} ({kind}).",
        suggestion="Text, HTML, XML, JSON, CSV and PDF can be read.",
    )


def file_name(page: Page) -> str:
    """The name from Content-Disposition or the address, cut and without folders; empty if there is none."""
    match = re.search(
        r"""filename\*?\s*=\s*(?:utf-8'[^']*')?"?([^";]+)""", page.headers.get("content-disposition", ""), re.I
    )
    raw = match.group(1) if match else urlsplit(page.final_url).path
    name = re.split(r"[/\\]", unquote(raw.strip()))[-1]
    return "".join(c for c in name if c.isprintable())[:MAX_NAME_CHARS]
