"""robots.txt is honoured, remembered, and never a way inward."""

import pytest
from net_sites import Site, http, moved

from backend.errors import FetchError, FetchRetryable, SsrfViolation
from backend.net import Fetcher, FetchSettings
from backend.net.robots import RobotsRules
from backend.net.ssrf import parse_allow


def robots(text: str) -> bytes:
    return http(text, kind="text/plain")


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /private/", "/private/x", False),
        ("User-agent: *\nDisallow: /private/", "/public", True),
        ("User-agent: *\nDisallow: /\nAllow: /open", "/open/x", True),
        ("User-agent: *\nDisallow: /\n", "/", False),
        ("User-agent: NanoClaw\nDisallow: /\n\nUser-agent: *\nAllow: /", "/x", False),
        ("User-agent: GPTBot\nDisallow: /", "/x", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/a.pdf", False),
        ("User-agent: *\nDisallow:", "/x", True),
        ("\ufeffUser-agent: *\r\nDisallow: /x\r\n", "/x", False),
        ("<html>an app that answers everything with a page</html>", "/x", True),
        ("User-agent: *\nDisallow: /" + "*a" * 500 + "*b", "/" + "a" * 2000, True),
        ("\0\0\0", "/x", True),
    ],
)
def test_rules_are_kept(rules: str, path: str, allowed: bool, site: Site, local_fetcher: Fetcher) -> None:
    site.pages["/robots.txt"] = robots(rules)
    if allowed:
        assert local_fetcher.fetch(site.url + path).status == 200
        return
    with pytest.raises(FetchError, match=r"robots\.txt") as caught:
        local_fetcher.fetch(site.url + path)
    assert not caught.value.retryable
    assert site.paths() == []


def test_they_are_read_once_for_a_site(site: Site, local_fetcher: Fetcher) -> None:
    for path in ("/a", "/b", "/c"):
        local_fetcher.fetch(site.url + path)
    assert len(site.requests) == 4


def test_they_hold_for_where_a_redirect_leads(site: Site, other_site: Site, local_fetcher: Fetcher) -> None:
    site.answer = moved(other_site.url + "/private")
    other_site.pages["/robots.txt"] = robots("User-agent: *\nDisallow: /private")
    with pytest.raises(FetchError, match=r"robots\.txt"):
        local_fetcher.fetch(site.url + "/x")
    assert other_site.paths() == []


@pytest.mark.parametrize("status", ["404 Not Found", "403 Forbidden", "401 Unauthorized", "410 Gone"])
def test_none_forbids_nothing(status: str, site: Site, local_fetcher: Fetcher) -> None:
    site.pages["/robots.txt"] = http(b"Disallow: /", status=status)
    assert local_fetcher.fetch(site.url + "/x").status == 200


@pytest.mark.parametrize("status", ["500 Internal Server Error", "503 Service Unavailable", "429 Too Many Requests"])
def test_rules_that_cannot_be_known_now_mean_later(status: str, site: Site, local_fetcher: Fetcher) -> None:
    site.pages["/robots.txt"] = http(status=status)
    with pytest.raises(FetchRetryable, match=status[:3]):
        local_fetcher.fetch(site.url + "/x")
    assert site.paths() == []


def test_a_redirect_of_the_rules_is_followed(site: Site, other_site: Site, local_fetcher: Fetcher) -> None:
    site.pages["/robots.txt"] = moved(other_site.url + "/rules")
    other_site.answer = robots("User-agent: *\nDisallow: /x")
    with pytest.raises(FetchError, match=r"robots\.txt"):
        local_fetcher.fetch(site.url + "/x")


@pytest.mark.parametrize(
    "location", ["http://127.0.0.2/", "http://169.254.169.254/", "file:///etc/passwd", "/robots.txt"]
)
def test_a_redirect_of_the_rules_inward_or_round_counts_as_none(
    location: str, site: Site, local_fetcher: Fetcher
) -> None:
    site.pages["/robots.txt"] = moved(location)
    assert local_fetcher.fetch(site.url + "/x").status == 200


def test_rules_that_never_come_count_as_none(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.net.fetch.ROBOTS_SECONDS", 0.3)
    site.pages["/robots.txt"] = site.silence
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1")))
    assert fetcher.fetch(site.url + "/x").status == 200


def test_broken_rules_do_not_hide_a_refused_address() -> None:
    with pytest.raises(SsrfViolation):
        Fetcher().fetch("http://127.0.0.1/x")


@pytest.mark.parametrize(("said", "seconds"), [("2", 2.0), ("0.5", 0.5), ("-1", 0.0), ("nan", 0.0), ("soon", 0.0)])
def test_the_crawl_delay_is_a_sane_number(said: str, seconds: float) -> None:
    rules = RobotsRules.from_answer(200, f"User-agent: *\nCrawl-delay: {said}\n".encode())
    assert rules.crawl_delay == seconds
