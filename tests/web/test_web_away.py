"""During a stream the page is reloaded, hidden, frozen, opened twice, cut off for long: in the end it shows what is stored."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.browser import Opener
from support.model_server import Turn
from support.server import Server
from test_web_conversation import idle, log, say

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

NETWORK = ("net::ERR_", "Failed to load resource")
PIECES = [f"word{n} größer 😀 字 " for n in range(90)]
WHOLE = "".join(PIECES)
Open = Callable[..., Page]


class Relay:
    """Stands between the browser and the server, as a network does: it can be cut, with all connections.

    A browser that is told to be offline keeps the connections that it has. The server answers only to its own
    name, so that name (as long as the relay's) is put into what the browser sends.
    """

    def __init__(self, server: Server) -> None:
        self.instance = server.instance
        self._server = server
        self._open: set[socket.socket] = set()
        self._cut = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._name, self._servers_name = (url.removeprefix("http://").encode() for url in (self.url, server.url))
        assert len(self._name) == len(self._servers_name)
        threading.Thread(target=self._accept, daemon=True).start()

    def login_link(self) -> str:
        """The server's, by the relay's name."""
        return self._server.login_link().replace(self._server.url, self.url)

    def cut(self) -> None:
        """From now on nothing gets through."""
        self._cut = True
        for one in list(self._open):
            _shut(one)

    def mend(self) -> None:
        """From now on connections are made again."""
        self._cut = False

    def close(self) -> None:
        self.cut()
        _shut(self._listening)
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            if self._cut:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._server.port))
            self._open |= {near, far}
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data.replace(self._name, self._servers_name))
        for one in (source, target):
            _shut(one)
        self._open.discard(source)
        source.close()


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay(web: Any) -> Iterator[Relay]:
    one = Relay(web.server)
    yield one
    one.close()


class Stream:
    """An answer in three parts: the first is there, the others are let go."""

    def __init__(self, web: Any, prompt: str) -> None:
        self._web = web
        self.conversation = web.conversation()
        self._gates = {at: threading.Event() for at in (30, 40, 50, 60)}
        self._turn = Turn(text=PIECES, gates=self._gates)
        web.answers[prompt] = [self._turn]
        self.prompt = prompt

    def begin(self, page: Page) -> None:
        """Ask, and wait for the first part."""
        say(page, self.prompt)
        expect(log(page)).to_contain_text("word29")

    def go_on_unseen(self, seconds: float = 0.0) -> None:
        """The second part comes, in so much time, and is stored."""
        for at in (30, 40, 50):
            self._turn.held.clear()
            self._gates[at].set()
            threading.Event().wait(seconds / 3)  # this is the fault: so long nobody sees it
            assert self._turn.held.wait(20)
        run_id = self._web.server.get(f"/api/conversations/{self.conversation}")["active_run_id"]
        with self._web.server.session.get(f"{self._web.server.url}/api/runs/{run_id}/events", stream=True) as events:
            assert any(b"word59" in line for line in events.iter_lines(chunk_size=None))

    def finish(self, *pages: Page) -> None:
        """The last part comes; every page shows what is stored, and so does one that is opened now."""
        for page in pages:
            expect(log(page)).to_contain_text("word59")
        self._gates[60].set()
        for page in pages:
            expect(log(page)).to_contain_text("word89")
            idle(page)
            assert shown(page).split() == WHOLE.split()
        assert self._web.messages(self.conversation)[-1]["content"] == WHOLE
        for page in pages:
            page.reload()
            expect(log(page)).to_contain_text("word89")
            assert shown(page).split() == WHOLE.split()


def shown(page: Page) -> str:
    return str(log(page).locator("article .markdown").last.inner_text())


def set_state(page: Page, state: str) -> None:
    """What the browser does with a tab that lies in the background for long: its timers and its network stand still."""
    page.context.new_cdp_session(page).send("Page.setWebLifecycleState", {"state": state})


def test_a_page_that_is_reloaded_during_a_stream(web, open_conversation: Open, open_page: Opener) -> None:
    stream = Stream(web, "Reload.")
    page = open_conversation(stream.conversation)
    stream.begin(page)
    page.reload()
    expect(log(page)).to_contain_text("word29")
    stream.go_on_unseen()
    page.reload()
    stream.finish(page)


def test_a_tab_that_is_hidden_and_frozen_during_a_stream(web, open_conversation: Open, open_page: Opener) -> None:
    open_page.tolerate(*NETWORK)
    stream = Stream(web, "Hide.")
    page = open_conversation(stream.conversation)
    stream.begin(page)
    other = page.context.new_page()
    other.goto("about:blank")
    other.bring_to_front()
    set_state(page, "frozen")
    stream.go_on_unseen()
    set_state(page, "active")
    page.bring_to_front()
    other.close()
    stream.finish(page)


def test_a_second_tab_during_a_stream(web, open_conversation: Open, open_page: Opener) -> None:
    stream = Stream(web, "Twice.")
    page = open_conversation(stream.conversation)
    stream.begin(page)
    second = open_page(web.server, f"/c/{stream.conversation}", context=page.context)
    expect(log(second)).to_contain_text("word29")
    stream.go_on_unseen()
    stream.finish(page, second)


@pytest.mark.parametrize("seconds", [6, pytest.param(60, marks=pytest.mark.full)])
def test_a_page_that_is_cut_off_for_long_during_a_stream(web, relay: Relay, open_page: Opener, seconds: int) -> None:
    open_page.tolerate(*NETWORK)
    stream = Stream(web, f"Cut off {seconds}.")
    page = open_page(relay, f"/c/{stream.conversation}")
    stream.begin(page)
    page.context.set_offline(True)
    relay.cut()
    expect(page.get_by_text("Offline")).to_be_visible()
    stream.go_on_unseen(seconds)
    assert "word59" not in shown(page)
    relay.mend()
    page.context.set_offline(False)
    stream.finish(page)
