"""What is taken out of pages: text, links, structure; HTML, XML, CSV, JSON and PDF."""

import json
from typing import Any

import pytest
import web_server

from backend.errors import FetchError
from backend.net import Page, extract, pdf

LONG = "The harbour office keeps a log of every ferry, its crew, its cargo and the weather at the hour of its leaving. "


def page(body: str | bytes, kind: str = "text/html", cut: Any = None) -> Page:
    data = body.encode() if isinstance(body, str) else body
    return Page("http://a.example/d/x", "http://a.example/d/x", 200, {"content-type": kind}, data, cut)


def links(body: str, kind: str = "text/html") -> dict[str, str]:
    return {link["url"]: link["label"] for link in extract.links(page(body, kind))["links"]}


class TestText:
    def test_an_article_comes_without_navigation(self) -> None:
        body = f"""<html><head><title>Log</title></head><body>
            <nav><a href=/>Home</a> <a href=/shop>Shop</a></nav>
            <article><h1>The log</h1>{"".join(f"<p>{n}. {LONG}</p>" for n in range(20))}</article>
            <footer>Imprint and cookies</footer></body></html>"""
        result = extract.text(page(body))
        assert result["title"] == "Log"
        assert "19. The harbour office" in result["text"]
        assert "Imprint" not in result["text"]
        assert "Shop" not in result["text"]

    def test_a_short_page_keeps_its_words_together(self) -> None:
        body = "<body><nav>Menu</nav><h1>Ferries</h1><p>Leaves at <b>07:40</b>.</p><ul><li>one <i>two</i><li>three</ul>"
        assert extract.text(page(body))["text"] == "Ferries\n\nLeaves at 07:40.\n\n- one two\n- three"

    def test_rows_of_a_table_stay_on_their_lines(self) -> None:
        body = "<table><tr><th>City<th>Temp<tr><td>Oslo<td>9</table>"
        assert extract.text(page(body))["text"] == "City | Temp\nOslo | 9"

    def test_hidden_and_script_text_is_left_out(self) -> None:
        body = (
            "<p hidden>h</p><script>s</script><style>t</style><template>u</template><svg><text>v</text></svg><p>w</p>"
        )
        assert extract.text(page(body))["text"] == "w"

    def test_a_page_of_scripts_says_so(self) -> None:
        result = extract.text(
            page("<div id=root></div><script src=/a.js></script><noscript>Turn it <b>on</b></noscript>")
        )
        assert result["text"] == "Turn it on"
        assert "JavaScript" in result["note"]

    def test_an_empty_page_says_so(self) -> None:
        assert extract.text(page(""))["note"] == "The page is empty."

    def test_a_refresh_is_told_and_not_followed(self) -> None:
        body = "<meta http-equiv=Refresh content=\"0; URL='/next?a=1'\"><p>moving</p>"
        assert "http://a.example/next?a=1" in extract.text(page(body))["note"]

    @pytest.mark.parametrize(
        "body", ["<p>a\0b</p>", "<p>a&#0;b&#xD800;c&#x110000;&#8;</p>", "<title>\x07x</title><p>\x1b[1m"]
    )
    def test_what_no_database_takes_is_gone(self, body: str) -> None:
        text = json.dumps(extract.text(page(body)), ensure_ascii=False)
        assert text.encode()
        assert not any(bad in text for bad in ("\0", "\\u0000", "\\u0007", "\\u001b"))

    def test_a_long_text_is_cut_and_says_so(self) -> None:
        result = extract.text(page("x " * 200_000, "text/plain"))
        assert (len(result["text"]), result["truncated"]) == (extract.MAX_TEXT_CHARS, True)
        assert "beginning" in result["note"]

    @pytest.mark.parametrize("kind", ["text/plain", "application/json", "text/markdown", "text/javascript"])
    def test_other_text_comes_as_it_is(self, kind: str) -> None:
        assert extract.text(page('{"a": "<b>&amp;"}', kind))["text"] == '{"a": "<b>&amp;"}'


class TestLinks:
    def test_are_absolute_with_labels_and_told_once(self) -> None:
        body = (
            "<a href='x?y=1&amp;z=2'>One <b>two</b></a><a href=/r><img alt=Picture></a><a href=//b.example/p title=T></a>"
            "<a href=x?y=1&z=2>again</a><a href=#f>f</a><a href='mailto:a@b'>m</a><a href='javascript:x()'>j</a>"
            "<a href='http://[bad'>b</a><a name=n>n</a><a href=' \n/sp ace '>s</a><area href=q alt=Area><iframe src=/f></iframe>"
        )
        assert links(body) == {
            "http://a.example/d/x?y=1&z=2": "One two",
            "http://a.example/r": "Picture",
            "http://b.example/p": "T",
            "http://a.example/sp%20ace": "s",
            "http://a.example/d/q": "Area",
            "http://a.example/f": "",
        }

    def test_follow_the_base_of_the_page(self) -> None:
        assert list(links("<base href='https://e.example/b/'><a href=c>c</a>")) == ["https://e.example/b/c"]
        assert list(links("<base href='javascript:x'><a href=c>c</a>")) == ["http://a.example/d/c"]

    def test_are_bounded(self) -> None:
        result = extract.links(page("".join(f"<a href=/{n}>{'y' * 900}</a>" for n in range(3000))))
        assert (len(result["links"]), result["truncated"]) == (500, True)
        assert len(json.dumps(result)) < 400_000

    def test_of_feeds_and_sitemaps(self) -> None:
        rss = "<rss><channel><link>http://n.example/</link><item><title>A</title><link>/1</link></item></channel></rss>"
        assert links(rss, "application/rss+xml") == {"http://a.example/1": "A"}
        sitemap = (
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://a/1</loc></url></urlset>"
        )
        assert links(sitemap, "text/xml") == {"http://a/1": ""}


class TestStructured:
    def test_headings_tables_lists_and_meta(self) -> None:
        body = """<title>T</title><meta name=description content="Short"><meta property="og:title" content="OG">
            <h1>One</h1><h2>Two <i>b</i></h2><ol><li>a<li>b</ol>
            <table><caption>Cap</caption><thead><tr><th>C<th>D</thead><tr><td>1<td>2 <b>x</b></table>"""
        result = extract.structured(page(body))
        assert result["headings"] == [{"level": 1, "text": "One"}, {"level": 2, "text": "Two b"}]
        assert result["tables"] == [{"caption": "Cap", "rows": [["C", "D"], ["1", "2 x"]]}]
        assert result["lists"] == [["a", "b"]]
        assert (result["title"], result["description"]) == ("T", "Short")
        assert result["opengraph"] == {"og:title": "OG"}

    def test_of_nested_tables_the_inner_ones_count(self) -> None:
        body = "<table><tr><td><table><tr><td>1<td>2</table><td><table><tr><td>3</table></table>"
        assert [table["rows"] for table in extract.structured(page(body))["tables"]] == [[["1", "2"]], [["3"]]]

    @pytest.mark.parametrize(
        ("script", "found"),
        [
            ('{"@type": "Product", "n": 1}', [{"@type": "Product", "n": 1}]),
            ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
            ('<!-- {"a": 1} -->', [{"a": 1}]),
            ('{"a": "\\ud800x\\u0000", "b": NaN, "c": 1e999}', [{"a": "x", "b": None, "c": None}]),
            ('{"a": "line\nbreak"}', [{"a": "line\nbreak"}]),
            ("{broken", []),
            ("[" * 100_000 + "]" * 100_000, []),
            ('{"a": ' + "9" * 5000 + "}", []),
            ('{"a": "' + "x" * 100_000 + '"}', []),
        ],
    )
    def test_jsonld_is_read_or_left_out(self, script: str, found: list[Any]) -> None:
        body = f"<script type='application/ld+json'>{script}</script>"
        result = extract.structured(page(body))
        assert result["jsonld"] == found
        json.dumps(result, allow_nan=False, ensure_ascii=False).encode()

    def test_of_csv_is_a_table(self) -> None:
        assert extract.structured(page('a;b\n1;"x;y"\n', "text/csv"))["tables"][0]["rows"] == [["a", "b"], ["1", "x;y"]]
        assert extract.structured(page('a,"b\n' + "x" * 300_000, "text/csv"))["truncated"] is False

    def test_of_a_feed_are_its_items(self) -> None:
        atom = (
            "<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title><entry><title>E</title><updated>2026</updated>"
            "<link rel='self' href='/s'/><link href='/e'/><summary type='html'>&lt;b&gt;Hi&lt;/b&gt; there</summary></entry></feed>"
        )
        result = extract.structured(page(atom, "application/atom+xml"))
        assert result["title"] == "F"
        assert result["items"] == [
            {"title": "E", "url": "http://a.example/e", "published": "2026", "summary": "Hi there"}
        ]

    def test_is_bounded(self) -> None:
        row = "<tr>" + f"<td>{'x' * 400}" * 60 + "</tr>"
        result = extract.structured(page("<table>" + row * 300 + "</table>" + "<ul>" + "<li>y" * 9000 + "</ul>"))
        assert result["truncated"] is True
        assert len(json.dumps(result)) < 300_000


LAUGHS = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))


@pytest.mark.parametrize("kind", ["application/xml", "text/html", "application/rss+xml", "text/plain", ""])
@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY j SYSTEM "file:///etc/passwd">',
        '<!ENTITY j SYSTEM "http://127.0.0.1:9/x">',
        '<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;',
        f'<!ENTITY a "aaaaaaaaaa">{LAUGHS}',
    ],
)
def test_entities_are_neither_opened_nor_multiplied(subset: str, kind: str) -> None:
    body = (
        f'<?xml version="1.0"?><!DOCTYPE r [{subset}]><rss><channel><item><title>a&j;b</title></item></channel></rss>'
    )
    for extractor in (extract.text, extract.links, extract.structured):
        text = json.dumps(extractor(page(body, kind)))
        assert "root:" not in text
        assert len(text) < 10_000


HOSTILE = {
    "deep": "<div>" * 200_000 + "x",
    "deep tables": "<table><tr><td>" * 50_000 + "x",
    "angle brackets": "<" * 1_000_000,
    "open comments": "<!--" * 500_000,
    "short comments": "<!---->" * 200_000 + "<",
    "open tags": "<a " * 500_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">x",
    "attributes by slash": "<p " + "/".join(f"a{n}" for n in range(100_000)) + ">x",
    "ampersands": "&amp" * 500_000,
    "tables": "<table><tr><td>a</table>" * 20_000,
    "items": "<ul>" + "<li>x" * 200_000,
    "metas": "<meta " * 20_000,
    "spaces in a refresh": f"<meta http-equiv=refresh content='0{' ' * 500_000}'><p>x",
    "doctypes": "<!DOCTYPE[" * 200_000,
    "xml deep": '<?xml version="1.0"?>' + "<a>" * 200_000,
    "xml wide": '<?xml version="1.0"?><rss>' + "<item><title>a</title></item>" * 50_000,
    "title": "<title>" + "t " * 500_000,
    "one line": "x" * 2_000_000,
    "quotes": "<a href='" * 200_000,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_costs_little(body: str) -> None:
    """Several of these took minutes with the parsers left to themselves."""
    for extractor in (extract.text, extract.links, extract.structured):
        assert len(json.dumps(extractor(page(body)))) < 400_000


def pdf_of(*objects: bytes) -> bytes:
    out, offsets = b"%PDF-1.5\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj" % number + body + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    tail = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + tail


FONT = b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
A_PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R" + FONT + b">>"
CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
ONE_KID = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"


class TestPdf:
    def test_its_text_is_read_even_without_an_index(self) -> None:
        result = extract.text(page(web_server._PDF, "application/pdf"))
        assert result["text"] == "Quay plan"
        assert result["media_type"] == "application/pdf"
        assert extract.text(page(web_server._PDF, "text/html"))["text"] == "Quay plan"

    def test_many_pages_are_read_in_part(self) -> None:
        stream = b"<</Length 41>>stream\nBT /F1 12 Tf 20 100 Td (Quay plan) Tj ET \nendstream "
        kids = b"<</Type/Pages/Kids[" + b"3 0 R " * 150 + b"]/Count 150>>"
        result = extract.text(page(pdf_of(CATALOG, kids, A_PAGE, stream), "application/pdf"))
        assert result["truncated"] is True
        assert "100 of 150 pages" in result["note"]

    @pytest.mark.parametrize(
        "body",
        [
            b"%PDF-1.4 nothing",
            web_server._PDF[:200],
            pdf_of(CATALOG, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 99999999>>"),
            pdf_of(CATALOG, ONE_KID, A_PAGE, b"[[[[" * 100_000),
            pdf_of(CATALOG, b"<</Type/Pages/Kids[]/Count 0>>"),
        ],
    )
    def test_one_that_cannot_be_read_says_so(self, body: bytes) -> None:
        with pytest.raises(FetchError, match="The PDF") as caught:
            extract.text(page(body, "application/pdf"))
        assert "/" not in caught.value.message

    def test_one_that_is_cut_is_not_tried(self) -> None:
        with pytest.raises(FetchError, match="larger"):
            extract.text(page(web_server._PDF, "application/pdf", "size"))

    def test_one_that_works_for_ever_is_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pdf, "WALL_SECONDS", 0.01)
        with pytest.raises(FetchError, match="within"):
            extract.text(page(web_server._PDF, "application/pdf"))

    def test_has_no_links(self) -> None:
        with pytest.raises(FetchError, match="Links"):
            extract.links(page(web_server._PDF, "application/pdf"))


@pytest.mark.parametrize(
    "reference", ["&#xD800;", "&#55296;", "&#55296", "&#0;", "&#x110000;", "&#" + "9" * 5000 + ";", "&#xFFFE;"]
)
def test_a_reference_to_no_character_is_dropped_from_a_feed(reference: str) -> None:
    feed = f"<rss><channel><item><title>a{reference}b&#x6E2F;</title></item></channel></rss>"
    assert extract.structured(page(feed, "application/rss+xml"))["items"][0]["title"] == "ab港"
