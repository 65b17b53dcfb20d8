"""More scenarios of the kinds of web_server.py; importing this adds them to its list and its server."""

import gzip
import zlib

import web_server
from web_server import _CN, fill, page, results, route, scenario, searx

HTML = "text/html; charset=utf-8"


def plain(sid, path, area, outcome, why, body, ctype=HTML, status="200 OK", headers=(), args=None, **expect):
    """A scenario whose page never changes; `body` may hold {H} and {C}."""

    @scenario("more_" + sid, path, area, outcome, why, args=args, **expect)
    def _(h):
        packed = fill(body) if isinstance(body, str) else body
        h.send(packed, ctype, status, [(k, fill(v)) for k, v in headers])


# ---------------------------------------------------------------- types that lie
plain("html_as_png", "/m/html.png", "type", "ok", "HTML called image/png is read",
      page("Real page", "<p>The tide is at six.</p>"), "image/png", contains=["The tide is at six"])
plain("html_as_binary", "/m/oct", "type", "ok", "HTML called octet-stream is read",
      page("Real page", "<p>The tide is at six.</p>"), "application/octet-stream", contains=["The tide is at six"])
plain("html_no_type", "/m/none", "type", "ok", "no Content-Type at all",
      page("Real page", "<p>The tide is at six.</p>"), "", contains=["The tide is at six"])
plain("html_bad_type", "/m/bad", "type", "ok", "a Content-Type that is none",
      page("Real page", "<p>The tide is at six.</p>"), ";;;charset", contains=["The tide is at six"])
plain("png_as_html", "/m/pic", "type", "any", "a picture called text/html gives no raw bytes",
      b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 20, absent=["IHDR", "\ufffd\ufffd"])
plain("zip_as_text", "/m/zip", "type", "any", "an archive called text/plain", b"PK\x03\x04" + bytes(range(256)) * 9, "text/plain",
      absent=["\ufffd\ufffd", "PK\x03"])
plain("pdf_as_html", "/m/pdf", "type", "any", "a PDF called text/html", web_server._PDF, absent=["endstream", "%PDF"])
plain("json_as_html", "/m/json", "type", "ok", "JSON called text/html", '{"stock": 17, "a": "<b>x</b>"}', contains=["stock", "17"])
plain("broken_json", "/m/badjson", "type", "ok", "JSON that is none comes as text", '{"stock": 17,', "application/json", contains=["17"])
plain("json_nul", "/m/jsonnul", "type", "ok", "half a pair in JSON", '{"a": "x", "b": "\\ud800"}', "application/json",
      contains=["x"])
plain("xml_entities", "/m/xml", "type", "any", "an XML file that would multiply itself",
      '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "' + "&b;" * 50 + '"><!ENTITY x SYSTEM "file:///etc/passwd">]>'
      "<a>text-here &c; &x;</a>", "application/xml", absent=["root:", "hahahaha"])
plain("ics", "/m/cal.ics", "type", "ok", "a calendar is text", "BEGIN:VCALENDAR\r\nSUMMARY:Ferry day\r\nEND:VCALENDAR\r\n",
      "text/calendar", contains=["Ferry day"])
plain("csv", "/m/t.csv", "type", "ok", "CSV is text", "city,temp\nLisbon,21\n", "text/csv", contains=["Lisbon,21"])
plain("rss", "/m/rss", "type", "ok", "a feed gives its items", '<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>'
      "<item><title>Boat found</title><link>http://{H}/n/1</link><description>&lt;p&gt;It was blue&lt;/p&gt;</description></item>"
      "</channel></rss>", "application/rss+xml", contains=["Boat found", "It was blue"])
plain("rss_links", "/m/rss2", "links", "ok", "the addresses of a feed", '<rss version="2.0"><channel><item><title>Boat</title>'
      "<link>/n/1</link></item></channel></rss>", "text/xml", args={"extract_type": "links"}, links=["http://{H}/n/1"])
plain("atom", "/m/atom", "type", "ok", "Atom too", '<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><title>Quay</title>'
      '<link href="http://{H}/q"/><summary>Closed</summary></entry></feed>', "application/atom+xml", contains=["Quay", "Closed"])


# ---------------------------------------------------------------- bodies that lie about their length
@scenario("more_short_body", "/m/short", "length", "any", "fewer bytes than announced: what came, said to be cut, or an error",
          max_seconds=20)
def _(h):
    h.raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\nonly this came")


@scenario("more_long_body", "/m/long", "length", "ok", "more bytes than announced", contains=["short"], absent=["beyond"])
def _(h):
    h.raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: close\r\n\r\nshort and beyond")


for _n, _value in (("minus", "-5"), ("word", "many"), ("two", "5\r\nContent-Length: 7"), ("huge", "9" * 30)):
    @scenario("more_length_" + _n, "/m/len-" + _n, "length", "any", "a Content-Length of " + _value[:6], max_seconds=20)
    def _(h, value=_value):
        h.raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %s\r\nConnection: close\r\n\r\nwords" % value)


@scenario("more_chunk_bad", "/m/chunk", "length", "any", "a broken chunk", max_seconds=20)
def _(h):
    h.raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwords\r\nZZ\r\nx")


@scenario("more_chunk_ok", "/m/chunk-ok", "length", "ok", "chunks, and a letter cut in two", contains=["港口"])
def _(h):
    raw = "港口".encode()
    h.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n" + raw[:2]
          + b"\r\n4\r\n" + raw[2:] + b"\r\n0\r\n\r\n")


@scenario("more_no_http", "/m/nohttp", "protocol", "error", "an answer that is no HTTP", max_seconds=20)
def _(h):
    h.raw("SSH-2.0-OpenSSH_9.0\r\n")


@scenario("more_nothing", "/m/nothing", "protocol", "error", "the connection is closed without an answer", retryable=True, silent=True)
def _(h):
    pass


@scenario("more_headers_huge", "/m/headers", "protocol", "any", "headers of 5 MB", max_seconds=20, max_sent=7_000_000)
def _(h):
    h.raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n")
    for n in range(500):
        h.raw("X-%d: %s\r\n" % (n, "v" * 10_000))
    h.raw("Content-Length: 2\r\n\r\nok")


@scenario("more_informational", "/m/103", "protocol", "ok", "a 103 before the answer", contains=["the real one"])
def _(h):
    h.raw("HTTP/1.1 103 Early Hints\r\nLink: </x.css>\r\n\r\n")
    h.send("the real one", "text/plain")


# ---------------------------------------------------------------- packed bodies
plain("gzip_broken", "/m/gz", "encoding", "any", "gzip that is broken in the middle",
      gzip.compress(page("Z", "w" * 9000).encode())[:60] + b"junk" * 9, headers=[("Content-Encoding", "gzip")], absent=["\ufffd\ufffd"])
plain("gzip_lie", "/m/gzlie", "encoding", "any", "plain text called gzip", "these are words", "text/plain",
      headers=[("Content-Encoding", "gzip")], absent=["\ufffd\ufffd"])
plain("deflate_raw", "/m/deflate", "encoding", "ok", "deflate without its frame", zlib.compress(b"packed words")[2:-4], "text/plain",
      headers=[("Content-Encoding", "deflate")], contains=["packed words"])
plain("gzip_twice", "/m/gz2", "encoding", "any", "gzip in gzip", gzip.compress(gzip.compress(b"packed words")), "text/plain",
      headers=[("Content-Encoding", "gzip, gzip")], absent=["\ufffd\ufffd"])
plain("brotli", "/m/br", "encoding", "error", "a packing we did not ask for is named", b"\x0b\x02\x80abc\x03", "text/plain",
      headers=[("Content-Encoding", "br")], contains=["br"])
plain("gzip_caps", "/m/gzcaps", "encoding", "ok", "X-GZIP in capitals", gzip.compress(b"packed words"), "text/plain",
      headers=[("Content-Encoding", "X-GZIP")], contains=["packed words"])

# ---------------------------------------------------------------- character sets
plain("bom_wins", "/m/bom", "charset", "ok", "a mark goes before the header", b"\xef\xbb\xbf" + page("t", _CN).encode(),
      "text/html; charset=iso-8859-1", contains=[_CN])
plain("utf16", "/m/u16", "charset", "ok", "UTF-16 by its mark", page("t", _CN).encode("utf-16"), "text/html", contains=[_CN])
plain("latin_lie", "/m/latin", "charset", "ok", "UTF-8 called ISO-8859-1", page("t", _CN), "text/html; charset=ISO-8859-1", contains=[_CN])
plain("gbk_lie", "/m/gbk", "charset", "ok", "GBK called ISO-8859-1, the page says gbk",
      page("t", _CN * 5, '<meta charset="gbk">').encode("gbk"), "text/html; charset=ISO-8859-1", contains=[_CN])
plain("charset_unknown", "/m/klingon", "charset", "ok", "a charset there is not", page("t", _CN), "text/html; charset=klingon", contains=[_CN])
plain("charset_quoted", "/m/quoted", "charset", "ok", "quotes and capitals", page("t", _CN).encode("gbk"), 'text/html; Charset="GB2312"',
      contains=[_CN])
plain("big5", "/m/big5", "charset", "ok", "Big5", page("t", "港口天氣晴朗").encode("big5"), "text/html; charset=big5", contains=["港口天氣晴朗"])
plain("euc_kr", "/m/euckr", "charset", "ok", "EUC-KR in a meta tag", page("t", "항구 날씨", '<meta charset="euc-kr">').encode("euc-kr"),
      "text/html", contains=["항구 날씨"])
plain("gb18030", "/m/gb18030", "charset", "ok", "GB18030 with a four-byte letter", page("t", "㐀" + _CN).encode("gb18030"),
      "text/html; charset=gb2312", contains=["㐀" + _CN])
plain("cut_letter", "/m/cut", "charset", "ok", "a page that ends within a letter", page("t", _CN).encode()[:-14] + b"\xe6\xb8", contains=[_CN[:9]])

# ---------------------------------------------------------------- redirects inward, in all kinds
for _n, _to in (("v6", "http://[::1]:{CP}/"), ("mapped", "http://[::ffff:127.0.0.2]:{CP}/"), ("decimal", "http://2130706434:{CP}/"),
                ("scheme_rel", "//127.0.0.2:{CP}/secret"), ("caps", "HTTP://127.0.0.2:{CP}/"), ("user", "http://{H}@127.0.0.2:{CP}/"),
                ("gopher", "gopher://127.0.0.2:{CP}/"), ("data", "data:text/html,CANARY"), ("js", "javascript:alert(1)"),
                ("backslash", "http:\\\\127.0.0.2:{CP}\\"), ("zero", "http://0:{CP}/"), ("tab", "\thttp://127.0.0.2:{CP}/")):
    for _code in ("301 Moved Permanently", "307 Temporary Redirect"):
        @scenario("more_to_" + _n + _code[:3], "/m/to-" + _n + _code[:3], "ssrf", "error", "a redirect inward: " + _to,
                  absent=["CANARY-SECRET"], retryable=False, max_seconds=15)
        def _(h, to=_to, code=_code):
            h.go(to, code)


@scenario("more_hop_inward", "/m/hop", "ssrf", "refused", "two hops, the second inward", absent=["CANARY-SECRET"])
def _(h):
    h.go("/m/hop2", "308 Permanent Redirect")


@route("/m/hop2")
def _(h):
    h.go("http://{C}/secret")


@scenario("more_no_location", "/m/noloc", "redirect", "any", "a 302 without Location")
def _(h):
    h.send("moved", status="302 Found")


@scenario("more_relative", "/m/dir/rel", "redirect", "ok", "a relative Location", contains=["Harbour notes"])
def _(h):
    h.go("../../plain?x=1#frag")


@scenario("more_utf8_location", "/m/u8", "redirect", "ok", "a Location with bare Chinese letters", contains=["arrived"])
def _(h):
    h.send("", status="302 Found", headers=[("Location", "/m/港口")])


for _path in ("/m/港口", "/m/%E6%B8%AF%E5%8F%A3"):
    @route(_path)
    def _(h):
        h.send("arrived", "text/plain")


@scenario("more_refresh_header", "/m/refresh", "ssrf", "any", "a Refresh header is not followed", absent=["CANARY-SECRET"])
def _(h):
    h.send(page("Wait", "moving"), headers=[("Refresh", fill("0; url=http://{C}/secret"))])


@scenario("more_cookie_wall", "/m/cookie", "redirect", "ok", "a page that sets a cookie and comes back", contains=["you have it"])
def _(h):
    if "seen=1" in h.headers.get("cookie", ""):
        h.send("you have it", "text/plain")
    else:
        h.go("/m/cookie", extra=[("Set-Cookie", "seen=1; Path=/")])


# ---------------------------------------------------------------- statuses and manners
for _st, _retry in (("401 Unauthorized", False), ("410 Gone", False), ("418 I'm a teapot", False), ("451 Unavailable", False),
                    ("502 Bad Gateway", True), ("504 Gateway Timeout", True), ("408 Request Timeout", True)):
    plain("status_" + _st[:3], "/m/s" + _st[:3], "status", "error", "HTTP " + _st[:3], page(_st, "sorry"), status=_st, contains=[_st[:3]],
          retryable=_retry)
plain("status_204", "/m/s204", "status", "any", "204 has no body", "", status="204 No Content")
plain("robots_under", "/private-area/deep/page?x=1", "manners", "any", "below a forbidden path", page("Area", "area text"))

# ---------------------------------------------------------------- odd pages
plain("deep", "/m/deep", "extract", "any", "tags nested 20,000 deep", "<div>" * 20_000 + "bottom" + "</div>" * 20_000, max_seconds=20)
plain("unclosed", "/m/unclosed", "extract", "ok", "nothing is closed", "<html><title>Open</title><p>one<p>two <b>three", contains=["one", "two", "three"])
plain("nul", "/m/nul", "extract", "ok", "NUL and control characters in the text", b"<p>be\x00fore\x08 after</p>", contains=["after"])
plain("hidden", "/m/hidden", "extract", "ok", "comments, templates and scripts are not text",
      page("T", "<!-- secret-a --><template>secret-b</template><script>secret-c</script><p>seen words</p>"),
      contains=["seen words"], absent=["secret-a", "secret-b", "secret-c"])
plain("base", "/m/base", "links", "ok", "links are relative to base", page("T", '<a href="x.html">x</a><a href="#top">t</a><a href="mailto:a@b.c">m</a>'
      '<a href="javascript:x()">j</a><a href="">e</a>', '<base href="http://{H}/other/">'), args={"extract_type": "links"},
      links=["http://{H}/other/x.html"], absent=["javascript:", "mailto:"])
plain("base_inward", "/m/base2", "links", "ok", "a base that is no address", page("T", '<a href="x.html">x</a>', '<base href="http://[bad/">'),
      args={"extract_type": "links"})
plain("many_links", "/m/links", "links", "ok", "5,000 links: a part, said to be one", page("T", "".join('<a href="/l/%d">l</a>' % n for n in range(5000))),
      args={"extract_type": "links"}, contains=["truncated\": true"])
plain("jsonld_bad", "/m/ld", "structured", "ok", "JSON-LD that is broken does not spoil the rest",
      page("Shop", "<h1>Kettle</h1><ul><li>blue</li></ul>", '<script type="application/ld+json">{"a": NaN, </script>'),
      args={"extract_type": "structured"}, contains=["Kettle", "blue"])
plain("table_wide", "/m/table", "structured", "ok", "cells that span", page("T", '<table><tr><td colspan="9999999">a</td></tr><tr>'
      '<td rowspan="99999">b</td><td>c</td></tr></table>'), args={"extract_type": "structured"}, contains=["a", "b", "c"])
plain("entities", "/m/ent", "extract", "ok", "entities, also odd ones", page("A &amp; B", "<p>&copy; 5 &lt; 6 &#x1F600; &#0; &#xD800; &nosuch;</p>"),
      contains=["A & B", "5 < 6", "\U0001f600"])


# ---------------------------------------------------------------- batches
@scenario("more_batch_order", "/m/b", "batch", "ok", "order is kept, doubles too", tool="crawl_batch",
          args={"urls": ["http://{H}/text", "http://{H}/m/s410", "http://{H}/text", "ftp://x.y/", "", "http://{C}/", "not a url"]},
          contains=["410", "second line"], absent=["CANARY-SECRET"])
def _(h):
    h.send("b", "text/plain")


@scenario("more_batch_none", "/m/b0", "batch", "error", "no addresses at all", tool="crawl_batch", args={"urls": []})
def _(h):
    h.send("b", "text/plain")


@scenario("more_batch_text", "/m/b1", "batch", "any", "one address as a text", tool="crawl_batch", args={"urls": "http://{H}/text"})
def _(h):
    h.send("b", "text/plain")


@scenario("more_batch_types", "/m/b2", "batch", "error", "addresses that are no texts", tool="crawl_batch", args={"urls": [5, None, {"a": 1}]})
def _(h):
    h.send("b", "text/plain")


# ---------------------------------------------------------------- searching
@searx("more_html", "error", "the endpoint answers with its page, since JSON is switched off", contains=["JSON"], max_seconds=30)
def _(h):
    h.send(page("SearXNG", "<form>search</form>"))


@searx("more_403", "error", "JSON is forbidden", contains=["403"], max_seconds=30)
def _(h):
    h.send("Forbidden", "text/plain", "403 Forbidden")


@searx("more_captcha", "error", "a robot check with 200", absent=["Result 1"], max_seconds=30)
def _(h):
    h.send(page("Attention", "Please complete the CAPTCHA: are you a robot?"))


@searx("more_unresponsive", "error", "nothing found, since no engine answered", contains=["timeout"], max_seconds=30)
def _(h):
    h.send(results(0, unresponsive_engines=[["duckduckgo", "timeout"], ["google", "CAPTCHA"]]), "application/json")


@searx("more_some", "ok", "some engines failed, others found something", contains=["Result 1"])
def _(h):
    h.send(results(2, unresponsive_engines=[["google", "CAPTCHA"]]), "application/json")


@searx("more_broken", "error", "JSON that is cut", max_seconds=30)
def _(h):
    h.send('{"results": [{"title": "Re', "application/json")


@searx("more_odd", "any", "results that lack fields or have odd ones", absent=["javascript:"], max_seconds=30)
def _(h):
    h.send('{"results": [{"title": null, "url": "http://www.example.com/1"}, {"url": 5}, 7, {"title": "t\\u0000\\ud800", "url": '
           '"javascript:x"}, {"title": "<b>Bold</b>", "url": "http://www.example.com/2", "content": ["x"]}]}', "application/json")


@searx("more_list", "error", "JSON that is no object", max_seconds=30)
def _(h):
    h.send("[]", "application/json")


@searx("more_500", "error", "a server error", contains=["500"], retryable=True, max_seconds=30)
def _(h):
    h.send("oops", "text/plain", "500 Internal Server Error")


@searx("more_inward", "error", "the endpoint redirects inward", absent=["CANARY-SECRET"], max_seconds=30)
def _(h):
    h.go("http://{C}/secret")
