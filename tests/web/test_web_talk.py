"""What can be done with messages, runs and calls on the conversation page: find, switch, delete, undo, go on."""

import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import Opener, wait_until
from support.model_server import Call, Turn
from test_web_conversation import composer, idle, in_project, log, place, say

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

IS_LEFT_TO_THE_BROWSER = """() => new Promise(done => {
  addEventListener('keydown', event => { done(!event.defaultPrevented); event.preventDefault() }, { once: true })
  document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'f', ctrlKey: true, bubbles: true, cancelable: true }))
})"""
MARKED = "[...(CSS.highlights.get('found') ?? [])].map(String)"

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
KEYBOARD_OF_IOS = """() => {
  const area = Object.assign(new EventTarget(), { height: innerHeight, offsetTop: 0, scale: 1 })
  Object.defineProperty(window, 'visualViewport', { value: area })
  window.keyboard = (height, offsetTop) => { Object.assign(area, { height, offsetTop }); area.dispatchEvent(new Event('resize')) }
}"""
SMALL = """minimum => [...document.querySelectorAll('#main button, #main [role=tab], #main summary, nav a, header button')]
  .filter(part => part.checkVisibility())
  .map(part => [part, part.getBoundingClientRect()])
  .filter(([, box]) => box.width < minimum || box.height < minimum)
  .map(([part, box]) => `${part.outerHTML.slice(0, 160)} ${Math.round(box.width)}x${Math.round(box.height)}`)"""


@pytest.fixture(scope="module")
def long_conversation(web) -> str:
    """More than a page of messages, the first of them about a needle."""
    conversation = web.conversation()
    web.ask(conversation, "Where is the needle?", [Turn(text="The Needle lies under the hay.")])
    for n in range(40):
        web.ask(conversation, f"Question {n}.", [Turn(text="\n\n".join(f"Hay {n}, line {i}." for i in range(8)))])
    return str(conversation)


def test_find_reaches_what_is_not_loaded(long_conversation: str, open_conversation: Callable[..., Page]) -> None:
    page = open_conversation(long_conversation)
    expect(log(page)).to_contain_text("Hay 39")
    page.keyboard.press("Control+f")
    field = page.get_by_role("searchbox", name="Find in conversation")
    field.fill("needle")
    bar = page.get_by_role("search")
    expect(bar).to_contain_text("2 of 2")
    expect(log(page).get_by_text("under the hay")).to_be_in_viewport()
    expect(field).to_be_focused()
    assert page.evaluate(MARKED) == ["Needle"]
    field.press("Enter")
    expect(bar).to_contain_text("1 of 2")
    expect(log(page).get_by_text("Where is the needle?")).to_be_in_viewport()
    field.fill("nothing of the kind")
    expect(bar).to_contain_text("Not found")
    assert page.evaluate(IS_LEFT_TO_THE_BROWSER)
    field.press("Escape")
    expect(field).to_have_count(0)


def test_the_focus_stays_with_a_message_that_was_scrolled_away(
    long_conversation: str, open_conversation: Callable[..., Page]
) -> None:
    page = open_conversation(long_conversation)
    expect(log(page)).to_contain_text("Hay 39")
    log(page).focus()
    page.keyboard.press("Alt+ArrowUp")
    answer = log(page).get_by_role("article").filter(has_text="Hay 39, line 0")
    expect(answer).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    asked = log(page).get_by_role("article").filter(has_text="Question 39.")
    expect(asked).to_be_focused()
    page.keyboard.press("Tab")
    copy = asked.get_by_role("button", name="Copy")
    expect(copy).to_be_focused()
    log(page).hover()
    page.mouse.wheel(0, -8000)
    expect(answer).to_have_count(0)
    expect(copy).to_be_focused()
    expect(copy).not_to_be_in_viewport()
    page.keyboard.press("Alt+ArrowUp")
    before = log(page).get_by_role("article").filter(has_text="Hay 38, line 0")
    expect(before).to_be_focused()
    expect(before).to_be_in_viewport()


def test_switched_off_tools_stay_off_on_another_device(web, open_conversation: Callable[..., Page]) -> None:
    conversation = web.conversation()
    page = open_conversation(conversation)
    page.get_by_role("button", name="Tools", exact=True).click()
    for name in ("Calculator", "Weather"):
        page.get_by_role("menuitemcheckbox", name=name).click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Tools: ")).to_be_visible()
    other = open_conversation(conversation)
    other.get_by_role("button", name="Tools: ").click()
    expect(other.get_by_role("menuitemcheckbox", name="Calculator")).to_have_attribute("aria-checked", "false")
    other.keyboard.press("Escape")
    say(other, "What can you do?")
    expect(log(other)).to_contain_text("Well.")
    offered = web.model.requests()[-1].tool_names
    assert offered
    assert not {"calculator", "get_weather"} & set(offered)


def test_a_message_is_deleted_with_what_follows_and_had_back_by_a_key(
    web, open_conversation: Callable[..., Page]
) -> None:
    conversation = web.conversation()
    web.ask(conversation, "Keep this.", [Turn(text="Kept.")])
    web.ask(conversation, "Forget this.", [Turn(text="Forgotten.")])
    page = open_conversation(conversation)
    mine = log(page).get_by_role("article", name="You").last
    mine.hover()
    mine.get_by_role("button", name="More message actions").click()
    page.get_by_role("menuitem", name="Delete from here on").click()
    expect(log(page)).not_to_contain_text("Forgotten.")
    expect(log(page)).to_contain_text("Kept.")
    log(page).focus()
    page.keyboard.press("z")
    expect(log(page)).to_contain_text("Forgotten.")
    assert [m["content"] for m in web.messages(conversation)] == ["Keep this.", "Kept.", "Forget this.", "Forgotten."]


def test_versions_tell_of_their_runs_and_the_url_leads_back(web, open_conversation: Callable[..., Page]) -> None:
    conversation = web.conversation()
    web.answers.by_try("Say a number.", [Turn(text="One."), Turn(text="Two.")])
    web.ask(conversation, "Say a number.")
    page = open_conversation(conversation)
    answer = log(page).get_by_role("article", name="Answer")
    answer.hover()
    answer.get_by_role("button", name="Answer again").click()
    expect(log(page)).to_contain_text("Two.")
    idle(page)
    log(page).get_by_role("button", name="Versions: 2/2").click()
    versions = page.get_by_role("menuitemcheckbox")
    expect(versions).to_have_count(2)
    expect(versions.first).to_contain_text("scripted-model · Completed · 1 step")
    expect(versions.first).to_contain_text("One.")
    versions.first.click()
    expect(log(page)).to_contain_text("One.")
    expect(log(page)).not_to_contain_text("Two.")
    page.reload()
    expect(log(page)).to_contain_text("One.")
    page.go_back()
    expect(composer(page)).to_be_visible()


def test_a_run_at_its_limit_says_so_also_later_and_goes_on(web, open_page: Opener) -> None:
    project, conversation = place(web, "Short")
    web.server.call("PATCH", f"/api/projects/{project}", json={"limits": {"max_steps": 1}})
    web.answers["Count."] = [
        Turn(text="One.", tool_calls=[Call("calculator", {"expression": "1"})]),
        Turn(text="I have counted to one."),
    ]
    web.answers["Please go on."] = [Turn(text="Counted to the end.")]
    web.ask(conversation, "Count.")
    page = in_project(open_page(web.server), web, project, conversation)
    expect(page.get_by_text("Stopped at the step limit.")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    expect(log(page)).to_contain_text("Counted to the end.")
    idle(page)
    expect(page.get_by_text("Stopped at the step limit.")).to_have_count(0)


def test_a_run_near_its_limit_warns_and_at_the_limit_it_can_go_on(web, open_page: Opener) -> None:
    project, conversation = place(web, "Near")
    web.server.call("PATCH", f"/api/projects/{project}", json={"limits": {"max_steps": 5}})
    gates = [threading.Event(), threading.Event()]
    counts = [Turn(tool_calls=[Call("calculator", {"expression": f"{n}+1"})]) for n in range(5)]
    counts[2] = Turn(text=["Three", "."], tool_calls=counts[2].tool_calls, gates={1: gates[0]})
    counts[3] = Turn(text=["Four", "."], tool_calls=counts[3].tool_calls, gates={1: gates[1]})
    web.answers["Count up."] = [*counts, Turn(text="I have counted to five.")]
    web.answers["Please go on."] = [Turn(text="Counted to the end.")]
    page = in_project(open_page(web.server), web, project, conversation)
    say(page, "Count up.")
    bar = page.get_by_role("group", name="Run", exact=True)
    expect(bar).to_contain_text("step 3 of 5")
    expect(bar).to_contain_text("Answering")
    gates[0].set()
    expect(bar).to_contain_text("step 4 of 5")
    expect(bar).to_contain_text("Near the step limit")
    gates[1].set()
    expect(page.get_by_text("Stopped at the step limit.")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    expect(log(page)).to_contain_text("Counted to the end.")
    idle(page)
    expect(page.get_by_text("Stopped at the step limit.")).to_have_count(0)


def test_a_stop_tells_what_it_stopped(web, open_conversation: Callable[..., Page]) -> None:
    conversation, gate = web.conversation(), threading.Event()
    web.answers["Talk on and on."] = [
        Turn(tool_calls=[Call("calculator", {"expression": "1+1"})]),
        Turn(text=["Half ", "whole."], gates={1: gate}),
    ]
    page = open_conversation(conversation)
    say(page, "Talk on and on.")
    expect(log(page)).to_contain_text("Half")
    expect(page.get_by_role("banner")).to_contain_text("Answering")
    page.get_by_role("button", name="Stop").first.click()
    outcome = page.get_by_role("status").filter(has_text="Stopped.")
    expect(outcome).to_contain_text("Stopped: the model’s answer")
    expect(outcome).to_contain_text("Finished before: Calculator")
    gate.set()


def test_a_run_is_undone_beside_the_chat_and_a_conflict_is_told(web, open_page: Opener) -> None:
    project, conversation = place(web, "Undo")
    files = f"/api/projects/{project}/files/content?path="
    web.server.call("PUT", files + "both.txt", data=b"one\n")
    web.answers["Write them."] = [
        Turn(
            tool_calls=[
                Call("file_write", {"path": "new.txt", "content": "hello\n"}),
                Call("file_write", {"path": "both.txt", "content": "two\n"}),
            ]
        ),
        Turn(text="Written."),
    ]
    web.ask(conversation, "Write them.")
    web.server.call("PUT", files + "both.txt", data=b"three\n")
    page = in_project(open_page(web.server), web, project, conversation)
    log(page).get_by_role("button", name="2 files changed").click()
    changes = page.get_by_role("region", name="Changes of files")
    expect(changes.get_by_role("checkbox")).to_have_count(2)
    assert "run=" in page.url
    changes.get_by_role("button", name="Undo 2 changes").click()
    expect(changes.get_by_role("alert")).to_contain_text("Left as it is:")
    expect(changes).to_contain_text("taken back")
    names = [entry["name"] for entry in web.server.get(f"/api/projects/{project}/files")["items"]]
    assert names == ["both.txt"]
    assert web.server.get(files + "both.txt").text == "three\n"


def test_reused_failed_and_cached_results_say_so(web, open_page: Opener) -> None:
    project, conversation = place(web, "States")
    twice = [Call("get_weather", {"city": "Bergen"}), Call("get_weather", {"city": "Bergen"})]
    web.answers["All states."] = [
        Turn(tool_calls=[*twice, Call("file_read", {"path": "../secret"})]),
        Turn(tool_calls=[Call("get_weather", {"city": "Bergen"})]),
        Turn(text="Done."),
    ]
    web.ask(conversation, "All states.")
    page = in_project(open_page(web.server), web, project, conversation)
    expect(log(page)).to_contain_text("Trying the same again will not help.")
    log(page).get_by_role("button", name="4 tool calls").click()
    log(page).get_by_role("button", name="Same as call 1 – result reused").click()
    expect(log(page).locator(".call > .head").first).to_be_focused()
    log(page).get_by_role("button", name="Run fresh").click()
    expect(log(page).get_by_text("Run by hand just now")).to_be_visible()


def test_escape_stops_following_a_growing_answer(web, open_conversation: Callable[..., Page]) -> None:
    conversation, gate = web.conversation(), threading.Event()
    lines = [f"Line {n} of a long answer.\n\n" for n in range(120)]
    web.answers["Tell it all."] = [Turn(text=[*lines, "The end."], gates={60: gate})]
    page = open_conversation(conversation)
    say(page, "Tell it all.")
    expect(log(page)).to_contain_text("Line 59")
    composer(page).press("Escape")
    expect(page.get_by_role("button", name="Jump to the answer")).to_be_visible()
    top = log(page).evaluate("log => log.scrollTop")
    gate.set()
    idle(page)
    assert abs(log(page).evaluate("log => log.scrollTop") - top) <= 2


def test_on_a_phone_everything_but_send_is_in_one_menu(web, open_page: Opener) -> None:
    conversation = web.conversation()
    page = open_page(web.server, f"/c/{conversation}", **PHONE)
    expect(composer(page)).to_be_visible()
    page.get_by_role("button", name="Files, model and tools").click()
    page.get_by_role("menuitemcheckbox", name="Calculator").click()
    page.keyboard.press("Escape")
    page.reload()
    page.get_by_role("button", name="Files, model and tools").click()
    expect(page.get_by_role("menuitemcheckbox", name="Calculator")).to_have_attribute("aria-checked", "false")


def within(page: Page, part: Locator, top: float, bottom: float) -> bool:
    box = part.bounding_box()
    return box is not None and box["y"] >= top - 1 and box["y"] + box["height"] <= bottom + 1


def test_the_keyboard_on_the_screen_never_hides_the_composer(web, open_page: Opener) -> None:
    conversation = web.conversation()
    web.ask(conversation, "Hello.", [Turn(text="\n\n".join(f"Line {n}." for n in range(60)))])
    gate = threading.Event()
    web.answers["Go."] = [Turn(text=["Going", "."], gates={1: gate})]
    page = open_page(web.server, f"/c/{conversation}", **PHONE)
    box = page.get_by_role("form", name="Write a message")
    for text in ("Go.", "one", "two", "three", "four"):
        composer(page).fill(text)
        box.locator("button[type=submit]").click()
    expect(page.get_by_role("region", name="Waiting messages").get_by_role("listitem")).to_have_count(4)
    page.set_viewport_size({"width": 390, "height": 430})
    expect(page.get_by_role("button", name="Stop").last).to_be_in_viewport(ratio=1)
    gate.set()
    expect(log(page)).to_contain_text("Well.")
    idle(page)
    composer(page).fill("\n".join(f"line {n}" for n in range(30)))
    send = page.get_by_role("button", name="Send", exact=True)
    # Android makes the page smaller.
    page.set_viewport_size({"width": 390, "height": 430})
    expect(send).to_be_in_viewport(ratio=1)
    assert within(page, box, 0, 430)
    page.set_viewport_size(PHONE["viewport"])
    # iOS leaves the page as it is, lays the keyboard over it and pushes it up.
    page.context.add_init_script(f"({KEYBOARD_OF_IOS})()")
    page.reload()
    expect(log(page).get_by_text("Well.").last).to_be_in_viewport()
    page.evaluate("window.keyboard(430, 120)")
    assert within(page, box, 120, 120 + 430)
    assert within(page, page.get_by_role("banner"), 120, 120 + 430)
    expect(page.get_by_role("navigation", name="Pages")).to_have_count(0)
    expect(log(page).get_by_text("Well.").last).to_be_in_viewport()
    page.evaluate("window.keyboard(innerHeight, 0)")
    wait_until(page, "document.querySelector('.shell').getBoundingClientRect().height === innerHeight")


def test_on_touch_all_is_in_sight_and_large_enough(web, open_page: Opener) -> None:
    project, conversation = place(web, "Touch")
    said = "| City | Units | Price | Share | Remarks |\n|---|---|---|---|---|\n| Lisbon | 21,033 | 4.20 | 25 | a remark |\n\n```python\nprint(1)\n```\n"
    twice = [Call("get_weather", {"city": "Oslo"})] * 2
    turns = [Turn(reasoning="Hm.", tool_calls=[*twice, Call("file_read", {"path": "none.txt"})]), Turn(text=said)]
    web.ask(conversation, "\n".join(f"line {n}" for n in range(30)), turns)
    page = in_project(open_page(web.server, **PHONE), web, project, conversation)
    fold = log(page).get_by_role("button", name="3 tool calls")
    fold.click()
    for card in log(page).locator(".call > .head").all():
        card.click()
    expect(log(page).get_by_role("tab", name="Raw")).to_have_count(3)
    assert page.evaluate(SMALL, 44) == []
    shown = log(page).get_by_role("group", name="Message actions")
    assert set(shown.evaluate_all("all => all.map(part => getComputedStyle(part).opacity)")) == {"1"}
    # A wide table scrolls; it does not break words to fit.
    assert log(page).get_by_role("cell", name="Lisbon").evaluate("cell => cell.clientHeight < 60")
    head, copy = log(page).locator("thead"), log(page).get_by_role("button", name="Copy as CSV")
    expect(copy).to_have_css("opacity", "1")
    assert copy.bounding_box()["y"] + copy.bounding_box()["height"] <= head.bounding_box()["y"]


def test_a_trimmed_context_says_how_much_is_left_out_and_where(web, open_conversation: Callable[..., Page]) -> None:
    conversation, gate = web.conversation(), threading.Event()
    for n in range(5):
        web.ask(conversation, f"Question {n}.", [Turn(text=f"Answer {n}. " + "More words. " * 400)])
    too_long = {"error": {"message": "maximum context length exceeded", "code": "context_length_exceeded"}}
    rest = Turn(text=["What is left ", "is enough."], gates={1: gate})
    web.answers.by_try("And now?", [Turn(status=400, body=too_long), rest])
    page = open_conversation(conversation)
    say(page, "And now?")
    banner = page.get_by_role("group", name="Run", exact=True).get_by_text("are left out of what the model reads")
    expect(banner).to_have_count(1)
    sent = web.model.requests()[-1].messages
    kept = next(m["content"] for m in sent if m["role"] == "user")
    said = [m["content"] for m in web.messages(conversation)]
    expect(banner).to_contain_text(f"{said.index(kept)} older messages")
    page.get_by_role("button", name="Show where").click()
    expect(log(page).get_by_role("article", name="You").filter(has_text=kept)).to_be_focused()
    gate.set()
