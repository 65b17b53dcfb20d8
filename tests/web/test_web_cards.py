"""The cards of tool calls: what each tool's viewer shows of its result, and links that open one."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import Opener
from support.model_server import Call, Turn
from test_web_conversation import composer, in_project, log, place

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

PAGE = """<!doctype html><html><head><title>Ferries</title></head>
<body><main><h1>Ferries</h1><p>The ferry leaves at 07:40 from the north pier, every day but Sunday.</p>
<p>See also <a href="/prices">the prices</a>.</p></main></body></html>"""
FOUND = [{"title": "Ferry times", "url": "https://ferries.example/times", "content": "All departures."}]

SHOWN = {
    ("Write file", 0): ["src/app.py", "+one = 1", "+two = 2"],
    ("Edit file", 0): ["src/app.py", "−two = 2", "+two = 3"],
    ("Read file", 0): ["src/app.py, lines 2–2 of 2", "two = 3"],
    ("List files", 0): ["2 items in the project folder", "src/app.py", "16 B"],
    ("Python", 0): ["6 * 7", "Outputto the output", "Error outputto the errors", "Value42", "Ended normally"],
    ("Python", 1): ["division by zero", "Ended with ZeroDivisionError"],
    ("Web search", 0): ["Ferry times", "ferries.example", "All departures."],
    ("Read page", 0): ["Ferries", "/ferries", "The ferry leaves at 07:40"],
    ("Read pages", 0): [
        "1 of 2 pages read",
        "/one",
        "Read",
        "The ferry leaves",
        "/gone",
        "Failed",
        "could not be read",
    ],
    ("Calculator", 0): ["(2 + 3) * 4", "20"],
    ("JSON", 0): ['Before{"b":1,"a":[2]}', 'After format{  "b": 1'],
    ("Text", 0): ["Beforetwo words", "After upperTWO WORDS"],
    ("Weather", 0): ["Oslo", "simulated", "°C"],
    ("Helpers", 0): ["north", "Done", "1 round", "It is cold.", "south", "Failed", "scripted status 400"],
}


class Site(BaseHTTPRequestHandler):
    """A page, and the answers of a search engine."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        search = self.path.startswith("/search")
        body = json.dumps({"results": FOUND}) if search else PAGE
        self.send_response(404 if self.path == "/gone" or "robots" in self.path else 200)
        self.send_header("Content-Type", "application/json" if search else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of a small web site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def more_settings(site: str) -> dict[str, str]:
    """The server may fetch from the site, and searches there."""
    return {"NANOCLAW_FETCH_ALLOW": site.removeprefix("http://"), "NANOCLAW_SEARCH_URL": site}


@pytest.fixture(scope="module")
def worked(web, site: str) -> tuple[str, str]:
    """A project and a conversation in which every tool with a viewer was called."""
    project, conversation = place(web, "Cards")
    python = 'import sys\nprint("to the output")\nprint("to the errors", file=sys.stderr)\n6 * 7'
    web.answers["Look north."] = [Turn(text="It is **cold**.")]
    web.answers["Look south."] = [Turn(status=400)]
    tasks = [{"name": name, "instruction": f"Look {name}."} for name in ("north", "south")]
    turns = [
        Turn(tool_calls=[Call("file_write", {"path": "src/app.py", "content": "one = 1\ntwo = 2\n"})]),
        Turn(tool_calls=[Call("file_edit", {"path": "src/app.py", "old_text": "two = 2", "new_text": "two = 3"})]),
        Turn(
            tool_calls=[
                Call("file_read", {"path": "src/app.py", "offset": 2}),
                Call("file_list", {"path": "", "recursive": True}),
                Call("execute_python", {"code": python}),
                Call("execute_python", {"code": "1 / 0"}),
                Call("web_search", {"query": "ferry"}),
                Call("fetch_page", {"url": f"{site}/ferries"}),
                Call("crawl_batch", {"urls": [f"{site}/one", f"{site}/gone"]}),
                Call("calculator", {"expression": "(2 + 3) * 4"}),
                Call("json_process", {"json_string": '{"b":1,"a":[2]}', "operation": "format"}),
                Call("text_process", {"text": "two words", "operation": "upper"}),
                Call("get_weather", {"city": "Oslo"}),
            ]
        ),
        Turn(tool_calls=[Call("multi_agent", {"tasks": tasks})]),
        Turn(text="All is done."),
    ]
    web.ask(conversation, "Use them all.", turns)
    return project, conversation


def opened(page: Page, name: str, number: int = 0) -> Locator:
    """A card, unfolded, by its tool's title."""
    card = log(page).get_by_role("group", name=name, exact=True).nth(number)
    card.locator("> .head").click()
    expect(card.get_by_role("tabpanel")).to_be_visible()
    return card


def test_each_tool_shows_its_result_as_it_is_best_read(web, worked: tuple[str, str], open_page: Opener) -> None:
    page = in_project(open_page(web.server), web, *worked)
    fold = log(page).get_by_role("button", name="14 tool calls")
    fold.click()
    expect(log(page).get_by_role("group", name="Helpers", exact=True)).to_be_attached()
    # What was unfolded at the end of the page stays where it was pressed.
    expect(fold).to_be_in_viewport()
    expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
    for (name, number), parts in SHOWN.items():
        card = opened(page, name, number)
        for part in parts:
            expect(card).to_contain_text(part)
        card.locator("> .head").click()
    search = opened(page, "Web search").get_by_role("link", name="Ferry times")
    expect(search).to_have_attribute("href", "https://ferries.example/times")
    opened(page, "Edit file").get_by_role("button", name="Open src/app.py").click()
    panel = page.get_by_role("complementary")
    expect(panel).to_contain_text("two = 3")


def test_a_link_opens_one_call(web, worked: tuple[str, str], open_page: Opener) -> None:
    page = in_project(open_page(web.server, permissions=["clipboard-read", "clipboard-write"]), web, *worked)
    log(page).get_by_role("button", name="14 tool calls").click()
    opened(page, "Calculator").get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    card = log(page).get_by_role("group", name="Calculator", exact=True)
    expect(card.get_by_role("tabpanel")).to_contain_text("(2 + 3) * 4 = 20")
    expect(card.locator("> .head")).to_be_focused()
    expect(card).to_be_in_viewport()
    expect(log(page).get_by_role("tabpanel")).to_have_count(1)
    # What was asked for is over with the next message.
    composer(page).fill("Thanks.")
    composer(page).press("Enter")
    expect(log(page)).to_contain_text("Well.")
    assert "call=" not in page.url
