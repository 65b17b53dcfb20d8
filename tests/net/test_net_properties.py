"""Whatever comes in, what comes out is an answer or one of our errors, and can be stored."""

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backend.errors import FetchError
from backend.net import Page, extract
from backend.net.charset import decode
from backend.net.search import found
from backend.net.urls import join, parse

KINDS = [
    "text/html",
    "application/xml",
    "application/json",
    "text/csv",
    "text/plain",
    "",
    "image/png",
    "a/b; charset=gbk",
]
MARKUP = st.lists(
    st.sampled_from(
        [
            "<p>",
            "</p>",
            "<table>",
            "<tr>",
            "<td>",
            "</table>",
            "<a href=",
            "'",
            '"',
            ">",
            "<",
            "&#0;",
            "&#xd800;",
            "\x00",
            "<script type=application/ld+json>",
            "</script>",
            "{",
            "}",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "<!DOCTYPE x [",
            "<?xml version='1.0'?>",
            "<rss><channel><item><title>",
            "<base href=//[>",
            "http://[",
            "\x1b",
            "港",
            "\ud7ff",
            " ",
            "<meta http-equiv=refresh content='0;url=",
            "<meta property=og:title content=",
            "<ul><li>",
            "<svg>",
            "<noscript>",
        ]
    ),
    max_size=40,
).map("".join)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONG = settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def parse_any(text: str) -> None:
    try:
        target = parse(text)
    except FetchError:
        return
    assert target.url.isascii()
    assert not set(target.url) & set(" \r\n\t\0")
    assert target.host == target.host.lower()
    assert not set(target.authority) & set("@\\%")
    assert parse(target.url).url == target.url
    assert join(target, "").url


def extract_any(body: bytes, kind: str) -> None:
    page = Page("http://a.example/", "http://a.example/", 200, {"content-type": kind}, body)
    for extractor in (extract.text, extract.links, extract.structured):
        try:
            result = extractor(page)
        except FetchError:
            continue
        text = json.dumps(result, ensure_ascii=False, allow_nan=False)
        assert b"\0" not in text.encode("utf-8")
        assert "\\u0000" not in text


URLS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="htps:/@[]%.#?\\0123456789abcdefx-_ \t\n港１。", max_size=60).map("http://".__add__),
)


@QUICK
@given(URLS)
@example("http://a.example\\@b.example/")
@example("http://a.example/%zz?%#%")
def test_any_text_is_a_url_or_refused(text: str) -> None:
    parse_any(text)


@QUICK
@given(st.binary(max_size=300), st.sampled_from(KINDS))
def test_any_bytes_are_read_or_refused(body: bytes, kind: str) -> None:
    extract_any(body, kind)


@QUICK
@given(MARKUP, st.sampled_from(KINDS))
def test_any_markup_is_read_or_refused(body: str, kind: str) -> None:
    extract_any(body.encode("utf-8", "surrogatepass"), kind)


@QUICK
@given(st.binary(max_size=200), st.text(max_size=30), st.booleans())
def test_any_bytes_become_text(body: bytes, label: str, cut: bool) -> None:
    assert isinstance(decode(body, f"text/html; charset={label}", cut).text, str)


@QUICK
@given(
    st.text(max_size=80, alphabet=st.characters(min_codepoint=0x20)), st.sampled_from(["utf-8", "utf-16", "utf-8-sig"])
)
def test_unicode_text_is_read_back_as_it_was(text: str, codec: str) -> None:
    label = "utf-16" if codec == "utf-16" else "utf-8"
    text = text.encode("utf-8", "ignore").decode()
    assert decode(("港口" * 3 + text).encode(codec), f"text/plain; charset={label}").text == "港口" * 3 + text


JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=9), st.lists, max_leaves=5)


@QUICK
@given(JSON, st.one_of(JSON, st.text(max_size=20).map("http://".__add__)), JSON)
def test_any_row_of_a_search_is_a_result_or_left_out(title: object, url: object, snippet: object) -> None:
    result = found(title, url, snippet)
    if result is not None:
        assert f"{result.title}{result.url}{result.snippet}".encode()
        assert result.title


@pytest.mark.full
@LONG
@given(URLS)
def test_any_text_is_a_url_or_refused_long(text: str) -> None:
    parse_any(text)


@pytest.mark.full
@pytest.mark.timeout(600)
@LONG
@given(st.one_of(MARKUP.map(str.encode), st.binary(max_size=2000)), st.sampled_from(KINDS))
def test_any_document_is_read_or_refused_long(body: bytes, kind: str) -> None:
    extract_any(body, kind)
