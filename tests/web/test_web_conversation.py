"""The conversation page in a real browser: writing, waiting, editing, reading while an answer grows."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import Opener, wait_until
from support.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

AT_END = "(log => log.scrollHeight - log.scrollTop - log.clientHeight < 80)(document.querySelector('[role=log]'))"
COMMIT = """field => {
  const enter = more => field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...more }))
  field.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }))
  enter({ isComposing: true, keyCode: 229 })
  enter({ keyCode: 13 })
  field.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true, data: '你好' }))
  enter({ keyCode: 13 })
  enter({ keyCode: 229 })
}"""


def composer(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


def say(page: Page, text: str) -> None:
    composer(page).fill(text)
    composer(page).press("Enter")


def log(page: Page) -> Locator:
    return page.get_by_role("log", name="Messages")


def idle(page: Page) -> None:
    """No run goes on: Send stands where Stop stood."""
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()


def in_project(page: Page, web, project: str, conversation: str) -> Page:
    page.goto(f"{web.server.url}/p/{project}/c/{conversation}")
    expect(composer(page)).to_be_visible()
    return page


def place(web, name: str) -> tuple[str, str]:
    """A project and a conversation in it."""
    project = web.project(name)
    return project, web.conversation(project)


def test_an_enter_of_an_input_method_does_not_send(web, open_conversation: Callable[..., Page]) -> None:
    conversation = web.conversation()
    page = open_conversation(conversation)
    field = composer(page)
    field.fill("你好")
    field.evaluate(COMMIT)
    expect(field).to_have_value("你好")
    expect(page.get_by_role("article")).to_have_count(0)
    assert web.messages(conversation) == []
    field.press("Enter")
    expect(field).to_have_value("")
    expect(log(page)).to_contain_text("Well.")
    assert [m["content"] for m in web.messages(conversation)] == ["你好", "Well."]


def test_a_message_of_many_lines_is_sent_as_it_was_written(web, open_conversation: Callable[..., Page]) -> None:
    conversation = web.conversation()
    page = open_conversation(conversation)
    field = composer(page)
    field.press_sequentially("first")
    field.press("Shift+Enter")
    field.press_sequentially("  second")
    field.press("Enter")
    expect(log(page)).to_contain_text("Well.")
    assert web.messages(conversation)[0]["content"] == "first\n  second"


def test_a_draft_survives_a_reload_and_another_conversation(web, open_conversation: Callable[..., Page]) -> None:
    one, other = web.conversation(), web.conversation()
    page = open_conversation(one)
    composer(page).fill("half a thought")
    wait_until(page, "Object.keys(localStorage).some(key => localStorage[key].includes('half a thought'))")
    page.reload()
    expect(composer(page)).to_have_value("half a thought")
    page.goto(f"{web.server.url}/c/{other}")
    expect(composer(page)).to_have_value("")
    page.goto(f"{web.server.url}/c/{one}")
    expect(composer(page)).to_have_value("half a thought")


def test_long_messages_fold(web, open_conversation: Callable[..., Page]) -> None:
    conversation = web.conversation()
    web.ask(conversation, "\n".join(f"line {n}" for n in range(60)))
    page = open_conversation(conversation)
    mine = log(page).get_by_role("article", name="You")
    expect(mine).to_contain_text("line 19")
    expect(mine).not_to_contain_text("line 20")
    mine.get_by_role("button", name="Show whole message").click()
    expect(mine).to_contain_text("line 59")
    mine.get_by_role("button", name="Show less").click()
    expect(mine).not_to_contain_text("line 59")


@pytest.mark.parametrize(("locale", "words"), [("en-GB", ("Today", "Yesterday")), ("zh-CN", ("今天", "昨天"))])
def test_days_are_named_as_people_say_them(web, open_page: Opener, locale: str, words: tuple[str, str]) -> None:
    conversation = web.conversation()
    web.ask(conversation, "When was this?", [Turn(text="Then.")])
    said = datetime.fromisoformat(web.messages(conversation)[0]["created_at"])
    page = open_page(web.server, f"/c/{conversation}", locale=locale, timezone_id="UTC")
    day = page.get_by_role("log").get_by_role("time")
    expect(day).to_have_attribute("datetime", f"{said:%Y-%m-%d}")
    for later, shown in enumerate((*words, str(said.day))):
        page.clock.set_fixed_time(said + timedelta(days=later))
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(day).to_contain_text(shown)


def test_messages_wait_for_a_run_and_may_be_changed_or_taken_back(web, open_conversation: Callable[..., Page]) -> None:
    conversation, gate = web.conversation(), threading.Event()
    web.answers["Begin."] = [Turn(text=["I think ", "about it."], gates={1: gate})]
    web.answers["second, changed"] = [Turn(text="Both are done.")]
    page = open_conversation(conversation)
    say(page, "Begin.")
    expect(log(page)).to_contain_text("I think")
    for text in ("second", "third"):
        say(page, text)
    waiting = page.get_by_role("region", name="Waiting messages")
    expect(waiting.get_by_role("listitem")).to_have_count(2)
    waiting.get_by_role("button", name="Edit waiting message").first.click()
    editor = waiting.get_by_role("textbox", name="Edit message")
    editor.fill("second, changed")
    editor.press("Enter")
    expect(waiting).to_contain_text("second, changed")
    waiting.get_by_role("button", name="Take back").last.click()
    expect(waiting.get_by_role("listitem")).to_have_count(1)
    gate.set()
    expect(log(page)).to_contain_text("Both are done.")
    expect(waiting).to_have_count(0)
    idle(page)
    contents = [m["content"] for m in web.messages(conversation)]
    assert contents == ["Begin.", "I think about it.", "second, changed", "Both are done."]


def test_editing_a_message_makes_a_version_beside_the_old_one(web, open_conversation: Callable[..., Page]) -> None:
    conversation = web.conversation()
    web.ask(conversation, "Which month was weak?", [Turn(text="March.")])
    web.answers["Which month was strong?"] = [Turn(text="June.")]
    page = open_conversation(conversation)
    mine = log(page).get_by_role("article", name="You")
    mine.hover()
    mine.get_by_role("button", name="Edit and resend").click()
    editor = log(page).get_by_role("textbox", name="Edit message")
    editor.fill("Which month was strong?")
    editor.press("Enter")
    expect(log(page)).to_contain_text("June.")
    idle(page)
    expect(log(page)).not_to_contain_text("March.")
    versions = log(page).get_by_role("group", name="Versions").first
    expect(versions).to_contain_text("2/2")
    versions.get_by_role("button", name="Previous version").click()
    expect(log(page)).to_contain_text("March.")
    expect(log(page)).not_to_contain_text("June.")
    page.reload()
    expect(log(page)).to_contain_text("March.")
    expect(versions).to_contain_text("1/2")


def test_a_reader_who_scrolled_up_is_left_where_they_read(web, open_conversation: Callable[..., Page]) -> None:
    conversation, gate = web.conversation(), threading.Event()
    lines = [f"Line {n} of a long answer.\n\n" for n in range(120)]
    web.answers["Talk."] = [Turn(text=[*lines, "The end."], gates={60: gate})]
    page = open_conversation(conversation)
    say(page, "Talk.")
    expect(log(page)).to_contain_text("Line 59")
    wait_until(page, AT_END)
    log(page).hover()
    page.mouse.wheel(0, -500)
    expect(page.get_by_role("button", name="Jump to the answer")).to_be_visible()
    top = log(page).evaluate("log => log.scrollTop")
    gate.set()
    idle(page)
    assert abs(log(page).evaluate("log => log.scrollTop") - top) <= 2
    page.get_by_role("button", name="Jump to latest").click()
    expect(log(page).get_by_text("The end.")).to_be_in_viewport()


def test_a_growing_answer_is_followed_by_who_is_at_its_end(web, open_conversation: Callable[..., Page]) -> None:
    conversation = web.conversation()
    web.answers["Talk on."] = [Turn(text=[*(f"Line {n}.\n\n" for n in range(120)), "The last line."], delay=0.002)]
    page = open_conversation(conversation)
    say(page, "Talk on.")
    expect(log(page).get_by_text("The last line.")).to_be_in_viewport()
    idle(page)
    expect(log(page).get_by_text("The last line.")).to_be_in_viewport()


def test_a_finished_answer_keeps_its_elements(web, open_conversation: Callable[..., Page]) -> None:
    conversation, gate = web.conversation(), threading.Event()
    web.answers["Stay."] = [Turn(text=["# Title\n\n", "A *paragraph*, and $x_1$.\n\n", "The end."], gates={2: gate})]
    page = open_conversation(conversation)
    say(page, "Stay.")
    answer = log(page).get_by_role("article").last
    expect(answer).to_have_attribute("aria-busy", "true")
    expect(answer).to_contain_text("paragraph")
    answer.get_by_role("heading").evaluate("part => { part.dataset.seen = 'yes' }")
    gate.set()
    idle(page)
    expect(answer).to_contain_text("The end.")
    expect(answer).not_to_have_attribute("aria-busy", "true")
    expect(answer.get_by_role("group", name="Message actions")).to_be_attached()
    expect(answer.get_by_role("heading")).to_have_attribute("data-seen", "yes")
    expect(answer.locator("math msub")).to_have_count(1)


def test_two_tabs_show_the_same(web, open_conversation: Callable[..., Page], open_page: Opener) -> None:
    conversation, gate = web.conversation(), threading.Event()
    turn = Turn(text=["Half ", "whole."], gates={1: gate})
    web.answers["From the first tab."] = [turn]
    first = open_conversation(conversation)
    second = open_page(web.server, f"/c/{conversation}", context=first.context)
    expect(composer(second)).to_be_visible()
    say(first, "From the first tab.")
    for tab in (first, second):
        expect(log(tab)).to_contain_text("Half")
    second.get_by_role("button", name="Stop").first.click()
    assert turn.client_left.wait(10)
    gate.set()
    for tab in (first, second):
        idle(tab)
        expect(log(tab).get_by_role("article", name="Answer")).to_have_count(1)
        expect(log(tab)).not_to_contain_text("whole")


def test_helpers_at_work_stand_in_lanes(web, open_conversation: Callable[..., Page]) -> None:
    conversation, gate = web.conversation(), threading.Event()
    tasks = [{"name": name, "instruction": f"Look {name}."} for name in ("north", "south")]
    web.answers["Ask the helpers."] = [
        Turn(tool_calls=[Call("multi_agent", {"tasks": tasks})]),
        Turn(text="Both have looked."),
    ]
    web.answers["Look north."] = [Turn(text=["It is ", "cold."], gates={1: gate})]
    web.answers["Look south."] = [Turn(text="It is warm.")]
    page = open_conversation(conversation)
    say(page, "Ask the helpers.")
    lanes = log(page).get_by_role("list", name="Helpers").get_by_role("listitem")
    expect(lanes).to_have_count(2)
    expect(lanes.filter(has_text="Look north.")).to_contain_text("Running")
    expect(lanes.filter(has_text="Look south.")).to_contain_text("Done")
    gate.set()
    expect(log(page)).to_contain_text("Both have looked.")
    idle(page)


HIDDEN = """() => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => window.away })
  window.away = true
  window.notes = []
  window.Notification = class { static permission = 'granted'; constructor(title, more) { window.notes.push([title, more.body]) } }
}"""


def test_a_hidden_tab_tells_that_the_answer_is_ready(web, open_conversation: Callable[..., Page]) -> None:
    conversation, gate = web.conversation(), threading.Event()
    web.answers["Take your time."] = [Turn(text=["So ", "be it."], gates={1: gate})]
    page = open_conversation(conversation)
    page.evaluate("localStorage.setItem('nanoclaw.prefs', JSON.stringify({ notify: true }))")
    page.reload()
    say(page, "Take your time.")
    expect(log(page)).to_contain_text("So")
    page.evaluate(HIDDEN)
    gate.set()
    wait_until(page, "document.title.startsWith('(1) ')")
    assert page.evaluate("window.notes.map(note => note[0])") == ["The answer is ready"]
    page.evaluate("() => { window.away = false; document.dispatchEvent(new Event('visibilitychange')) }")
    wait_until(page, "!document.title.startsWith('(')")


PASTE = """([name, type, text]) => {
  const data = new DataTransfer()
  data.items.add(new File([new Uint8Array([137, 80, 78, 71])], name, { type }))
  for (const [kind, value] of Object.entries(text)) data.setData(kind, value)
  document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
}"""


def test_pictures_and_files_are_pasted_into_the_message(web, open_page: Opener) -> None:
    project, conversation = place(web, "Paste")
    page = in_project(open_page(web.server), web, project, conversation)
    composer(page).focus()
    page.evaluate(PASTE, ["image.png", "image/png", {}])
    page.evaluate(PASTE, ["notes.txt", "text/plain", {}])
    # What a table program copies is text; the picture of it that comes along is not wanted.
    page.evaluate(PASTE, ["table.png", "image/png", {"text/plain": "1 2", "text/html": "<table></table>"}])
    attached = page.get_by_role("list", name="Attachments")
    expect(attached.get_by_role("listitem")).to_have_count(2)
    expect(attached).to_contain_text("image.png")
    expect(attached).to_contain_text("notes.txt")
    composer(page).fill("Look at these.")
    send = page.get_by_role("button", name="Send", exact=True)
    expect(send).to_be_enabled()
    send.click()
    expect(log(page)).to_contain_text("Well.")
    first = web.messages(conversation)[0]
    assert sorted(file["path"] for file in first["attachments"]) == ["image.png", "notes.txt"]


def test_files_are_mentioned_by_name_wherever_they_lie(web, open_page: Opener) -> None:
    project, conversation = place(web, "Mentions")
    web.server.call("PUT", f"/api/projects/{project}/files/content?path=deep/er/plan.md", data=b"x")
    page = in_project(open_page(web.server), web, project, conversation)
    composer(page).press_sequentially("Read ＠plan")
    page.get_by_role("option", name="deep/er/plan.md").wait_for()
    composer(page).press("Enter")
    expect(composer(page)).to_have_value("Read @deep/er/plan.md ")
    expect(page.get_by_role("list", name="Attachments")).to_contain_text("deep/er/plan.md")
