"""web_search: results when there are any, the truth when there are none."""

import json
import logging
import os
import socket
from typing import Any, ClassVar

import pytest
from net_sites import Answer, Site, http

from backend.cancel import CancelToken
from backend.errors import FetchError, FetchRetryable, InvalidArguments
from backend.net import Fetcher
from backend.net.keyless import ENGINES, KeylessBackend, keyless_backends
from backend.net.search import EnvironmentSearch, Found, SearchChain, chain_from, default_search
from backend.net.searxng import SearxngBackend

ROW = {"title": "A <b>title</b> &amp; more", "url": "https://www.example.com/1", "content": "A <em>snippet</em>"}


def answer(results: Any = (), **more: Any) -> bytes:
    return http(json.dumps({"results": results, **more}), kind="application/json")


def ask(site: Site, reply: Answer, query: str = "harbour ferry") -> dict[str, Any]:
    site.answer = reply
    return SearchChain([SearxngBackend(site.url)]).search(query, 5)


class TestSearxng:
    def test_gives_clean_results(self, site: Site) -> None:
        result = ask(site, answer([ROW, ROW, {**ROW, "url": "https://www.example.com/2", "title": None, "content": 7}]))
        assert result["results"] == [
            {"title": "A title & more", "url": "https://www.example.com/1", "snippet": "A snippet"},
            {"title": "https://www.example.com/2", "url": "https://www.example.com/2", "snippet": ""},
        ]
        assert (result["backend"], result["tried"]) == ("searxng", [{"backend": "searxng", "outcome": "2 results"}])

    @pytest.mark.parametrize("path", ["", "/", "/search", "/search/", "/searx", "/searx/search"])
    def test_takes_the_address_with_or_without_search(self, path: str, site: Site) -> None:
        site.answer = answer([ROW])
        SearxngBackend(site.url + path).search("日本 a&b", 5)
        assert site.paths()[0].partition("?")[0].endswith("/search")
        assert "q=%E6%97%A5%E6%9C%AC+a%26b&format=json" in site.paths()[0]

    def test_says_when_there_is_truly_nothing(self, site: Site) -> None:
        result = ask(site, answer([]))
        assert result["results"] == []
        assert "found nothing" in result["note"]

    def test_gives_no_more_than_asked(self, site: Site) -> None:
        site.answer = answer([{**ROW, "url": f"https://e.example/{n}"} for n in range(50)])
        chain = SearchChain([SearxngBackend(site.url)])
        assert [len(chain.search("q", n)["results"]) for n in (1, 5, 99, 0)] == [1, 5, 20, 1]

    @pytest.mark.parametrize(
        ("reply", "said", "retryable"),
        [
            (answer([], unresponsive_engines=[["google", "CAPTCHA"], ["bing", "timeout"]]), "google (CAPTCHA)", True),
            (answer([], unresponsive_engines=["brave"]), "brave", True),
            (answer([{"url": "javascript:x"}], unresponsive_engines=[["google"]]), "google", True),
            (http("<html>Our systems have detected unusual traffic</html>"), "unusual traffic", True),
            (http("<html><title>Just a moment...</title></html>"), "robot check", True),
            (http("<html>请输入验证码</html>"), "robot check", True),
            (http("<html><form action=/search>SearXNG</form></html>"), "settings.yml", False),
            (http(status="403 Forbidden"), "search.formats", False),
            (http(status="429 Too Many Requests", extra="Retry-After: 60\r\n"), "429", True),
            (http(status="502 Bad Gateway"), "502", True),
            (http(status="404 Not Found"), "404", False),
            (http(b"", kind="application/json"), "nothing", True),
            (http("{broken", kind="application/json"), "not valid JSON", True),
            (http("[" * 100_000, kind="application/json"), "not valid JSON", True),
            (http("[1]", kind="application/json"), "not a SearXNG answer", False),
            (http('{"a": 1}', kind="application/json"), "no list of results", False),
            (http('{"error": "rate limited"}', kind="application/json"), "rate limited", True),
            (answer("none"), "no list of results", False),
            (b"", "closed the connection", True),
        ],
    )
    def test_never_calls_a_failure_no_results(self, reply: bytes, said: str, retryable: bool, site: Site) -> None:
        with pytest.raises(FetchError) as caught:
            ask(site, reply)
        assert said in caught.value.message
        assert caught.value.retryable is retryable
        assert "not mean that there are no results" in (caught.value.suggestion or "")

    def test_results_count_although_some_engines_failed(self, site: Site) -> None:
        assert len(ask(site, answer([ROW], unresponsive_engines=[["google", "CAPTCHA"]]))["results"]) == 1

    @pytest.mark.parametrize("rows", [[1, None, "x", []], [{"url": 5}], [{"title": "t"}], [{"url": "ftp://x/"}]])
    def test_rows_that_lead_nowhere_are_left_out(self, rows: list[Any], site: Site) -> None:
        assert ask(site, answer(rows))["results"] == []

    def test_lone_surrogates_and_control_characters_do_not_pass(self, site: Site) -> None:
        site.answer = http('{"results": [{"url": "http://e/\\u0000", "title": "a\\ud800\\u0000b"}]}')
        rows = SearchChain([SearxngBackend(site.url)]).search("q", 5)["results"]
        assert rows == [{"title": "ab", "url": "http://e/", "snippet": ""}]

    def test_a_redirect_of_the_endpoint_inward_is_refused(self, site: Site) -> None:
        with pytest.raises(FetchError, match="metadata"):
            ask(site, http(b"", "Location: http://169.254.169.254/\r\n", status="302 Found"))

    def test_stops_when_cancelled(self, site: Site) -> None:
        token = CancelToken()
        site.answer = lambda connection, _: (token.set(), site.silence(connection))[0]
        with pytest.raises(Exception, match="cancelled") as caught:
            SearchChain([SearxngBackend(site.url)]).search("q", 5, token)
        assert caught.value.code == "cancelled"


class Canned:
    """A backend that gives what it was made with."""

    def __init__(self, name: str, outcome: list[Found] | FetchError) -> None:
        self.name = name
        self._outcome = outcome
        self.asked = 0

    def search(self, query: str, max_results: int, cancelled: Any = None) -> list[Found]:
        self.asked += 1
        if isinstance(self._outcome, FetchError):
            raise self._outcome
        return self._outcome


ONE = Found("t", "https://e.example/", "s")


class TestChain:
    def test_asks_the_next_when_one_fails_or_has_nothing(self) -> None:
        backends = [Canned("a", FetchRetryable("captcha")), Canned("b", []), Canned("c", [ONE]), Canned("d", [ONE])]
        result = SearchChain(backends).search("q")
        assert result["backend"] == "c"
        assert [attempt["outcome"] for attempt in result["tried"]] == ["captcha", "0 results", "1 results"]
        assert backends[3].asked == 0

    def test_has_nothing_only_if_one_truly_said_so(self) -> None:
        result = SearchChain([Canned("a", FetchRetryable("busy")), Canned("b", [])]).search("q")
        assert (result["backend"], result["results"]) == ("b", [])

    def test_names_every_failure(self) -> None:
        with pytest.raises(FetchRetryable, match="a: captcha; b: HTTP 403"):
            SearchChain([Canned("a", FetchRetryable("captcha")), Canned("b", FetchError("HTTP 403"))]).search("q")
        with pytest.raises(FetchError) as caught:
            SearchChain([Canned("a", FetchError("gone"))]).search("q")
        assert not caught.value.retryable

    def test_stops_asking_where_there_is_no_network(self) -> None:
        backends = [Canned(name, FetchRetryable("no", unreachable=True)) for name in "abcd"]
        with pytest.raises(FetchRetryable, match="d: Not asked"):
            SearchChain(backends).search("q")
        assert [backend.asked for backend in backends] == [1, 1, 0, 0]

    @pytest.mark.parametrize("query", ["", "   ", "\0"])
    def test_wants_a_query(self, query: str) -> None:
        with pytest.raises(InvalidArguments):
            SearchChain([Canned("a", [ONE])]).search(query)

    def test_says_that_nothing_is_set_up(self) -> None:
        with pytest.raises(FetchError, match="set up"):
            SearchChain([]).search("q")


def engine_at(url: str) -> Any:
    """A real engine of the library, pointed at a server of ours."""
    from ddgs.base import BaseSearchEngine
    from ddgs.results import TextResult

    class Engine(BaseSearchEngine[TextResult]):
        name: ClassVar[str] = "local"
        category: ClassVar[Any] = "text"
        provider: ClassVar[str] = "local"
        search_url = url
        search_method: ClassVar[str] = "GET"
        items_xpath: ClassVar[str] = "//div[@class='r']"
        elements_xpath: ClassVar[dict[str, str]] = {
            "title": ".//h2//text()",
            "href": ".//a/@href",
            "body": ".//p//text()",
        }

        def build_payload(self, query: str, *_: Any, **__: Any) -> dict[str, Any]:
            return {"q": query}

    return Engine(timeout=5)


class TestKeyless:
    def ask(self, site: Site, reply: Answer) -> list[Found]:
        site.answer = reply
        return KeylessBackend("local", lambda: engine_at(site.url + "/q")).search("ferry", 5)

    def test_reads_the_engines_page(self, site: Site) -> None:
        body = (
            "<div class=r><h2>T</h2><a href='https://e.example/'>x</a><p>S</p></div><div class=r><h2>no link</h2></div>"
        )
        assert self.ask(site, http(body)) == [Found("T", "https://e.example/", "S")]

    def test_believes_an_engine_that_says_there_is_nothing(self, site: Site) -> None:
        assert self.ask(site, http("<p>No results found for ferry</p>")) == []

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (http("<p>Our systems have detected unusual traffic</p>"), "robot check"),
            (http("<p>Unfortunately, bots use DuckDuckGo too.</p>", status="202 Accepted"), "202"),
            (http(status="429 Too Many Requests"), "429"),
            (http(status="403 Forbidden"), "403"),
            (http("<p>a new layout</p>"), "does not say why"),
            (http(b""), "does not say why"),
            (b"", "cannot be reached"),
        ],
    )
    def test_never_takes_a_refusal_for_no_results(self, reply: bytes, said: str, site: Site) -> None:
        with pytest.raises(FetchRetryable, match=said):
            self.ask(site, reply)

    def test_is_left_behind_when_cancelled(self, site: Site) -> None:
        token = CancelToken()
        site.answer = lambda connection, _: (token.set(), site.silence(connection))[0]
        backend = KeylessBackend("local", lambda: engine_at(site.url + "/q"))
        with pytest.raises(Exception, match="cancelled"):
            backend.search("ferry", 5, token)

    def test_every_engine_is_one_that_the_library_has(self) -> None:
        from ddgs.engines import ENGINES as LIBRARY

        assert set(ENGINES) <= set(LIBRARY["text"])
        assert [backend.name for backend in keyless_backends(None)] == list(ENGINES)

    def test_nothing_is_logged_with_the_query(self, site: Site, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            self.ask(site, http("<p>No results</p>"))
        assert caplog.records == []


class TestSettings:
    def test_an_endpoint_of_ones_own_is_the_only_one_asked(self) -> None:
        chain = chain_from({"NANOCLAW_SEARCH_URL": "http://searx.internal:8888"})
        assert [backend.name for backend in chain.backends] == ["searxng"]

    @pytest.mark.parametrize("url", ["ftp://searx.internal", "http://", "http://a b/", "http://me:pw@searx.internal/"])
    def test_an_endpoint_that_is_no_address_is_a_wrong_setting(self, url: str) -> None:
        with pytest.raises(ValueError, match="NANOCLAW_SEARCH_URL"):
            chain_from({"NANOCLAW_SEARCH_URL": url})

    def test_an_endpoint_may_be_written_without_its_scheme(self, site: Site) -> None:
        site.answer = answer([ROW])
        chain = chain_from({"NANOCLAW_SEARCH_URL": f"127.0.0.1:{site.port}"})
        assert len(chain.search("q")["results"]) == 1

    def test_without_one_the_keyless_engines_are_asked(self) -> None:
        assert [backend.name for backend in chain_from({}).backends] == list(ENGINES)

    def test_the_environment_is_read_for_each_query(self, site: Site) -> None:
        environ = {"NANOCLAW_SEARCH_URL": site.url}
        search = EnvironmentSearch(environ)
        site.answer = answer([ROW])
        assert len(search.search("q")["results"]) == 1
        site.answer = answer([])
        assert search.search("q")["results"] == []

    def test_the_default_reads_the_process(self, monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
        monkeypatch.setitem(os.environ, "NANOCLAW_SEARCH_URL", site.url)
        site.answer = answer([ROW])
        assert default_search().search("q")["backend"] == "searxng"


@pytest.mark.parametrize("code", [socket.EAI_AGAIN, socket.EAI_NONAME])
def test_the_tool_tells_a_machine_without_network_so(code: int, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_server(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(code, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", no_server)
    chain = SearchChain([SearxngBackend("http://searx.example.com")])
    result = call("web_search", {"query": "ferry"}, search=chain)
    assert (result["success"], result["retryable"]) == (False, True)
    assert "internet access" in result["error"]


def test_the_tool_passes_the_number_on(call: Any, local_fetcher: Fetcher) -> None:
    backend = Canned("a", [Found(str(n), f"https://e.example/{n}", "") for n in range(9)])
    assert len(call("web_search", {"query": "q"}, search=SearchChain([backend]))["data"]["results"]) == 5
    assert (
        len(call("web_search", {"query": "q", "max_results": 2}, search=SearchChain([backend]))["data"]["results"]) == 2
    )
