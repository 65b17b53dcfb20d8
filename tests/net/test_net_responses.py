"""Servers that lie, break off or never end: what a fetch makes of their bytes."""

import gzip
import socket
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from net_sites import PAGE, Site, http

from backend.errors import FetchError, FetchRetryable
from backend.net import Fetcher, FetchSettings, extract
from backend.net.ssrf import parse_allow

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
MEBIBYTE = 1024 * 1024


def length_said(length: str) -> bytes:
    return http().replace(b"Content-Length: %d" % len(PAGE), b"Content-Length: " + length.encode())


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def read(fetcher: Fetcher, site: Site, answer: Any) -> dict[str, Any]:
    site.answer = answer
    return extract.text(fetcher.fetch(site.url + "/x"))


WHOLE = {
    "negative length": length_said("-1"),
    "length that is no number": length_said("abc"),
    "two lengths": http(extra="Content-Length: 5\r\n"),
    "no type": http(kind=""),
    "type that is no type": http(kind=";;;=/"),
    "two types": http(extra="Content-Type: image/png\r\n"),
    "image label on a page": http(kind="image/png"),
    "pdf label on a page": http(kind="application/pdf"),
    "continue first": b"HTTP/1.1 100 Continue\r\n\r\n" + http(),
    "early hints first": b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + http(),
    "no reason": http(status="200"),
    "chunks": CHUNKED + b"%x\r\n" % len(PAGE) + PAGE + b"\r\n0\r\n\r\n",
    "chunks with extensions": CHUNKED + b"%x;a=b\r\n" % len(PAGE) + PAGE + b"\r\n0\r\nX: y\r\n\r\n",
    "gzip": http(gzip.compress(PAGE), "Content-Encoding: gzip\r\n"),
    "gzip in capitals": http(gzip.compress(PAGE), "Content-Encoding: GZIP\r\n"),
    "gzip in two members": http(gzip.compress(PAGE[:30]) + gzip.compress(PAGE[30:]), "Content-Encoding: gzip\r\n"),
    "gzip and rubbish": http(gzip.compress(PAGE) + b"rubbish", "Content-Encoding: gzip\r\n"),
    "gzip label on plain": http(extra="Content-Encoding: gzip\r\n"),
    "gzip without label": http(gzip.compress(PAGE)),
    "gzip twice, once said": http(gzip.compress(gzip.compress(PAGE)), "Content-Encoding: gzip\r\n"),
    "deflate": http(zlib.compress(PAGE), "Content-Encoding: deflate\r\n"),
    "deflate without header": http(raw_deflate(PAGE), "Content-Encoding: deflate\r\n"),
    "deflate label on plain": http(extra="Content-Encoding: deflate\r\n"),
    "deflate label on gzip": http(gzip.compress(PAGE), "Content-Encoding: deflate\r\n"),
    "brotli label on plain": http(extra="Content-Encoding: br\r\n"),
    "charset as encoding": http(extra="Content-Encoding: utf-8\r\n"),
    "header without a colon": http(extra="Nonsense\r\n"),
    "header in UTF-8": http(extra="X-Name: 港\r\n".encode().decode("latin-1")),
}


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE)
def test_a_page_arrives_whole_in_spite_of(answer: bytes, site: Site, local_fetcher: Fetcher) -> None:
    result = read(local_fetcher, site, answer)
    assert (result["text"], result["truncated"]) == ("hello world", False)


PARTS = {
    "length too long": length_said("9999"),
    "chunk too long": CHUNKED + b"ffffffff\r\n" + PAGE,
    "chunk size negative": CHUNKED + b"-5\r\n" + PAGE,
    "garbage after a chunk": CHUNKED + b"%x\r\n" % len(PAGE) + PAGE + b"\r\nzz\r\n",
    "gzip cut": http(gzip.compress(PAGE + b"<p>%d" % 7)[:-12], "Content-Encoding: gzip\r\n"),
}


@pytest.mark.parametrize("answer", PARTS.values(), ids=PARTS)
def test_what_arrived_is_kept_and_called_a_part(answer: bytes, site: Site, local_fetcher: Fetcher) -> None:
    result = read(local_fetcher, site, answer)
    assert "hello world" in result["text"]
    assert result["truncated"] is True
    assert "broke off" in result["note"]


NOT_HTTP = {
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "HTTP/0.9": PAGE,
    "HTTP/2": http().replace(b"HTTP/1.1", b"HTTP/2"),
    "status 099": http(status="099 Odd"),
    "status in words": http(status="abc Odd"),
    "500 headers": http(extra="".join(f"X-{n}: y\r\n" for n in range(500))),
    "one huge header": http(extra=f"X: {'y' * 200_000}\r\n"),
    "brotli": http(b"\x0b\x02\x80hello\x03", "Content-Encoding: br\r\n"),
    "redirect to nowhere": http(b"", status="302 Found"),
    "not modified": http(b"", status="304 Not Modified"),
}


@pytest.mark.parametrize("answer", NOT_HTTP.values(), ids=NOT_HTTP)
def test_an_answer_that_cannot_be_read_fails_for_good(answer: bytes, site: Site, local_fetcher: Fetcher) -> None:
    with pytest.raises(FetchError) as caught:
        read(local_fetcher, site, answer)
    assert not caught.value.retryable


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", CHUNKED, CHUNKED + b"zzz\r\n" + PAGE])
def test_a_connection_that_breaks_before_the_page_is_worth_a_retry(
    answer: bytes, site: Site, local_fetcher: Fetcher
) -> None:
    with pytest.raises(FetchRetryable):
        read(local_fetcher, site, answer)


def repeat(head: bytes, again: bytes) -> Callable[[socket.socket, bytes], None]:
    def answer(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(again)

    return answer


@pytest.mark.parametrize(
    ("head", "again"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000),
        (b"", b"y" * 65536),
    ],
)
def test_headers_without_end_are_given_up(head: bytes, again: bytes, site: Site, local_fetcher: Fetcher) -> None:
    with pytest.raises(FetchError):
        read(local_fetcher, site, repeat(head, again))


def test_a_body_without_end_is_cut_at_the_size_limit(site: Site) -> None:
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), max_bytes=MEBIBYTE))
    result = read(fetcher, site, repeat(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"abc " * 16384))
    assert result["truncated"] is True
    assert "size limit" in result["note"]
    assert len(result["text"]) == extract.MAX_TEXT_CHARS


def test_a_body_that_drips_is_cut_at_the_time_limit(site: Site) -> None:
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), total_seconds=0.6))

    def drip(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(http(PAGE * 9)[:-300])
        site.silence(connection)

    result = read(fetcher, site, drip)
    assert "time limit" in result["note"]
    assert "hello world" in result["text"]


def test_a_server_that_goes_silent_costs_the_read_limit_and_no_more(site: Site) -> None:
    """It sent the whole page, but neither its length nor its end."""
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), read_seconds=0.3))

    def keep_open(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE)
        site.silence(connection)

    result = read(fetcher, site, keep_open)
    assert result["text"] == "hello world"
    assert "time limit" in result["note"]


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"])
def test_silence_before_the_body_is_worth_a_retry(head: bytes, site: Site) -> None:
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), read_seconds=0.3))

    def start(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(head)
        site.silence(connection)

    with pytest.raises(FetchRetryable, match="stopped answering"):
        read(fetcher, site, start)


@pytest.mark.parametrize(
    ("packed", "name"),
    [
        (gzip.compress(b"A" * 64 * MEBIBYTE), "gzip"),
        (zlib.compress(b"A" * 64 * MEBIBYTE), "deflate"),
        (raw_deflate(b"A" * 64 * MEBIBYTE), "deflate"),
        (gzip.compress(gzip.compress(b"A" * 64 * MEBIBYTE)), "gzip"),
        (gzip.compress(b"") * 50_000, "gzip"),
    ],
)
def test_a_body_that_unpacks_without_end_is_cut(packed: bytes, name: str, site: Site) -> None:
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), max_bytes=MEBIBYTE))
    site.answer = http(packed, f"Content-Encoding: {name}\r\n")
    page = fetcher.fetch(site.url + "/x")
    assert len(page.body) <= MEBIBYTE
    assert len(extract.text(page)["text"]) <= extract.MAX_TEXT_CHARS


BINARY = {
    "png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 30,
    "zip": b"PK\x03\x04" + bytes(100),
    "program": b"\x7fELF" + bytes(200),
    "noise": bytes((n * 7919 + n * n) % 256 for n in range(5000)),
    "zeros": bytes(5000),
}


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/octet-stream", "", "application/json"])
@pytest.mark.parametrize("body", BINARY.values(), ids=BINARY)
def test_what_is_not_text_is_named_and_never_shown(body: bytes, kind: str, site: Site, local_fetcher: Fetcher) -> None:
    with pytest.raises(FetchError, match=r"image|archive|program|binary") as caught:
        read(local_fetcher, site, http(body, kind=kind))
    assert "\ufffd" not in caught.value.message


def test_a_download_is_named_without_its_folders(site: Site, local_fetcher: Fetcher) -> None:
    extra = 'Content-Disposition: attachment; filename="../../etc/plan b.zip"\r\n'
    with pytest.raises(FetchError, match=r"^'plan b\.zip' is a ZIP archive"):
        read(local_fetcher, site, http(b"PK\x03\x04" + bytes(90), extra, "application/zip"))


def test_a_text_download_is_read(site: Site, local_fetcher: Fetcher) -> None:
    extra = "Content-Disposition: attachment; filename=table.csv\r\n"
    assert read(local_fetcher, site, http(b"a,b\n1,2\n", extra, "application/octet-stream"))["text"] == "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        *((status, False) for status in (400, 401, 404, 410, 451, 501, 999)),
        *((status, True) for status in (408, 425, 429, 500, 502, 503, 504, 522)),
    ],
)
def test_a_status_says_whether_a_retry_helps(status: int, retryable: bool, site: Site, local_fetcher: Fetcher) -> None:
    with pytest.raises(FetchError, match=f"HTTP {status}") as caught:
        read(local_fetcher, site, http(status=f"{status} /srv/app/secret.py"))
    assert caught.value.retryable is retryable
    assert caught.value.details["status"] == status
    assert "/srv" not in caught.value.message


def test_a_page_is_not_asked_again_before_its_retry_after(site: Site, local_fetcher: Fetcher) -> None:
    for _ in range(2):
        with pytest.raises(FetchRetryable, match=r"429.*wait \d+ seconds") as caught:
            read(local_fetcher, site, http(extra="Retry-After: 120\r\n", status="429 Too Many Requests"))
    assert 118 <= caught.value.details["retry_after"] <= 120
    assert site.paths() == ["/x"]


@pytest.mark.parametrize("value", ["Wed, 21 Oct 2099 07:28:00 GMT", "999999999999999999999"])
def test_a_wait_of_years_is_not_spelled_out(value: str, site: Site, local_fetcher: Fetcher) -> None:
    with pytest.raises(FetchRetryable, match=r"503.*more than a day"):
        read(local_fetcher, site, http(extra=f"Retry-After: {value}\r\n", status="503 Busy"))


@pytest.mark.parametrize("value", ["soon", "-5", "", "Wed, 99 Foo 2099", "１２"])
def test_a_wait_that_is_no_time_is_left_out(value: str, site: Site, local_fetcher: Fetcher) -> None:
    extra = f"Retry-After: {value}\r\n".encode().decode("latin-1")
    with pytest.raises(FetchRetryable) as caught:
        read(local_fetcher, site, http(extra=extra, status="503 Busy"))
    assert "retry_after" not in caught.value.details


def test_a_robot_check_is_said_to_be_one(site: Site, local_fetcher: Fetcher) -> None:
    with pytest.raises(FetchError, match="human"):
        read(local_fetcher, site, http(extra="cf-mitigated: challenge\r\n", status="403 Forbidden"))
