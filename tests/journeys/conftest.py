"""The real parts of a journey: a server process, a model server, a web site, a browser."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from net.cases import web_server
from support.model_server import ModelServer
from support.server import ROOT, Server

BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A scripted model server on loopback."""
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """A web site on loopback; its address."""
    servers, base = web_server.start()
    yield base
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def start_server(tmp_path: Path, model: ModelServer, site: str) -> Iterator[Callable[..., Server]]:
    """Start NanoClaw with the scripted model; settings may be added."""
    started: list[Server] = []

    def start(**settings: str) -> Server:
        given = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_MODEL": "scripted-model",
            "NANOCLAW_FETCH_ALLOW": site.removeprefix("http://"),
            **settings,
        }
        server = Server(tmp_path / f"instance{len(started)}", **given)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()
        server.session.close()


@pytest.fixture(scope="session")
def sales_csv() -> bytes:
    """A few thousand rows: day, city, units, price."""
    rng = random.Random(20260131)
    rows = ["day,city,units,price"]
    for i in range(4000):
        city = rng.choice(["Lisbon", "Oslo", "上海", "Quito"])
        rows.append(
            f"2026-{i % 12 + 1:02d}-{i % 28 + 1:02d},{city},{rng.randint(1, 40)},{rng.randint(100, 9900) / 100:.2f}"
        )
    return ("\n".join(rows) + "\n").encode()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, headless; skipped with the reason without one, a failure in CI."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("NANOCLAW_TEST_BROWSER") or next((p for n in names if (p := shutil.which(n))), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no browser for the browser tests: apt-get install chromium")
        pytest.skip("no Chromium: apt install chromium, or name one with NANOCLAW_TEST_BROWSER")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=BROWSER_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[[Server], Any]]:
    """Open the app signed in, in a context of its own; errors of the page or console, and requests elsewhere, fail the test."""
    contexts: list[Any] = []
    troubles: list[str] = []

    def open_one(server: Server, context: Any = None) -> Any:
        if context is None:
            context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.on("console", lambda m: troubles.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("request", lambda r: None if _own(r.url, server) else troubles.append(f"request to {r.url}"))
        page.goto(server.login_link())
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert troubles == []


def _own(url: str, server: Server) -> bool:
    return url.startswith((server.url, "data:", "blob:"))


@pytest.fixture(scope="session", autouse=True)
def built_page() -> None:
    """The browser tests need the web app's build; `run.py test` makes it."""
    if not (ROOT / "frontend" / "dist" / "index.html").exists() and os.environ.get("CI"):
        pytest.fail("the web app is not built: python3 run.py test builds it")
