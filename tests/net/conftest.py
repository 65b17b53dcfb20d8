"""The web server of the cases, and the tools as the executor runs them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).with_name("cases")))

import web_server
from net_sites import Site

from backend.cancel import CancelToken
from backend.net import Fetcher, FetchSettings
from backend.net.ssrf import parse_allow
from backend.tools import ToolExecutor, ToolRegistry, locator
from backend.tools.builtin import crawler

SHORT_SECONDS = 2.0
TOOLS = [tool.definition for tool in (crawler.web_search, crawler.fetch_page, crawler.crawl_batch)]
Call = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def web() -> Iterator[str]:
    """The address of the running case server."""
    servers, base = web_server.start()
    yield base
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def canary(web: str) -> Iterator[list[str]]:
    """Requests that reached what must not be reached; the test fails if there is any."""
    web_server.STATE["canary"].clear()
    yield web_server.STATE["canary"]
    assert web_server.STATE["canary"] == []


@pytest.fixture
def local_fetcher() -> Fetcher:
    """A fetcher that may reach 127.0.0.1 and gives up soon."""
    return Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), total_seconds=SHORT_SECONDS))


@pytest.fixture
def call(local_fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call(tool, arguments, **services)` -> the tool's result dict."""
    monkeypatch.setattr(locator, "_services", {"fetcher": local_fetcher})
    executor = ToolExecutor(registry=ToolRegistry(TOOLS), enable_cache=False, dedup_history=False)

    def run(
        name: str, arguments: dict[str, Any], cancelled: CancelToken | None = None, **services: Any
    ) -> dict[str, Any]:
        for key, service in services.items():
            locator.register_service(key, service)
        return executor.execute_one(name, arguments, {"cancelled": cancelled} if cancelled else {})

    return run


@pytest.fixture
def site() -> Iterator[Site]:
    """A server of the test's own."""
    server = Site()
    yield server
    server.stop()


@pytest.fixture
def other_site() -> Iterator[Site]:
    """A second server, on another port."""
    server = Site()
    yield server
    server.stop()
