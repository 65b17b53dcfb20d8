"""Hostile text everywhere a page shows what others wrote: nothing runs, nothing is asked of another site."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.browser import Opener, settled
from support.model_server import Call, Turn
from test_web_conversation import log

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

MARK = "window.hacked=(window.hacked||0)+1"
ATTACKS = [
    f"<script>{MARK}</script>",
    f"<img src=x onerror={MARK}>",
    f"<svg onload={MARK}></svg>",
    f'<iframe srcdoc="<script>parent.{MARK}</script>"></iframe>',
    f"<iframe src=\"javascript:parent.{MARK}\"></iframe>",
    f"<details open ontoggle={MARK}>x</details>",
    f"<video><source onerror={MARK}></video>",
    '<style>@import "https://evil.example/x.css";</style><link rel=stylesheet href=https://evil.example/y.css>',
    '<img src="https://evil.example/pixel.png"><base href="https://evil.example/">',
    '<meta http-equiv=refresh content="0;url=https://evil.example/">',
    '<form action="https://evil.example/"><input name=a><button>Go</button></form>',
    f"[click](javascript:{MARK}) [click](data:text/html,<script>{MARK}</script>) ![x](https://evil.example/p.png)",
    f'![x](x" onerror="{MARK}) [a]: javascript:{MARK}',
    f"<math><mtext><table><mglyph><style><img src=x onerror={MARK}></style></mglyph></table></mtext></math>",
    f"<noscript><p title=\"</noscript><img src=x onerror={MARK}>\"></noscript>",
    f"<a href=\"java&#10;script:{MARK}\">x</a> <object data=\"javascript:{MARK}\"></object>",
    f"{{{{constructor.constructor('{MARK}')()}}}} ${{{MARK}}}",
]  # fmt: skip
TEXT = "\n\n".join(ATTACKS)
HTML = f"<!doctype html><html><body onload={MARK}>{TEXT}</body></html>"
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{MARK}"><script>{MARK}</script></svg>'
NAMES = [
    f"<img src=x onerror={MARK}>.txt",
    "<svg onload=alert(1)>.md",
    "javascript:alert(1).html",
    '"onmouseover="x.csv',
]
# Text that once ran would be marked, a link that once ran by a click too.
LINKS = "all => all.map(link => link.getAttribute('href')).filter(href => !/^(https?:|mailto:|\\/|#|blob:)/.test(href))"

CLICK = """all => all.forEach(part => {
  part.dispatchEvent(new MouseEvent('mousedown', { bubbles: true, button: 0 }))
  part.click()
})"""
FILES = ["page.html", "picture.svg", "notes.md", "data.csv", NAMES[0], NAMES[1]]
PAGES = [
    "/", "/projects", "/p/{project}", "/p/{project}/runs", "/p/{project}/runs/{run}", "/search?q=evil", "/usage", "/tools",
]  # fmt: skip


def unharmed(page: Page) -> None:
    """No attack ran, and no link would run one."""
    assert page.evaluate("window.hacked") is None
    assert page.locator("a[href]").evaluate_all(LINKS) == []
    assert page.locator("main iframe, main object, main embed, main form[action], main base").count() == 0


@pytest.fixture(scope="module")
def poisoned(web) -> dict[str, str]:
    """A project whose name, files, conversations, messages and tool results are attacks."""
    project = web.project(ATTACKS[1][:80])
    upload = f"/api/projects/{project}/files/upload"
    for name, content in {
        "page.html": HTML,
        "picture.svg": SVG,
        "notes.md": TEXT,
        "data.csv": f"a,b\n{ATTACKS[1]},2\n",
    }.items():
        web.server.post_file(upload, name, content.encode())
    for name in NAMES:
        web.server.call("PUT", f"/api/projects/{project}/files/content", params={"path": name}, data=b"text")
    data = json.dumps({"title": ATTACKS[0], "body": TEXT})
    turns = [
        Turn(
            reasoning=TEXT,
            text=TEXT,
            tool_calls=[
                Call("file_read", {"path": "page.html"}),
                Call("file_list", {"path": ""}),
                Call("json_process", {"json_string": data, "operation": "format"}),
                Call("text_process", {"text": TEXT, "operation": "count"}),
                Call("execute_python", {"code": f"print({TEXT!r})"}),
                Call("file_write", {"path": "written.md", "content": TEXT}),
                Call("file_read", {"path": ATTACKS[0]}),
                Call("calculator", {"expression": ATTACKS[1]}),
                Call(ATTACKS[1][:60].replace("<", "").replace(">", "").replace(" ", "_").replace("=", "_"), {}),
            ],
        ),
        Turn(text=TEXT),
    ]
    conversation = web.conversation(project)
    run = web.ask(conversation, TEXT, turns)
    web.server.call("PATCH", f"/api/conversations/{conversation}", json={"title": ATTACKS[2]})
    return {"project": project, "conversation": conversation, "run": run}


def test_messages_and_tool_results(web, poisoned: dict[str, str], open_page: Opener) -> None:
    # The address follows where the conversation lives.
    page = open_page(web.server, f"/c/{poisoned['conversation']}?x=1")
    expect(page).to_have_url(f"{web.server.url}/p/{poisoned['project']}/c/{poisoned['conversation']}?x=1")
    answer = log(page).get_by_role("article", name="Answer")
    expect(answer).to_contain_text("evil.example")
    answer.locator(".fold, .reasoning .head").evaluate_all(CLICK)
    answer.locator(".call > .head").evaluate_all(CLICK)
    for tab in ("Result", "Arguments", "Raw"):
        expect(answer.get_by_role("tab", name=tab)).not_to_have_count(0)
        answer.get_by_role("tab", name=tab).evaluate_all(CLICK)
        settled(page)
        unharmed(page)
    page.get_by_role("button", name="Toggle side panel").click()
    panel = page.get_by_role("complementary")
    expect(panel).to_contain_text("page.html")
    unharmed(page)
    # A file that the server refuses says so where it was dropped.
    open_page.tolerate("409")
    dropped = page.evaluate_handle(
        "() => { const d = new DataTransfer(); d.items.add(new File(['x'], 'n'.repeat(300))); return d }"
    )
    page.dispatch_event("#side-panel .body", "drop", {"dataTransfer": dropped})
    expect(panel.get_by_role("alert")).not_to_be_empty()


def test_previews_of_files(web, poisoned: dict[str, str], open_page: Opener) -> None:
    open_page.tolerate("Refused to", "violates the following Content Security Policy")
    page = open_page(web.server)
    for name in FILES:
        page.goto(f"{web.server.url}/p/{poisoned['project']}/files?file={quote(name)}")
        expect(page.get_by_role("main").get_by_text(name, exact=True).first).to_be_visible()
        settled(page)
        unharmed(page)


def test_names_and_titles_on_every_page(web, poisoned: dict[str, str], open_page: Opener) -> None:
    page = open_page(web.server)
    for path in PAGES:
        page.goto(web.server.url + path.format(**poisoned))
        expect(page.get_by_role("navigation", name="Navigation")).to_contain_text("svg onload")
        settled(page)
        unharmed(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("hacked")
    expect(page.get_by_role("dialog")).to_contain_text("onerror")
    unharmed(page)


def test_an_attack_while_it_streams(web, open_conversation: Callable[..., Page]) -> None:
    pieces: list[Any] = [TEXT[i : i + 7] for i in range(0, len(TEXT), 7)]
    conversation = web.conversation()
    web.answers["Stream it."] = [Turn(text=pieces, delay=0.001)]
    page = open_conversation(conversation)
    page.get_by_role("textbox", name="Message").fill("Stream it.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    expect(log(page)).to_contain_text("constructor.constructor")
    unharmed(page)
    assert web.messages(conversation)[-1]["content"] == TEXT
