"""The web tools as the executor and the model see them."""

import json
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest
from net_sites import Site, http

from backend.cancel import CancelToken
from backend.net import Fetcher, FetchSettings
from backend.net.search import Found, SearchChain
from backend.net.ssrf import parse_allow
from backend.tools import ToolExecutor, ToolRegistry, locator
from backend.tools.builtin import crawler

DEFINITIONS = [tool.definition for tool in (crawler.web_search, crawler.fetch_page, crawler.crawl_batch)]


class OneResult:
    name = "canned"

    def search(self, query: str, max_results: int, cancelled: Any = None) -> list[Found]:
        return [Found("t", "https://e.example/", "s")]


@pytest.fixture
def executor(local_fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> ToolExecutor:
    services = {"fetcher": local_fetcher, "search": SearchChain([OneResult()])}
    monkeypatch.setattr(locator, "_services", services)
    return ToolExecutor(registry=ToolRegistry(DEFINITIONS))


def call(executor: ToolExecutor, name: str, context: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    request = {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return executor.process_tool_calls([request], context or {})[0]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_the_web_tools_only_read_and_go_outside(definition: Any) -> None:
    assert (definition.read_only, definition.egress, definition.risk) == (True, True, "low")
    assert definition.scopes == {"network"}
    assert "cancelled" not in json.dumps(definition.to_openai_schema())
    assert definition.timeout == (75 if definition.name == "crawl_batch" else 60)


def test_loading_the_tools_loads_no_parser() -> None:
    heavy = ["trafilatura", "lxml", "bs4", "ddgs", "primp", "pypdf", "charset_normalizer", "protego", "idna"]
    code = f"import sys, backend.tools.builtin.crawler; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_card_has_a_line_for_each(site: Site, executor: ToolExecutor) -> None:
    url = site.url + "/x"
    assert call(executor, "web_search", query="ferry")["summary"] == "1 results for 'ferry' (canned)"
    assert call(executor, "fetch_page", url=url)["summary"] == "T: 11 characters"
    assert "0 links" in call(executor, "fetch_page", url=url, extract_type="links")["summary"]
    assert "0 headings" in call(executor, "fetch_page", url=url, extract_type="structured")["summary"]
    assert call(executor, "crawl_batch", urls=[url])["summary"] == "1 of 1 pages read"


def test_a_page_is_cached_and_an_error_is_not(site: Site, executor: ToolExecutor) -> None:
    first, second = (call(executor, "fetch_page", url=site.url + "/x") for _ in range(2))
    assert (first["cached"], second["cached"]) == (False, True)
    site.answer = http(status="500 Oops")
    for _ in range(2):
        assert call(executor, "fetch_page", url=site.url + "/y")["success"] is False
    assert site.paths() == ["/x", "/y", "/y"]


def test_a_refused_address_is_told_as_a_boundary(executor: ToolExecutor) -> None:
    result = json.loads(call(executor, "fetch_page", url="http://10.0.0.1/")["result"])
    assert (result["code"], result["retryable"], result["success"]) == ("address_refused", False, False)


def test_a_cancelled_run_ends_the_tool_at_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, executor: ToolExecutor
) -> None:
    patient = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), total_seconds=30, read_seconds=30))
    locator.register_service("fetcher", patient)
    token = CancelToken()
    site.answer = site.silence
    threading.Thread(target=lambda: site.touched.wait(10) and token.set(), daemon=True).start()
    result = call(executor, "fetch_page", {"cancelled": token}, url=site.url + "/x")
    assert result["status"] == "cancelled"
    assert site.closed.wait(5)


def test_the_model_cannot_name_a_cancel_token_of_its_own(site: Site, executor: ToolExecutor) -> None:
    assert call(executor, "fetch_page", url=site.url + "/x", cancelled="yes")["status"] in ("success", "error")


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 on this machine")
def test_an_ipv6_address_is_reached_if_allowed() -> None:
    try:
        door = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("IPv6 is switched off on this machine")

    def answer() -> None:
        connection, _ = door.accept()
        with connection:
            asked.append(connection.recv(65536))
            connection.sendall(http())

    asked: list[bytes] = []
    with door:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        port = door.getsockname()[1]
        fetcher = Fetcher(FetchSettings(allow=parse_allow(f"[::1]:{port}"), obey_robots=False))
        assert fetcher.fetch(f"http://[0:0:0:0:0:0:0:1]:{port}/x").final_url == f"http://[::1]:{port}/x"
        thread.join(5)
    assert f"\r\nHost: [::1]:{port}\r\n".encode() in asked[0]


class TestWithoutAnApplication:
    """In a notebook or a test nobody has offered services: they are made from the environment."""

    @pytest.fixture(autouse=True)
    def nothing_offered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(locator, "_services", {})

    def test_pages_and_searches_work(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NANOCLAW_FETCH_ALLOW", f"127.0.0.1:{site.port}")
        monkeypatch.setenv("NANOCLAW_SEARCH_URL", site.url)
        registry = ToolRegistry(DEFINITIONS)
        assert registry.execute("fetch_page", {"url": site.url + "/x"})["data"]["text"] == "hello world"
        site.answer = http('{"results": []}')
        assert registry.execute("web_search", {"query": "q"})["data"]["results"] == []

    def test_a_wrong_setting_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NANOCLAW_FETCH_ALLOW", "10.0.0.0/99")
        result = ToolRegistry(DEFINITIONS).execute("fetch_page", {"url": "http://a.example/"})
        assert result["code"] == "tool_unavailable"
        assert "10.0.0.0/99" in result["error"]
