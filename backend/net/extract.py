"""From a fetched page to what a model can use: its text, its links, or its structure."""

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import FetchError
from . import clean, feeds, html, media, pdf
from .fetch import Page
from .lifeline import Cancel
from .media import Content

Extractor = Callable[[Page, Cancel | None], dict[str, Any]]

MAX_TEXT_CHARS = 100_000
MAX_STRUCTURED_CHARS = 120_000
CUT_NOTES = {
    "size": "The page is longer than the size limit; the rest was not loaded.",
    "time": "The page did not arrive whole within the time limit; this is its beginning.",
    "broken": "The connection broke off; this is what had arrived.",
}
NEEDS_SCRIPT = "The page shows nothing without JavaScript, which is not run here."
EMPTY = "The page is empty."
EMPTY_STRUCTURE: dict[str, Any] = {
    "title": "",
    "description": "",
    "headings": [],
    "tables": [],
    "lists": [],
    "jsonld": [],
    "opengraph": {},
}


class _Text(NamedTuple):
    title: str
    body: str
    notes: tuple[str, ...] = ()
    cut: bool = False


def text(page: Page, cancelled: Cancel | None = None) -> dict[str, Any]:
    """`{url, final_url, status, title, text, truncated, media_type, charset}` and sometimes `note`.

    Raises FetchError for content that is not text.
    """
    content = media.read(page)
    if content.kind == "pdf":
        found = _pdf_text(content, cancelled)
    elif content.kind == "html":
        found = _html_text(content, page)
    elif content.kind == "xml":
        found = _xml_text(content, page)
    else:
        found = _Text("", clean.plain(content.text))
    cut = _cut(content) or found.cut or len(found.body) > MAX_TEXT_CHARS
    notes = found.notes if found.body.strip() or found.notes else (EMPTY,)
    if len(found.body) > MAX_TEXT_CHARS:
        notes = (*notes, f"This is the beginning of the text, {MAX_TEXT_CHARS:,} characters.")
    body = found.body[:MAX_TEXT_CHARS]
    return {**_frame(page, content, notes), "title": found.title, "text": body, "truncated": cut}


def links(page: Page, cancelled: Cancel | None = None) -> dict[str, Any]:
    """`{url, final_url, …, links: [{url, label}], truncated}`, addresses absolute, each once."""
    content = media.read(page)
    found: list[dict[str, str]] = []
    if content.kind == "html" and (root := html.parse(content.text)) is not None:
        found = html.links(root, page.final_url)
    elif content.kind == "xml" and (root := feeds.parse(content.text)) is not None:
        found = [{"url": e["url"], "label": e["title"]} for e in feeds.items(root, page.final_url) if e["url"]]
    elif content.kind == "pdf":
        raise FetchError("Links of a PDF are not read.", suggestion="Use extract_type text.")
    cut = _cut(content) or len(found) >= html.MAX_LINKS
    return {**_frame(page, content, ()), "links": found, "truncated": cut}


def structured(page: Page, cancelled: Cancel | None = None) -> dict[str, Any]:
    """`{url, …, title, description, headings, tables, lists, jsonld, opengraph}`; `items` for feeds."""
    content = media.read(page)
    parts = dict(EMPTY_STRUCTURE)
    if content.kind == "html" and (root := html.parse(content.text)) is not None:
        parts = html.structured(root)
    elif content.kind == "xml" and (root := feeds.parse(content.text)) is not None:
        parts |= {"title": feeds.title(root), "items": feeds.items(root, page.final_url)}
    elif content.kind == "csv":
        parts |= {"tables": [{"caption": "", "rows": _csv_rows(content)}]}
    else:
        whole = text(page, cancelled)
        parts |= {"title": whole["title"], "text": whole["text"]}
    cut = _shrink(parts)
    return {**_frame(page, content, ()), **parts, "truncated": _cut(content) or cut}


def _cut(content: Content) -> bool:
    return content.truncated or (content.kind == "html" and len(content.text) > html.MAX_HTML_CHARS)


def _frame(page: Page, content: Content, notes: Sequence[str]) -> dict[str, Any]:
    notes = [*([CUT_NOTES[page.cut]] if page.cut else []), *notes]
    frame = {
        "url": page.url,
        "final_url": page.final_url,
        "status": page.status,
        "media_type": content.media_type,
        "charset": content.charset,
    }
    return {**frame, "note": " ".join(notes)} if notes else frame


def _html_text(content: Content, page: Page) -> _Text:
    root = html.parse(content.text)
    if root is None:
        return _Text("", "")
    notes = list[str]()
    if root.find(".//script") is not None and not html.whole_text(root):
        notes.append(NEEDS_SCRIPT)
    if forward := html.refresh(root, page.final_url):
        notes.append(f"The page forwards to {forward}, which was not followed.")
    return _Text(html.title(root), html.main_text(root, content.text), tuple(notes))


def _xml_text(content: Content, page: Page) -> _Text:
    root = feeds.parse(content.text)
    entries = feeds.items(root, page.final_url) if root is not None else []
    if root is None or not entries:
        return _Text("", clean.plain(content.text))
    return _Text(feeds.title(root), feeds.as_text(entries))


def _pdf_text(content: Content, cancelled: Cancel | None) -> _Text:
    if content.truncated:
        raise FetchError("The PDF is larger than the size limit, or did not arrive whole, so it cannot be read.")
    read = pdf.read(content.data, cancelled)
    if read["read"] >= read["pages"]:
        return _Text(read["title"], read["text"])
    note = f"Only {read['read']} of {read['pages']} pages were read."
    return _Text(read["title"], read["text"], (note,), cut=True)


def _csv_rows(content: Content) -> list[list[str]]:
    sample = content.text[:4096]
    delimiter = max((",", ";", "\t", "|"), key=sample.count)
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(clean.plain(content.text)), delimiter=delimiter):
            rows.append([cell[: html.MAX_CELL_CHARS] for cell in row])
            if len(rows) >= html.MAX_ROWS:
                break
    except csv.Error:
        pass  # what was read so far stands
    return rows


def _shrink(parts: dict[str, Any]) -> bool:
    """Drop from the end of the longest lists until the whole is of a sane size; True if anything went."""
    cut = False
    while len(repr(parts)) > MAX_STRUCTURED_CHARS:
        lists = [value for value in parts.values() if isinstance(value, list) and value]
        if not lists:
            break
        longest = max(lists, key=lambda value: len(repr(value)))
        del longest[len(longest) // 2 :]
        cut = True
    return cut
