"""The main job as a person does it: in a real browser, from the sign-in link to the report in the panel."""

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.model_server import Call, ModelServer, Turn
from support.server import Server
from test_main_job import ANSWER, REPORT, script, stored_text

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

FIRST_HALF = "The report is in report.md"
WHOLE = "The report is in report.md: 4,000 rows; 7 × 6 = 42."


def make_project(page: Page, name: str) -> None:
    page.get_by_role("button", name="New project").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").first.fill(name)
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("link", name=name).first).to_be_visible()


def begin_conversation(page: Page, project: str) -> None:
    page.get_by_role("navigation", name="Navigation").get_by_role(
        "button", name=f"New conversation in {project}"
    ).click()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()


def say(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Message")
    box.fill(text)
    box.press("Enter")


def conversation_id(page: Page) -> str:
    page.wait_for_url(re.compile(r"/c/[0-9a-f-]{36}"))
    return page.url.rsplit("/", 1)[1].split("?")[0]


def test_from_the_link_to_the_report(
    start_server: Callable[..., Server],
    model: ModelServer,
    site: str,
    sales_csv: bytes,
    open_page: Callable[..., Page],
) -> None:
    server, gate = start_server(), threading.Event()
    turns = script(model, site, gate)
    page = open_page(server)
    make_project(page, "Sales")
    begin_conversation(page, "Sales")
    upload(page, sales_csv)
    say(page, "Please write a report.")
    assert turns[-1].held.wait(60)

    log = page.get_by_role("log", name="Messages")
    answer = log.get_by_role("article", name="Answer")
    expect(answer).to_contain_text("I read the page.")
    expect(answer).to_contain_text(FIRST_HALF)
    conversation = conversation_id(page)

    # In the middle of the answer: the page is loaded anew, and a second tab is opened.
    page.reload()
    second = page.context.new_page()
    second.goto(page.url)
    for tab in (page, second):
        expect(tab.get_by_role("log").get_by_role("article", name="Answer")).to_contain_text(FIRST_HALF)
    gate.set()
    for tab in (page, second):
        answer = tab.get_by_role("log").get_by_role("article", name="Answer")
        expect(answer).to_contain_text(WHOLE)
        expect(answer.get_by_role("strong")).to_have_text("report.md")
        expect(tab.get_by_role("button", name="Send", exact=True)).to_be_visible()
    assert stored_text(server, conversation) == "".join(ANSWER)

    check_cards(page)
    check_panel(page)
    assert model.violations == []


def upload(page: Page, csv: bytes) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files({"name": "sales.csv", "mimeType": "text/csv", "buffer": csv})
    expect(page.get_by_text("sales.csv").first).to_be_visible()


def check_cards(page: Page) -> None:
    """Every call has its card, in the order they happened; a card opens and shows arguments and result."""
    answer = page.get_by_role("log").get_by_role("article", name="Answer")
    for fold in answer.get_by_role("button", name=re.compile(r"\d tool calls")).all():
        if fold.get_attribute("aria-expanded") != "true":
            fold.click()
    names = ["Read page", "Read file", "Read file", "Python", "Calculator", "Write file"]
    cards = answer.locator(",".join(f"[aria-label='{name}']" for name in dict.fromkeys(names)))
    assert cards.evaluate_all("all => all.map(card => card.getAttribute('aria-label'))") == names
    calculator = cards.nth(names.index("Calculator"))
    calculator.get_by_role("button").first.click()
    expect(calculator).to_contain_text("42")


def check_panel(page: Page) -> None:
    """The file that the agent made is seen beside the chat."""
    panel = page.get_by_role("complementary")
    if not panel.is_visible():
        page.get_by_role("button", name="Toggle side panel").click()
    expect(panel).to_contain_text("report.md")
    panel.get_by_role("button", name="report.md").first.click()
    expect(panel).to_contain_text("The ferry leaves at 07:40")
    assert "07:40" in REPORT


def test_stop_keeps_what_was_said(
    start_server: Callable[..., Server], model: ModelServer, open_page: Callable[..., Page]
) -> None:
    server, gate = start_server(), threading.Event()
    turn = Turn(text=["The first half of an answer ", "that is stopped."], gates={1: gate})
    model.script("scripted-model", [turn])
    page = open_page(server)
    page.get_by_role("button", name="New conversation").first.click()
    say(page, "Talk for long.")
    answer = page.get_by_role("log").get_by_role("article", name="Answer")
    expect(answer).to_contain_text("The first half")
    page.get_by_role("button", name="Stop").first.click()
    assert turn.client_left.wait(10)
    gate.set()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    expect(answer).to_contain_text("The first half")
    expect(answer).not_to_contain_text("that is stopped")


def test_search_rename_delete_and_undo(
    start_server: Callable[..., Server], model: ModelServer, open_page: Callable[..., Page]
) -> None:
    server = start_server()
    model.script("scripted-model", [Turn(text="上海的天气很好。")])
    page = open_page(server)
    page.get_by_role("button", name="New conversation").first.click()
    say(page, "上海天气怎么样？")
    expect(page.get_by_role("log")).to_contain_text("天气很好")
    conversation_id(page)
    sidebar = page.get_by_role("navigation", name="Navigation")
    sidebar.get_by_role("button", name=re.compile("^Actions for")).first.click()
    page.get_by_role("menuitem", name="Rename").click()
    field = sidebar.get_by_role("textbox")
    field.fill("Weather talk")
    field.press("Enter")
    expect(sidebar.get_by_role("link", name="Weather talk")).to_be_visible()

    page.goto(f"{server.url}/search?q=天气")
    expect(page.get_by_role("main")).to_contain_text("上海")

    page.goto(server.url)
    sidebar.get_by_role("button", name="Actions for Weather talk").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(sidebar.get_by_role("link", name="Weather talk")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(sidebar.get_by_role("link", name="Weather talk")).to_be_visible()


def test_language_and_theme_are_kept(start_server: Callable[..., Server], open_page: Callable[..., Page]) -> None:
    server = start_server()
    page = open_page(server)
    choose_appearance(page, "Dark")
    choose_appearance(page, "中文")
    for _ in range(2):
        expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        expect(page.locator("html")).to_have_css("color-scheme", "dark")
        page.reload()
    expect(page.get_by_role("button", name="新会话").first).to_be_visible()


def choose_appearance(page: Page, item: str) -> None:
    page.get_by_role("button", name="Appearance and language").click()
    page.get_by_role("menuitemcheckbox", name=item).click()
    page.keyboard.press("Escape")


def test_refusing_a_wrong_link_says_how_to_get_another(start_server: Callable[..., Server], browser: Any) -> None:
    server = start_server()
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.goto(server.url)
    expect(page.locator("body")).to_contain_text("run.py link")
    page.goto(f"{server.url}/auth/not-a-code")
    expect(page.locator("body")).to_contain_text("run.py link")
    context.close()


def test_a_run_goes_on_without_its_page_and_is_found_again(
    start_server: Callable[..., Server], model: ModelServer, open_page: Callable[..., Page]
) -> None:
    server, gate = start_server(), threading.Event()
    turn = Turn(tool_calls=[Call("calculator", {"expression": "21*2"})], gate=gate)
    model.script("scripted-model", [turn, Turn(text="It is 42.")])
    page = open_page(server)
    page.get_by_role("button", name="New conversation").first.click()
    say(page, "Compute.")
    address = f"{server.url}/c/{conversation_id(page)}"
    assert turn.held.wait(20)
    page.goto("about:blank")
    gate.set()
    page.goto(address)
    expect(page.get_by_role("log").get_by_role("article", name="Answer")).to_contain_text("It is 42.")
