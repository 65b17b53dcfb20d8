"""Reads XML without entities, external files or network: RSS and Atom feeds and sitemaps become items."""

import html as entities
import re
from typing import Any

from . import clean, html

Element = Any  # lxml ships no types

MAX_ITEMS = 100
MAX_SUMMARY_CHARS = 500
MAX_XML_CHARS = 5_000_000
MAX_PROLOG_CHARS = 65_536
MAX_REFERENCE_DIGITS = 9
# What XML 1.0 calls a character.
CHARACTERS = ((0x9, 0xA, 0xD), range(0x20, 0xD800), range(0xE000, 0xFFFE), range(0x10000, 0x110000))
_REFERENCE = re.compile(r"&#(x[0-9a-f]+|[0-9]+);?", re.I)
_PROLOG = re.compile(r"\s*<\?xml[^>]{0,300}\?>")


def parse(text: str) -> Element | None:
    """The root element, or None if it is no XML. The document type is cut off first: entities live there."""
    from lxml import etree  # slow to import

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True, encoding="utf-8"
    )
    body = _without_doctype(_PROLOG.sub("", text[:MAX_XML_CHARS], count=1)).strip()
    body = _REFERENCE.sub(_valid_reference, body)
    try:
        return etree.fromstring(body.encode("utf-8", "replace"), parser)
    except (etree.LxmlError, ValueError):
        return None


def _valid_reference(found: "re.Match[str]") -> str:
    """References to what is no character: the parser, made to forgive, would let them through as broken UTF-8."""
    digits = found.group(1)
    if len(digits) > MAX_REFERENCE_DIGITS:
        return ""
    number = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    return found.group(0) if any(number in valid for valid in CHARACTERS) else ""


def _without_doctype(text: str) -> str:
    start = text[:MAX_PROLOG_CHARS].upper().find("<!DOCTYPE")
    if start < 0:
        return text
    end, subset = text.find(">", start), text.find("[", start)
    if 0 <= subset < end:  # an internal subset, where entities are declared
        close = text.find("]", subset)
        end = text.find(">", close) if close >= 0 else -1
    return text[:start] + text[end + 1 :] if end >= 0 else ""


def title(root: Element) -> str:
    """The feed's own title."""
    for element in root.iter("{*}title"):
        return clean.one_line(_text(element), html.MAX_TITLE_CHARS)
    return ""


def items(root: Element, url: str) -> list[dict[str, str]]:
    """`{title, url, published, summary}` of each entry; an empty list if this is no feed."""
    found: list[dict[str, str]] = []
    for element in root.iter("{*}item", "{*}entry", "{*}url", "{*}sitemap"):
        if len(found) >= MAX_ITEMS:
            break
        found.append(
            {
                "title": clean.one_line(_child(element, "title"), html.MAX_TITLE_CHARS),
                "url": _link(element, url),
                "published": clean.one_line(_child(element, "pubDate", "published", "updated", "date", "lastmod"), 60),
                "summary": _summary(_child(element, "description", "summary", "content", "encoded")),
            }
        )
    return [item for item in found if item["title"] or item["url"]]


def as_text(entries: list[dict[str, str]]) -> str:
    """The entries for reading."""
    blocks = (
        "\n".join(entry[key] for key in ("title", "published", "url", "summary") if entry[key]) for entry in entries
    )
    return "\n\n".join(blocks)


def _child(element: Element, *names: str) -> str:
    for name in names:
        for child in element.iterchildren("{*}" + name):
            if text := _text(child).strip():
                return text
    return ""


def _text(element: Element) -> str:
    return entities.unescape("".join(element.itertext()))


def _link(element: Element, url: str) -> str:
    candidates = [c.get("href") for c in element.iterchildren("{*}link") if c.get("rel", "alternate") == "alternate"]
    for text in (*candidates, _child(element, "link", "loc", "guid")):
        if text and (address := html.absolute(url, text)):
            return address[: html.MAX_LINK_CHARS]
    return ""


def _summary(text: str) -> str:
    if "<" in text and (root := html.parse(text[: MAX_SUMMARY_CHARS * 20])) is not None:
        return html.flat(root, MAX_SUMMARY_CHARS)
    return clean.one_line(text, MAX_SUMMARY_CHARS)
