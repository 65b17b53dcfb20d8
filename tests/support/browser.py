"""A real browser for tests: pages signed in to a server; errors of the page and requests elsewhere fail the test."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .server import ROOT, Server

FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_MS = 30_000
SIZE = {"width": 1440, "height": 900}


def find_browser() -> str | None:
    """The path of a Chromium: the one the environment names, else one on PATH."""
    return os.environ.get("NANOCLAW_TEST_BROWSER") or next((p for n in NAMES if (p := shutil.which(n))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, headless; skipped with the reason without one, a failure in CI."""
    if not (ROOT / "frontend" / "dist" / "index.html").exists() and os.environ.get("CI"):
        pytest.fail("the web app is not built: python3 run.py test builds it")
    path = find_browser()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no browser for the browser tests: apt-get install chromium")
        pytest.skip("no Chromium: apt install chromium, or name one with NANOCLAW_TEST_BROWSER")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


class Opener:
    """`open_page(server)` gives a page of the app, signed in, in a context of its own.

    What the page does wrong is collected in `troubles`; a test that cuts the network names what must then
    appear in the console with `tolerate`.
    """

    def __init__(self, browser: Any, sessions: dict[Path, Any]) -> None:
        self.troubles: list[str] = []
        self._browser = browser
        self._sessions = sessions
        self._contexts: list[Any] = []
        self._tolerated: list[str] = []

    def __call__(self, server: Server, path: str = "/", context: Any = None, **options: Any) -> Any:
        """Open `path`; `options` are those of Playwright's `new_context`. The first page of a server uses its sign-in link."""
        session = self._sessions.get(server.instance)
        if context is None:
            context = self._browser.new_context(
                **{"viewport": SIZE, "locale": "en-GB", "storage_state": session, **options}
            )
            self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        self.watch(page, server)
        if session is None:
            page.goto(server.login_link())
            self._sessions[server.instance] = context.storage_state()
            if path == "/":
                return page
        page.goto(server.url + path)
        return page

    def watch(self, page: Any, server: Server) -> None:
        """Collect errors of the page or its console, and requests to anything but the server."""
        page.on("pageerror", lambda error: self._note(f"page error: {error}"))
        page.on("console", lambda m: self._note(f"console: {m.text}") if m.type == "error" else None)
        page.on("request", lambda r: None if _own(r.url, server) else self._note(f"request to {r.url}"))

    def tolerate(self, *parts: str) -> None:
        """Messages with one of these texts are no trouble from now on."""
        self._tolerated += parts

    def close(self) -> None:
        """Close what was opened."""
        for context in self._contexts:
            context.close()

    def _note(self, trouble: str) -> None:
        if not any(part in trouble for part in self._tolerated):
            self.troubles.append(trouble)


def wait_until(page: Any, expression: str) -> None:
    """Wait until a JavaScript expression is true, looked at once a frame (the CSP forbids `wait_for_function`)."""
    look = f"() => new Promise(done => {{ const look = () => ({expression}) ? done() : requestAnimationFrame(look); look() }})"
    page.evaluate(look)


def settled(page: Any) -> None:
    """Wait until a page shows what it has: nothing is loading any more, and two frames have passed."""
    page.get_by_role("main").wait_for()
    wait_until(page, "!document.querySelector('main .skeleton, main [aria-busy=true], main .spinner')")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")


def _own(url: str, server: Server) -> bool:
    return url.startswith((server.url, "data:", "blob:"))


@pytest.fixture(scope="session")
def browser_sessions() -> dict[Path, Any]:
    """The cookies of each server that was signed in to."""
    return {}


@pytest.fixture
def open_page(browser: Any, browser_sessions: dict[Path, Any]) -> Iterator[Opener]:
    """Opens pages; at the end of the test nothing may have gone wrong in them."""
    opener = Opener(browser, browser_sessions)
    yield opener
    opener.close()
    if opener.troubles:
        pytest.fail("the page had troubles:\n" + "\n".join(opener.troubles))
