"""crawl_batch: one row for each address, hosts side by side, one host politely."""

import socket
import threading
from typing import Any

import pytest
from net_sites import Site, http

from backend.net import Fetcher, FetchSettings, batch, extract
from backend.net.batch import Batch
from backend.net.ssrf import parse_allow


def crawl(call: Any, *urls: str, **more: Any) -> list[dict[str, Any]]:
    result = call("crawl_batch", {"urls": list(urls), **more})
    assert result["success"], result
    assert result["data"]["total"] == len(urls)
    return result["data"]["results"]


def test_rows_come_in_the_order_asked_whatever_became_of_them(site: Site, other_site: Site, call: Any) -> None:
    site.pages["/gone"] = http(status="404 Not Found")
    site.pages["/busy"] = http(extra="Retry-After: 9\r\n", status="429 Busy")
    urls = [
        other_site.url + "/a",
        "http://10.0.0.1/",
        site.url + "/gone",
        "no url",
        site.url + "/busy",
        site.url + "/b",
    ]
    rows = crawl(call, *urls)
    assert [row["url"] for row in rows] == urls
    assert [row["success"] for row in rows] == [True, False, False, False, False, True]
    assert [row.get("code") for row in rows[1:4]] == ["address_refused", "fetch_failed", "fetch_failed"]
    assert (rows[4]["status"], rows[4]["retry_after"], rows[4]["retryable"]) == (429, 9, True)
    assert rows[5]["text"] == "hello world"


def test_an_address_given_twice_is_fetched_once(site: Site, call: Any) -> None:
    rows = crawl(call, site.url + "/a", site.url + "/a")
    assert [row["success"] for row in rows] == [True, True]
    assert site.paths() == ["/a"]


@pytest.mark.parametrize(("kind", "key"), [("text", "text"), ("links", "links"), ("structured", "headings")])
def test_every_extract_type_works(kind: str, key: str, site: Site, call: Any) -> None:
    assert key in crawl(call, site.url + "/a", extract_type=kind)[0]


def test_pages_of_one_host_are_never_asked_at_once(site: Site, call: Any) -> None:
    busy, overlaps = threading.Lock(), []

    def answer(connection: socket.socket, _request: bytes) -> None:
        overlaps.append(not busy.acquire(blocking=False))
        connection.sendall(http())
        if not overlaps[-1]:
            busy.release()

    site.answer = answer
    crawl(call, *(f"{site.url}/{n}" for n in range(4)))
    assert overlaps == [False] * 4


def test_hosts_are_asked_side_by_side(site: Site, other_site: Site, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two hosts answers only when the other has been asked too."""
    both = threading.Barrier(2, timeout=5)

    def answer(connection: socket.socket, _request: bytes) -> None:
        both.wait()
        connection.sendall(http())

    site.answer = other_site.answer = answer
    monkeypatch.setattr(socket, "getaddrinfo", to_loopback)
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1")))
    urls = [f"http://one.example:{site.port}/", f"http://two.example:{other_site.port}/"]
    assert [row["success"] for row in Batch(fetcher, extract.text).run(urls)] == [True, True]


def to_loopback(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


def test_a_delay_that_is_longer_than_the_batch_is_told(site: Site, call: Any) -> None:
    site.pages["/robots.txt"] = http("User-agent: *\nCrawl-delay: 500\n", kind="text/plain")
    rows = crawl(call, site.url + "/a", site.url + "/b")
    assert rows[0]["success"] is True
    assert "500 seconds" in rows[1]["error"]
    assert rows[1]["retryable"] is True
    assert site.paths() == ["/a"]


def test_what_the_time_does_not_allow_is_said_for_each(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BATCH_SECONDS", 0.5)
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1")))
    rows = Batch(fetcher, extract.text).run([site.url + "/a", site.url + "/b"])
    assert [row["retryable"] for row in rows] == [True, True]
    assert site.requests == []


@pytest.mark.parametrize("urls", [[], ["http://a.example/"] * 11])
def test_the_number_of_addresses_is_limited(urls: list[str], call: Any) -> None:
    result = call("crawl_batch", {"urls": urls})
    assert result["code"] == "invalid_arguments"
    assert "1 to 10" in result["error"]


def test_an_unknown_extract_type_is_refused(call: Any) -> None:
    assert call("fetch_page", {"url": "http://a.example/", "extract_type": "html"})["code"] == "invalid_arguments"
