"""Reads HTML: the main text, links, and the structure that pages declare."""

import importlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urljoin

from . import clean

Element = Any  # lxml ships no types

MAX_HTML_CHARS = 5_000_000
MAX_TEXT_CHARS = 400_000
MAX_MAIN_TEXT_CHARS = 1_500_000
MAX_MAIN_TEXT_ELEMENTS = 20_000
LONG_TAG_CHARS = 8_000
MAX_ATTRIBUTES = 1_000
MIN_MAIN_TEXT_CHARS = 1000
MIN_MAIN_SHARE = 0.2
MAX_TITLE_CHARS = 300
MAX_LABEL_CHARS = 200
MAX_LINKS = 500
MAX_LINK_CHARS = 2000
MAX_HEADINGS = 200
MAX_TABLES = 30
MAX_ROWS = 200
MAX_CELLS = 50
MAX_CELL_CHARS = 300
MAX_LISTS = 30
MAX_ITEMS = 100
MAX_META = 60
MAX_META_CHARS = 1000
MAX_JSONLD_SCRIPTS = 20
MAX_JSONLD_CHARS = 60_000
MAX_LOOKED_AT = 2000

SKIPPED = frozenset(("head", "script", "style", "template", "svg", "math", "noscript", "iframe", "object", "select"))
# fmt: off
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "details", "div", "dl", "fieldset",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "legend",
    "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "ul",
))
# fmt: on
LINES = frozenset(("br", "dd", "dt", "li", "tr"))
BESIDE = frozenset(("nav", "footer", "aside"))
META_PREFIXES = ("og:", "article:", "product:", "book:", "profile:", "music:", "video:", "twitter:")

_TAG = re.compile(r"<[^<>]*>")
_LONG_TAG = re.compile(rf"<[a-zA-Z][^<>]{{{LONG_TAG_CHARS},}}")
_SEPARATOR = re.compile(r"[\s/]")
_REFRESH = re.compile(r"^[\d.]*[;,]?url=['\"]?([^'\"]+)", re.I)


def parse(text: str) -> Element | None:
    """The document as a tree, or None if there is nothing in it."""
    from lxml import etree, html  # slow to import

    text = _LONG_TAG.sub(_without_attributes, text[:MAX_HTML_CHARS])
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        return None


def _without_attributes(tag: "re.Match[str]") -> str:
    """The parser's time grows with the square of the attributes of one tag."""
    found = tag.group(0)
    if len(_SEPARATOR.findall(found)) < MAX_ATTRIBUTES:
        return found
    return found[: _SEPARATOR.search(found).start()]  # type: ignore[union-attr]


def title(root: Element) -> str:
    """The document's title, or the first heading."""
    for path in ("./head/title", ".//title", ".//h1"):
        found = root.find(path)
        if found is not None and (text := flat(found, MAX_TITLE_CHARS)):
            return text
    return ""


def main_text(root: Element, source: str) -> str:
    """The text that a reader came for; on short or odd pages all text but navigation."""
    whole = whole_text(root)
    if not whole:
        # trees are cut where nesting is absurdly deep: better rough text than none
        whole = noscript_text(root) or ("" if "<script" in source else clean.tidy(_TAG.sub(" ", source)))
    plain = whole_text(root, BESIDE) or whole
    if len(whole) < MIN_MAIN_TEXT_CHARS or len(source) > MAX_MAIN_TEXT_CHARS or _crowded(root):
        return plain
    main = _trafilatura(source)
    return main if len(main) >= len(plain) * MIN_MAIN_SHARE else plain


def _crowded(root: Element) -> bool:
    """More elements than the extractor handles in a sane time; it compares many of them with each other."""
    return next(itertools.islice(root.iter(), MAX_MAIN_TEXT_ELEMENTS, None), None) is not None


def _trafilatura(source: str) -> str:
    trafilatura = importlib.import_module("trafilatura")  # slow to import
    found = trafilatura.extract(source, include_comments=False, include_tables=True, favor_recall=True)
    return clean.tidy(found or "")


def whole_text(root: Element, without: frozenset[str] = frozenset()) -> str:
    """All visible text, blocks on lines of their own, but for elements named `without`."""
    return clean.tidy(_first(_pieces(root, without=without), MAX_TEXT_CHARS))


def noscript_text(root: Element) -> str:
    """What the page says to readers without JavaScript."""
    return clean.tidy(_first((f"{piece} " for e in root.iter("noscript") for piece in e.itertext()), MAX_TEXT_CHARS))


def flat(element: Element, limit: int) -> str:
    """An element's text on one line."""
    return clean.one_line(_first(_pieces(element, inside=True), limit * 4), limit)


def _first(pieces: Iterable[str], limit: int) -> str:
    """The pieces joined, up to the one that passes `limit` characters."""
    parts, size = list[str](), 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size > limit:
            break
    return "".join(parts)


def _pieces(root: Element, inside: bool = False, without: frozenset[str] = frozenset()) -> Iterator[str]:
    from lxml import etree

    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        tag = element.tag
        if event == "start":
            if element is not root and (tag in SKIPPED or tag in without or "hidden" in element.attrib):
                walker.skip_subtree()
                continue
            yield "\n" if tag in BLOCKS or tag in LINES else ""
            yield "- " if tag == "li" and not inside else ""
            yield element.text or ""
        else:
            if tag in BLOCKS:
                yield "\n"
            elif tag in ("td", "th") and element is not root and element.getnext() is not None:
                yield " | "
            if element is not root:
                yield element.tail or ""


def base_url(root: Element, url: str) -> str:
    """What relative links are relative to."""
    base = root.find(".//base[@href]")
    return absolute(url, base.get("href")) or url if base is not None else url


def links(root: Element, url: str) -> list[dict[str, str]]:
    """`{url, label}` of every http(s) link, absolute, each address once."""
    base, found = base_url(root, url), dict[str, str]()
    for element in root.iter("a", "area", "frame", "iframe"):
        href = (element.get("href") or (element.get("src") if "frame" in element.tag else "") or "").strip()
        address = absolute(base, href) if href and not href.startswith("#") else ""
        if not address or len(address) > MAX_LINK_CHARS:
            continue
        if not found.get(address):
            found[address] = _label(element)
        if len(found) >= MAX_LINKS:
            break
    return [{"url": address, "label": label} for address, label in found.items()]


def _label(element: Element) -> str:
    text = flat(element, MAX_LABEL_CHARS)
    if not text:
        image = element.find(".//img[@alt]")
        text = element.get("aria-label") or element.get("title") or (image.get("alt") if image is not None else "")
    return clean.one_line(text or element.get("alt") or "", MAX_LABEL_CHARS)


def absolute(base: str, href: str) -> str:
    """`href` as an http(s) address, or an empty text."""
    href = re.sub(r"[\t\r\n]", "", clean.plain(href.strip())).replace(" ", "%20")
    try:
        address = urljoin(base, href)
    except ValueError:
        return ""
    return address if address.lower().startswith(("http://", "https://")) else ""


def refresh(root: Element, url: str) -> str:
    """Where a meta refresh would lead, or an empty text; it is told, never followed."""
    for meta in root.iter("meta"):
        if (meta.get("http-equiv") or "").lower() == "refresh":
            match = _REFRESH.match("".join((meta.get("content") or "")[:MAX_LINK_CHARS].split()))
            return absolute(url, match.group(1))[:MAX_LINK_CHARS] if match else ""
    return ""


def structured(root: Element) -> dict[str, Any]:
    """`{title, description, headings, tables, lists, jsonld, opengraph}`."""
    meta = _meta(root)
    social = {name: text for name, text in meta.items() if name.startswith(META_PREFIXES)}
    return {
        "title": title(root) or social.get("og:title", ""),
        "description": meta.get("description") or social.get("og:description", ""),
        "headings": _headings(root),
        "tables": _tables(root),
        "lists": _lists(root),
        "jsonld": _jsonld(root),
        "opengraph": social,
    }


def _meta(root: Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in root.iter("meta"):
        name = (element.get("property") or element.get("name") or "").strip().lower()[:MAX_LABEL_CHARS]
        content = clean.one_line(element.get("content") or "", MAX_META_CHARS)
        if name and content and (name == "description" or name.startswith(META_PREFIXES)):
            found.setdefault(clean.plain(name), content)
        if len(found) >= MAX_META:
            break
    return found


def _headings(root: Element) -> list[dict[str, Any]]:
    found = []
    for element in root.iter("h1", "h2", "h3", "h4", "h5", "h6"):
        if text := flat(element, MAX_TITLE_CHARS):
            found.append({"level": int(element.tag[1]), "text": text})
        if len(found) >= MAX_HEADINGS:
            break
    return found


def _tables(root: Element) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for seen, table in enumerate(root.iter("table")):
        if seen >= MAX_LOOKED_AT or len(found) >= MAX_TABLES:
            break
        if table.find(".//table") is not None:
            continue  # a layout table: the ones inside hold the data
        rows = [_row(tr) for tr in table.xpath("./tr | ./*/tr")[:MAX_ROWS]]
        caption = table.find("./caption")
        if any(any(row) for row in rows):
            text = flat(caption, MAX_TITLE_CHARS) if caption is not None else ""
            found.append({"caption": text, "rows": [row for row in rows if row]})
    return found


def _row(tr: Element) -> list[str]:
    return [flat(cell, MAX_CELL_CHARS) for cell in tr.xpath("./td | ./th")[:MAX_CELLS]]


def _lists(root: Element) -> list[list[str]]:
    found: list[list[str]] = []
    for seen, element in enumerate(root.iter("ul", "ol")):
        if seen >= MAX_LOOKED_AT or len(found) >= MAX_LISTS:
            break
        items = [text for li in element.findall("./li")[:MAX_ITEMS] if (text := flat(li, MAX_CELL_CHARS))]
        if items:
            found.append(items)
    return found


def _jsonld(root: Element) -> list[Any]:
    found: list[Any] = []
    room = MAX_JSONLD_CHARS
    for script in list(root.iter("script"))[:MAX_LOOKED_AT]:
        if (script.get("type") or "").partition(";")[0].strip().lower() != "application/ld+json":
            continue
        value = _json(script.text or "")
        room -= len(json.dumps(value, ensure_ascii=False)) if value is not None else 0
        if room < 0 or len(found) >= MAX_JSONLD_SCRIPTS:
            break
        if value is not None:
            found.extend(value if isinstance(value, list) else [value])
    return found


def _json(text: str) -> Any:
    text = text.strip().removeprefix("<!--").removesuffix("-->").strip()
    try:
        return clean.deep(json.loads(text, strict=False, parse_constant=lambda _: None))
    except (ValueError, RecursionError):
        return None
