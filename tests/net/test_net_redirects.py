"""Redirects: each hop is checked anew, cookies stay with their origin, and there is an end."""

from typing import Any

import pytest
from net_sites import Site, http, moved

from backend.errors import FetchError, NanoClawError, SsrfViolation
from backend.net import Fetcher, FetchSettings
from backend.net.ssrf import parse_allow


@pytest.mark.parametrize(
    "location",
    [
        "http://10.0.0.1/",
        "//127.0.0.2/",
        "http://127.0.0.2:{port}/",
        "HTTP://127.0.0.2/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.2]/",
        "http://[64:ff9b::7f00:2]/",
        "http://2130706434/",
        "http://0x7f000002/",
        "http://0177.0.0.2/",
        "http://169.254.169.254/latest/",
        "http://user@127.0.0.1:{port}/",
        "http://0.0.0.0:{port}/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_INFO",
        "javascript:alert(1)",
        "data:text/html,hi",
        "about:blank",
        "http://127.0.0.1:22/",
    ],
)
def test_a_redirect_inward_or_to_another_scheme_is_refused(location: str, site: Site, local_fetcher: Fetcher) -> None:
    site.answer = moved(location.format(port=site.port))
    with pytest.raises(SsrfViolation):
        local_fetcher.fetch(site.url + "/x")
    assert site.paths() == ["/x"]


@pytest.mark.parametrize("location", ["http://[::1", "http://", "http:///etc/passwd\x7f", "http://a b/", "", "  "])
def test_a_redirect_to_what_is_no_address_fails(location: str, site: Site, local_fetcher: Fetcher) -> None:
    site.answer = moved(location)
    with pytest.raises(FetchError) as caught:
        local_fetcher.fetch(site.url + "/x")
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("y", "/a/y"),
        ("/y?q=1#part", "/y?q=1"),
        ("?q=a b", "/a/x?q=a%20b"),
        ("../b/./c", "/b/c"),
        ("//127.0.0.1:{port}/z", "/z"),
        ("/港".encode().decode("latin-1"), "/%E6%B8%AF"),
        ("/%E6%B8%AF", "/%E6%B8%AF"),
        ("/caf\xe9", "/caf%C3%A9"),
    ],
)
def test_a_redirect_is_read_against_the_page_it_stands_on(
    location: str, path: str, site: Site, local_fetcher: Fetcher
) -> None:
    site.pages["/a/x"] = moved(location.format(port=site.port))
    page = local_fetcher.fetch(site.url + "/a/x")
    assert site.paths() == ["/a/x", path]
    assert page.final_url == site.url + path


def test_ten_hops_are_followed_and_no_more(site: Site, local_fetcher: Fetcher) -> None:
    site.pages = {f"/{n}": moved(f"/{n + 1}") for n in range(1, 12)}
    assert local_fetcher.fetch(site.url + "/2").final_url == site.url + "/12"
    with pytest.raises(FetchError, match="10 times"):
        local_fetcher.fetch(site.url + "/1")


def test_the_fragment_is_never_sent(site: Site, local_fetcher: Fetcher) -> None:
    assert local_fetcher.fetch(site.url + "/x?a=1#secret").final_url == site.url + "/x?a=1"
    assert b"secret" not in b"".join(site.requests)


def test_a_page_that_asks_for_its_cookie_gets_it(site: Site, local_fetcher: Fetcher) -> None:
    def door(connection: Any, request: bytes) -> None:
        seen = b"Cookie: seen=1" in request
        connection.sendall(http("inside") if seen else moved("/x", extra="Set-Cookie: seen=1; Path=/; HttpOnly\r\n"))

    site.answer = door
    assert local_fetcher.fetch(site.url + "/x").body == b"inside"


def test_a_cookie_never_reaches_another_origin_or_another_fetch(
    site: Site, other_site: Site, local_fetcher: Fetcher
) -> None:
    site.answer = moved(other_site.url + "/y", extra="Set-Cookie: session=s3cret; Domain=127.0.0.1\r\n")
    local_fetcher.fetch(site.url + "/x")
    local_fetcher.fetch(site.url + "/x")
    sent = b"".join(site.requests + other_site.requests)
    assert b"s3cret" not in sent


def test_a_cookie_cannot_smuggle_a_header(site: Site, local_fetcher: Fetcher) -> None:
    site.pages["/x"] = moved("/y", extra="Set-Cookie: a=b\x0b\r\nSet-Cookie: c=d\xff\r\nSet-Cookie: =e\r\n")
    local_fetcher.fetch(site.url + "/x")
    assert b"Cookie" not in site.requests[-1]


def test_nothing_tells_where_the_fetch_came_from(site: Site, local_fetcher: Fetcher) -> None:
    site.pages["/x"] = moved("/y")
    local_fetcher.fetch(site.url + "/x")
    assert b"referer" not in site.requests[-1].lower()


def test_a_name_is_resolved_anew_for_each_hop(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second answer for the same name is private: the redirect to it must not be dialled."""
    import socket

    answers = iter(["127.0.0.1", "127.0.0.1", "127.0.0.2"])

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    site.answer = moved("/again")
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1")))
    with pytest.raises(SsrfViolation):
        fetcher.fetch(f"http://rebind.example.com:{site.port}/x")
    assert site.paths() == ["/x"]


def test_a_host_keeps_its_name_in_the_request(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"))).fetch(f"http://中文.Example.com:{site.port}/x")
    assert f"\r\nHost: xn--fiq228c.example.com:{site.port}\r\n".encode() in site.requests[-1]


def test_a_dead_address_is_followed_by_the_next(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.0/8")))
    assert fetcher.fetch(f"http://two.example.com:{site.port}/x").status == 200


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://127.0.0.1:22/", "http://[::1]:80/"])
def test_no_error_shows_a_path_of_the_server(url: str, local_fetcher: Fetcher) -> None:
    with pytest.raises(NanoClawError) as caught:
        local_fetcher.fetch(url)
    assert "/home" not in caught.value.message
    assert ".py" not in caught.value.message
