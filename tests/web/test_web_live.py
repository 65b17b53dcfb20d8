"""A stream that survives: offline, cuts, a server that is killed and comes back."""

import threading
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect
from support.browser import Opener
from support.model_server import Call, Turn
from test_web_conversation import composer, idle, log, say

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

NETWORK = ("net::ERR_", "Failed to load resource")
BACK_SECONDS = 2.0
PIECES = [f"word{n} 😀 字 " for n in range(60)]


def answer_text(page: Page) -> str:
    """The text of the one answer, as shown."""
    return str(log(page).locator("article .markdown").last.inner_text())


def test_what_is_written_offline_is_kept_and_the_stream_goes_on(
    web, open_conversation: Callable[..., Page], open_page: Opener
) -> None:
    open_page.tolerate(*NETWORK)
    conversation, half, rest = web.conversation(), threading.Event(), threading.Event()
    web.answers["Count."] = [Turn(text=PIECES, gates={20: half, 40: rest})]
    page = open_conversation(conversation)
    say(page, "Count.")
    expect(log(page)).to_contain_text("word19")
    page.context.set_offline(True)
    expect(page.get_by_text("Offline")).to_be_visible()
    composer(page).fill("written offline")
    expect(page.get_by_role("button", name="You are offline")).to_be_disabled()
    composer(page).press("Enter")
    expect(composer(page)).to_have_value("written offline")
    half.set()
    page.context.set_offline(False)
    since = time.monotonic()
    expect(log(page)).to_contain_text("word39")
    assert time.monotonic() - since <= BACK_SECONDS
    rest.set()
    idle_with_draft(page)
    expect(log(page)).to_contain_text("word59")
    assert answer_text(page).split() == "".join(PIECES).split()
    assert web.messages(conversation)[-1]["content"] == "".join(PIECES)
    expect(composer(page)).to_have_value("written offline")


def idle_with_draft(page: Page) -> None:
    expect(page.get_by_role("group", name="Run", exact=True)).to_have_count(0)


def test_a_killed_server_comes_back_and_the_answer_goes_on(
    web, open_conversation: Callable[..., Page], open_page: Opener
) -> None:
    open_page.tolerate(*NETWORK)
    conversation, gate = web.conversation(), threading.Event()
    first = Turn(text=PIECES, gates={30: gate})
    second = Turn(text=[*PIECES[:30], "and another end"])
    web.answers.by_try("Survive.", [first, second])
    page = open_conversation(conversation)
    say(page, "Survive.")
    expect(log(page)).to_contain_text("word29")
    web.server.kill()
    expect(page.get_by_text("Reconnecting").or_(page.get_by_text("Offline")).first).to_be_visible()
    web.server.restart()
    since = time.monotonic()
    expect(log(page)).to_contain_text("and another end")
    took = time.monotonic() - since
    gate.set()
    idle(page)
    whole = "".join(PIECES[:30]) + "and another end"
    assert answer_text(page).split() == whole.split()
    assert web.messages(conversation)[-1]["content"] == whole
    assert len(web.messages(conversation)) == 2
    print(f"went on after {took:.2f} s")


def test_a_page_that_was_away_shows_what_happened_meanwhile(
    web, open_conversation: Callable[..., Page], open_page: Opener
) -> None:
    open_page.tolerate(*NETWORK)
    conversation = web.conversation()
    web.ask(conversation, "Before.", [Turn(text="Said before.")])
    page = open_conversation(conversation)
    expect(log(page)).to_contain_text("Said before.")
    page.context.set_offline(True)
    expect(page.get_by_text("Offline")).to_be_visible()
    web.ask(conversation, "From elsewhere.", [Turn(text="Said elsewhere.")])
    page.context.set_offline(False)
    expect(log(page)).to_contain_text("Said elsewhere.")
    expect(page.get_by_text("Offline")).to_have_count(0)


LETTER = """
import time
from backend.tools import tool

@tool(name="send_letter", description="Send a letter.", parameters={"type": "object", "properties": {}})
def send_letter(arguments):
    time.sleep(60)
"""


def test_a_call_that_the_server_died_in_is_settled_by_the_reader(
    web, open_conversation: Callable[..., Page], open_page: Opener
) -> None:
    open_page.tolerate(*NETWORK)
    tools = web.server.instance / "tools"
    tools.mkdir(mode=0o700, exist_ok=True)
    (tools / "letter.py").write_text(LETTER)
    web.server.stop()
    web.server.restart()
    conversation, gate = web.conversation(), threading.Event()
    web.answers["Send it."] = [
        Turn(tool_calls=[Call("send_letter", {})]),
        Turn(text=["I could not ", "see it."], gates={1: gate}),
    ]
    page = open_conversation(conversation)
    say(page, "Send it.")
    card = log(page).get_by_role("group", name="send_letter")
    expect(card).to_contain_text("Running")
    web.server.kill()
    web.server.restart()
    expect(log(page)).to_contain_text("I could not")
    expect(page.get_by_text("The server restarted at step 1; going on from there.")).to_be_visible()
    expect(card).to_contain_text("Outcome unknown")
    expect(card).to_contain_text("When the run has ended, you can say")
    gate.set()
    idle(page)
    expect(log(page)).to_contain_text("I could not see it.")
    card.get_by_role("button", name="It was done", exact=True).click()
    expect(card).not_to_contain_text("Outcome unknown")
    expect(card.get_by_role("button", name="It was not done", exact=True)).to_have_count(0)
    # The next run knows.
    web.answers["Was it sent?"] = [Turn(text="It was.")]
    say(page, "Was it sent?")
    expect(log(page)).to_contain_text("It was.")
    told = [m["content"] for m in web.model.requests()[-1].messages if m["role"] == "tool"]
    assert "The user has checked: this was done." in told[0]


def test_a_first_message_that_is_cut_off_waits_and_takes_what_is_typed_along(web, open_page: Opener) -> None:
    open_page.tolerate(*NETWORK)
    web.answers["Begin."] = [Turn(text="Begun.")]
    page = open_page(web.server, "/c/new")
    page.route("**/messages", lambda route: route.abort())
    say(page, "Begin.")
    expect(page.get_by_text("Not sent.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Not sent.")).to_be_visible()
    page.get_by_role("link", name="Home").first.click()
    expect(page.get_by_role("heading", name="What shall we work on?")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Not sent.")).to_be_visible()
    page.unroute("**/messages")
    held: list[Route] = []
    page.route("**/messages", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    with page.expect_request("**/messages"):
        page.get_by_role("button", name="Retry").click()
    composer(page).fill("and more")
    for route in held:
        route.continue_()
    page.wait_for_url(lambda url: "/c/" in url and not url.endswith("/new"))
    expect(log(page)).to_contain_text("Begun.")
    expect(composer(page)).to_have_value("and more")
    assert [message["content"] for message in web.messages(page.url.split("/c/")[1])] == ["Begin.", "Begun."]
