"""For everyone: axe on every page in both themes and languages, the keyboard alone, narrow and wide windows."""

import os
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import Opener, settled, wait_until
from support.model_server import Call, Turn
from support.server import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """([tags, without]) => axe.run(document, { runOnly: tags, resultTypes: ['violations'] }).then(result =>
  result.violations.filter(found => found.id !== without).map(found => `${found.id}: ${found.help} ${found.nodes.slice(0, 4).map(node => node.html.slice(0, 160)).join(' | ')}`))"""
WIDTHS = [320, 390, 768, 1024, 1440, 1920]
TOO_WIDE = """[...document.querySelectorAll('html, body, #main')].filter(part => part.scrollWidth > part.clientWidth + 1)
  .map(part => `${part.tagName} ${part.scrollWidth} > ${part.clientWidth}`)"""
MARKDOWN = """## Sums

| City | Units | Price | Share | Remarks |
|---|---:|---:|---:|---|
| Lisbon | 21,033 | 4.20 | 25 % | a rather long remark that no narrow screen has room for |

```python
print("a line of code that is much longer than any narrow window could ever show without scrolling", 1 + 1)
```

https://example.org/a/very/long/address/without/any/space/in/it/that/must/break/somewhere/or/else?x=1234567890
"""


@pytest.fixture(scope="module")
def pages(web) -> dict[str, str]:
    """Every page with something on it: name -> address."""
    project = web.project("Sales 2026")
    web.server.post_file(f"/api/projects/{project}/files/upload", "sales.csv", b"day,city\n1,Lisbon\n")
    conversation = web.conversation(project)
    turns = [
        Turn(
            reasoning="First I look.",
            text="I look at the file.",
            tool_calls=[
                Call("file_read", {"path": "sales.csv"}),
                Call("calculator", {"expression": "2+2"}),
                Call("file_read", {"path": "missing.csv"}),
                Call("file_write", {"path": "report.md", "content": MARKDOWN}),
            ],
        ),
        Turn(text=MARKDOWN),
    ]
    run = web.ask(conversation, "Write a report.", turns)
    return {
        "home": "/",
        "conversation": f"/p/{project}/c/{conversation}",
        "new conversation": "/c/new",
        "temporary conversation": "/c/new?temporary=1",
        "conversations": "/conversations",
        "bin": "/bin",
        "projects": "/projects",
        "project": f"/p/{project}",
        "files": f"/p/{project}/files?file=report.md",
        "runs": f"/p/{project}/runs",
        "trace": f"/p/{project}/runs/{run}",
        "tools": "/tools",
        "usage": "/usage",
        "settings": "/settings",
        "search": "/search?q=report",
        "not found": "/nowhere",
    }


def axe(page: Page, without: str = "none") -> list[str]:
    """What axe finds wrong with the page as it stands, once colours have stopped changing; one rule may be left out."""
    settled(page)
    wait_until(
        page, "document.getAnimations().every(it => !(it instanceof CSSTransition) || it.playState !== 'running')"
    )
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(RUN, [TAGS, without])
    return found


@pytest.mark.skipif(
    not AXE.exists() and not os.environ.get("CI"), reason="axe-core is not installed: npm ci in frontend/"
)
@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_axe_finds_nothing_on_any_page(web, pages: dict[str, str], open_page: Opener, language: str) -> None:
    open_page.tolerate("404")
    page = open_page(web.server, locale=language, reduced_motion="reduce")
    found: dict[str, list[str]] = {}
    for name, path in pages.items():
        page.goto(web.server.url + path)
        settled(page)
        expect(page.locator("html")).to_have_attribute("lang", language)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            wait_until(page, f"document.documentElement.dataset.theme === '{theme}'")
            for wrong in axe(page):
                found.setdefault(wrong, []).append(f"{name} {theme}")
    assert found == {}, "\n".join(f"{wrong}: {where}" for wrong, where in found.items())


@pytest.mark.skipif(
    not AXE.exists() and not os.environ.get("CI"), reason="axe-core is not installed: npm ci in frontend/"
)
def test_axe_finds_nothing_in_what_opens(web, pages: dict[str, str], open_page: Opener) -> None:
    page = open_page(web.server, pages["conversation"], reduced_motion="reduce")
    settled(page)
    found: dict[str, Any] = {}
    page.locator(".call > .head").first.click()
    page.get_by_role("button", name="Toggle side panel").click()
    expect(page.get_by_role("complementary")).to_contain_text("report.md")
    found["cards and panel"] = axe(page)
    for name, key in {"palette": "Control+k", "help": "Control+/"}.items():
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_visible()
        found[name] = axe(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Actions for").first.click()
    found["menu"] = axe(page, without="region")  # an open menu stands at the end of the document, as a dialog does
    page.keyboard.press("Escape")
    page.get_by_role("button", name="New project").first.click()
    found["dialog"] = axe(page)
    assert [f"{name}: {line}" for name, wrong in found.items() for line in wrong] == []


def test_no_page_is_wider_than_its_window(web, pages: dict[str, str], open_page: Opener) -> None:
    open_page.tolerate("404")
    page = open_page(web.server)
    found: dict[str, Any] = {}
    for name, path in pages.items():
        page.goto(web.server.url + path)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            settled(page)
            if wrong := page.evaluate(TOO_WIDE):
                found[f"{name} at {width}"] = wrong
    assert found == {}, "\n".join(f"{wrong}: {where}" for wrong, where in found.items())


def test_text_of_twice_the_size_fits_too(web, pages: dict[str, str], open_page: Opener) -> None:
    page = open_page(web.server, pages["conversation"], viewport={"width": 640, "height": 450}, device_scale_factor=2)
    settled(page)
    assert page.evaluate(TOO_WIDE) == []
    box = page.get_by_role("textbox", name="Message").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 450


def test_the_keyboard_is_enough(web, pages: dict[str, str], open_page: Opener) -> None:
    """A conversation is begun, a tool card opened, a run stopped, pages found, a conversation deleted and brought back."""
    page = open_page(web.server)
    keys = page.keyboard
    expect(page.get_by_role("main")).to_be_visible()
    keys.press("Control+Shift+O")
    field = page.get_by_role("textbox", name="Message")
    expect(field).to_be_focused()
    web.answers["Compute."] = [
        Turn(text="I compute.", tool_calls=[Call("calculator", {"expression": "6*7"})]),
        Turn(text="It is 42."),
    ]
    keys.type("Compute.")
    keys.press("Enter")
    log = page.get_by_role("log", name="Messages")
    expect(log).to_contain_text("It is 42.")
    card = log.get_by_role("group", name="Calculator").get_by_role("button").first
    tab_to(page, card, "Shift+Tab")
    keys.press("Enter")
    expect(card).to_have_attribute("aria-expanded", "true")

    keys.press("/")
    expect(field).to_be_focused()
    web.answers["Go on."] = [Turn(text=["One.", *(" More." for _ in range(2000))], delay=0.02)]
    keys.type("Go on.")
    keys.press("Enter")
    expect(log).to_contain_text("One.")
    keys.press("Escape")
    keys.press("Escape")
    expect(page.get_by_text("Stopped.")).to_be_visible()

    keys.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    keys.type("tools")
    expect(page.get_by_role("option").first).to_contain_text("Tools")
    keys.press("Enter")
    page.wait_for_url("**/tools")
    tab_to(page, page.get_by_role("main").get_by_role("button").first)
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    sidebar = page.get_by_role("navigation", name="Navigation")
    mine = sidebar.get_by_role("link", name="Compute.")
    tab_to(page, sidebar.get_by_role("button", name="Actions for Compute."), "Shift+Tab")
    keys.press("Enter")
    expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    keys.press("End")
    keys.press("Enter")
    expect(mine).to_have_count(0)
    expect(page.locator("body")).not_to_be_focused()
    keys.press("z")
    expect(mine).to_be_visible()


def tab_to(page: Page, target: Locator, key: str = "Tab") -> None:
    """Press Tab until the target has the focus; it must be reachable within a hundred presses, and seen then."""
    for _ in range(100):
        page.keyboard.press(key)
        if target.evaluate("part => part === document.activeElement"):
            expect(target).to_be_in_viewport()
            return
    raise AssertionError(f"not reached by {key}: {target}")
