"""The pages beside the conversation in a real browser: runs, trace, tools, usage, settings, deleted files."""

import json
import sqlite3
import threading
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import Opener, settled
from support.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

WORK = [
    Turn(
        tool_calls=[
            Call("file_read", {"path": "missing.txt"}),
            Call("file_list", {"path": "."}),
            Call("calculator", {"expression": "6*7"}),
        ]
    ),
    Turn(text="It is 42."),
]


@pytest.fixture
def project(web) -> str:
    return str(web.project("Papers"))


def row(page: Page, text: str) -> Locator:
    return page.get_by_role("table", name="Runs").get_by_role("row").filter(has_text=text)


def cells(page: Page, text: str) -> dict[str, str]:
    """A row of the runs by the names of its columns."""
    expect(row(page, text)).to_be_visible()
    heads = page.get_by_role("table", name="Runs").get_by_role("columnheader").all_inner_texts()
    return dict(zip(heads, row(page, text).get_by_role("cell").all_inner_texts(), strict=True))


# ---------------------------------------------------------------- runs
def test_runs_tell_calls_and_failures_and_keep_their_filter_in_the_address(
    web, project: str, open_page: Opener
) -> None:
    web.ask(web.conversation(project), "What is six times seven?", WORK)
    web.server.post("/api/tools/calculator/execute", {"arguments": {"expression": "15% of 240"}, "project_id": project})
    page = open_page(web.server, f"/p/{project}/runs")
    found = cells(page, "What is six times seven?")
    assert (found["Steps"], found["Calls"], found["Failed"]) == ("2", "3", "1")
    expect(row(page, "Calculator: 15% of 240")).to_be_visible()
    page.get_by_role("combobox", name="Show by kind").click()
    page.get_by_role("option", name="By hand").click()
    expect(row(page, "What is six times seven?")).to_have_count(0)
    assert "kind=manual" in page.url
    page.reload()
    expect(row(page, "Calculator: 15% of 240")).to_be_visible()
    expect(row(page, "What is six times seven?")).to_have_count(0)


def test_many_runs_are_stopped_and_exported_at_once(web, project: str, open_page: Opener) -> None:
    gates = [threading.Event() for _ in range(2)]
    for number, gate in enumerate(gates):
        web.answers[f"Wait {number}."] = [Turn(text=["Well, ", "then."], gates={1: gate})]
        web.ask(web.conversation(project), f"Wait {number}.", wait=False)
    page = open_page(web.server, f"/p/{project}/runs")
    expect(row(page, "Wait 1.")).to_contain_text("Running")
    page.get_by_role("checkbox", name="Select all that are shown").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export JSON").click()
    with open(download.value.path(), encoding="utf-8") as file:
        saved = json.load(file)
    assert {run["input"] for run in saved} == {"Wait 0.", "Wait 1."}
    page.get_by_role("button", name="Stop", exact=True).click()
    for number in range(2):
        expect(row(page, f"Wait {number}.")).to_contain_text("Cancelled")
    for gate in gates:
        gate.set()


def test_what_cannot_be_stopped_is_told_with_another_try(web, project: str, open_page: Opener) -> None:
    gate = threading.Event()
    web.answers["Hold on."] = [Turn(text=["Well, ", "then."], gates={1: gate})]
    web.ask(web.conversation(project), "Hold on.", wait=False)
    open_page.tolerate("500")
    page = open_page(web.server, f"/p/{project}/runs")
    answer = {"status": 500, "content_type": "application/problem+json", "body": '{"code":"internal_error"}'}
    page.route("**/cancel", lambda route: route.fulfill(**answer))
    page.get_by_role("checkbox", name="Select Hold on.").check()
    page.get_by_role("button", name="Stop", exact=True).click()
    told = page.get_by_role("status").filter(has_text="1 run could not be stopped.")
    expect(told).to_be_visible()
    page.unroute("**/cancel")
    told.get_by_role("button", name="Retry").click()
    expect(row(page, "Hold on.")).to_contain_text("Cancelled")
    expect(told).to_have_count(0)
    gate.set()


def test_new_runs_wait_while_somebody_reads(web, project: str, open_page: Opener) -> None:
    conversation = web.conversation(project)
    web.ask(conversation, "The first one.", [Turn(text="One.")])
    page = open_page(web.server, f"/p/{project}/runs")
    row(page, "The first one.").hover()
    top = row(page, "The first one.").bounding_box()
    web.ask(conversation, "The second one.", [Turn(text="Two.")])
    pill = page.get_by_role("button", name="1 new")
    expect(pill).to_be_visible()
    expect(row(page, "The second one.")).to_have_count(0)
    assert row(page, "The first one.").bounding_box() == top
    pill.click()
    expect(row(page, "The second one.")).to_be_visible()


# ---------------------------------------------------------------- trace
def test_a_trace_shows_what_a_call_was_given_unseen_and_finds_failures(web, project: str, open_page: Opener) -> None:
    run = web.ask(web.conversation(project), "Six times seven, please.", WORK)
    page = open_page(web.server, f"/p/{project}/runs/{run}")
    details = page.get_by_role("region", name="Details")
    tree = page.get_by_role("tree")
    expect(tree.get_by_role("treeitem")).to_have_count(6)
    tree.focus()
    page.keyboard.press("n")
    expect(details.get_by_role("heading").first).to_contain_text("Read file")
    details.get_by_role("tab", name="Injected").click()
    panel = details.get_by_role("tabpanel")
    expect(panel).to_contain_text("The model does not see any of this")
    for text in ("Papers", project, run, "_run_id", "Owner"):
        expect(panel).to_contain_text(text)
    assert "sk-test" not in panel.inner_text()
    page.get_by_role("button", name="Show as a table").click()
    table = page.get_by_role("region", name="Show as a table").get_by_role("row")
    expect(table).to_have_count(7)


def test_a_long_payload_is_loaded_when_it_is_asked_for(web, project: str, open_page: Opener) -> None:
    text = "".join(f"line {n} of a long file\n" for n in range(6_000))
    web.server.post_file(f"/api/projects/{project}/files/upload", "long.txt", text.encode())
    turns = [Turn(tool_calls=[Call("file_write", {"path": "copy.txt", "content": text})]), Turn(text="Done.")]
    run = web.ask(web.conversation(project), "Copy the long file.", turns)
    page = open_page(web.server, f"/p/{project}/runs/{run}")
    page.get_by_role("treeitem").filter(has_text="Write file").click()
    details = page.get_by_role("region", name="Details")
    details.get_by_role("tab", name="Input").click()
    expect(details).not_to_contain_text("line 5999")
    details.get_by_role("button", name="Load all").click()
    expect(details).to_contain_text("line 5999")


def test_steps_that_cannot_be_loaded_are_told_and_the_others_stay(web, project: str, open_page: Opener) -> None:
    turns = [Turn(tool_calls=[Call("calculator", {"expression": f"{n}+{n}"})]) for n in range(30)]
    web.answers["Add for long."] = [*turns, Turn(text="Enough.")]
    sent = web.server.post("/api/tasks", {"input": "Add for long.", "project_id": project, "limits": {"max_steps": 50}})
    web.server.wait_run(sent["id"])
    open_page.tolerate("500")
    page = open_page(web.server)
    answer = {"status": 500, "content_type": "application/problem+json", "body": '{"code":"internal_error"}'}
    page.route("**/steps?*cursor=*", lambda route: route.fulfill(**answer))
    page.goto(f"{web.server.url}/p/{project}/runs/{sent['id']}")
    told = page.get_by_role("status").filter(has_text="11 could not be loaded.")
    expect(told).to_be_visible()
    expect(page.get_by_role("treeitem").filter(has_text="Step 1").first).to_be_visible()
    page.unroute("**/steps?*cursor=*")
    told.get_by_role("button", name="Retry").click()
    expect(told).to_have_count(0)


# ---------------------------------------------------------------- tools and usage
def test_a_tool_tells_its_last_day_and_what_it_lacks(web, open_page: Opener) -> None:
    for expression in ("1+1", "1+1", "2+"):
        web.server.post("/api/tools/calculator/execute", {"arguments": {"expression": expression}})
    page = open_page(web.server, "/tools")
    card = page.get_by_role("article").filter(has=page.get_by_role("heading", name="Calculator"))
    expect(card).to_contain_text("failed")
    expect(page.get_by_role("article").filter(has_text="web_search")).to_contain_text("No key")
    page.goto(f"{web.server.url}/tools?tool=calculator")
    dialog = page.get_by_role("dialog", name="Calculator")
    dialog.get_by_role("tab", name="About").click()
    for text in ("Your last 24 hours", "Half end within", "95 % end within", "Yes, for 5m"):
        expect(dialog).to_contain_text(text)


def test_a_tool_with_a_list_of_objects_is_tried_with_words_in_chinese(web, open_page: Opener) -> None:
    web.answers["看看北方。"] = [Turn(text="很冷。")]
    page = open_page(web.server, "/tools?tool=multi_agent", locale="zh-CN")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("一到五个互不依赖的任务")
    dialog.get_by_role("button", name="添加一项").first.click()
    expect(dialog).to_contain_text("任务的简短名称。")
    dialog.get_by_role("textbox", name="name").fill("北方")
    dialog.get_by_role("button", name="运行", exact=True).click()
    expect(dialog.get_by_text("必填。")).to_be_visible()
    dialog.get_by_role("textbox", name="instruction").fill("看看北方。")
    dialog.get_by_role("button", name="运行", exact=True).click()
    expect(dialog).to_contain_text("很冷。")


def test_usage_tells_outcomes_models_and_the_queue(web, project: str, open_page: Opener) -> None:
    web.ask(
        web.conversation(project),
        "Say a word.",
        [Turn(tool_calls=[Call("get_weather", {"city": "Oslo"})]), Turn(text="Word.")],
    )
    page = open_page(web.server, "/usage")
    settled(page)
    main = page.get_by_role("main")
    for text in ("Completed", "95 % end within", "By model", "The queue now, for everyone", "Workers"):
        expect(main).to_contain_text(text)
    page.set_viewport_size({"width": 390, "height": 844})
    boxes: list[dict[str, float]] = page.locator(".mark:visible").evaluate_all(
        "marks => marks.map(mark => { const box = mark.getBoundingClientRect(); return { left: box.left, right: box.right } })"
    )
    assert len(boxes) >= 3
    assert all(left["right"] < right["left"] for left, right in pairwise(boxes)), boxes
    assert boxes[0]["left"] >= 0
    assert boxes[-1]["right"] <= 390
    page.get_by_role("button", name="As a table").first.click()
    expect(page.get_by_role("table").first).to_be_visible()
    # Tools of the chosen time, in the bars and in the table alike.
    tools = main.get_by_role("region", name="By tool")
    expect(tools.get_by_role("listitem").filter(has_text="Weather")).to_contain_text("1")
    with closing(sqlite3.connect(web.server.instance / "nanoclaw.db", timeout=30)) as database, database:
        before = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-60 days')"
        database.execute(f"UPDATE tool_calls SET started_at = {before} WHERE name = 'get_weather'")
    page.reload()
    expect(tools).to_be_visible()
    expect(tools.get_by_role("listitem").filter(has_text="Weather")).to_have_count(0)
    tools.get_by_role("button", name="As a table").click()
    page.get_by_role("combobox", name="Period").click()
    page.get_by_role("option", name="Last 12 months").click()
    expect(tools.get_by_role("row", name="Weather")).to_be_visible()


# ---------------------------------------------------------------- settings
def keys_of(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name="Keyboard shortcuts").get_by_role("listitem").filter(has_text=name)


def test_shortcuts_get_other_keys_and_say_who_has_them_already(web, open_page: Opener) -> None:
    page = open_page(web.server, "/settings")
    page.get_by_role("region", name="Keyboard shortcuts").get_by_text("General", exact=True).click()
    palette = keys_of(page, "Command palette")
    palette.get_by_role("button", name="Other keys for: Command palette").click()
    page.keyboard.press("Control+b")
    expect(palette.get_by_role("alert")).to_contain_text("Ctrl+B already means “Show or hide the sidebar”")
    palette.get_by_role("button", name="Other keys for: Command palette").click()
    page.keyboard.press("Control+Shift+y")
    expect(palette).to_contain_text("Ctrl+Shift+Y")
    page.reload()
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.press("Control+Shift+y")
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.keyboard.press("Escape")
    page.get_by_role("region", name="Keyboard shortcuts").get_by_role("button", name="Reset all").click()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_have_count(1)


def test_a_shortcut_can_be_taken_from_another_or_switched_off(web, open_page: Opener) -> None:
    page = open_page(web.server, "/settings")
    page.get_by_role("region", name="Keyboard shortcuts").get_by_text("General", exact=True).click()
    undo = keys_of(page, "Undo the last action")
    undo.get_by_role("button", name="Other keys for: Undo").click()
    page.keyboard.press("Control+b")
    undo.get_by_role("button", name="Use them here instead").click()
    expect(undo).to_contain_text("Ctrl+B")
    expect(keys_of(page, "Show or hide the sidebar")).to_contain_text("no keys")
    undo.get_by_role("button", name="No keys for: Undo").click()
    expect(undo).to_contain_text("no keys")


def test_own_limits_are_kept_by_the_server_and_used(web, open_page: Opener) -> None:
    page = open_page(web.server, "/settings")
    limits = page.get_by_role("region", name="Default limits")
    field = limits.get_by_role("spinbutton").first
    field.fill("500")
    limits.get_by_role("button", name="Save").click()
    expect(field).to_have_js_property("validity.rangeOverflow", True)
    assert "limits" not in web.server.get("/api/auth/me")["settings"]
    field.fill("7")
    limits.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The limits are saved.", exact=True)).to_be_visible()
    sent = web.server.post("/api/tasks", {"input": "/calculator 1+1"})
    assert sent["limits"]["max_steps"] == 7
    limits.get_by_role("button", name="Back to the usual ones").click()
    expect(field).to_have_value("")
    assert "limits" not in web.server.get("/api/auth/me")["settings"]


def test_a_command_titles_its_conversation_in_the_language_of_the_page(web, open_page: Opener) -> None:
    page = open_page(web.server, "/settings", locale="zh-CN")
    while web.server.get("/api/auth/me")["settings"].get("language") != "zh-CN":
        page.wait_for_timeout(50)  # the page tells it at its first load or its second; the test's own limit ends this
    page.goto(f"{web.server.url}/c/new")
    field = page.get_by_role("textbox", name="消息")
    field.fill("/calculator 15% of 240")
    field.press("Enter")
    expect(page.get_by_role("navigation").get_by_text("计算器：15% of 240").first).to_be_visible()


# ---------------------------------------------------------------- files
def test_deleted_files_are_found_again_after_the_toast(web, project: str, open_page: Opener) -> None:
    where = f"/api/projects/{project}/files"
    for name in ("plan.md", "notes.md", "kept.md"):
        web.server.post_file(f"{where}/upload", name, name.encode())
    for name in ("plan.md", "notes.md"):
        web.server.call("DELETE", f"{where}/content", params={"path": name})
    page = open_page(web.server, f"/p/{project}/files")
    expect(page.get_by_role("button", name="kept.md", exact=True)).to_be_visible()
    page.get_by_role("button", name="Deleted files").click()
    gone = page.get_by_role("list", name="Deleted files").get_by_role("listitem")
    expect(gone).to_have_count(2)
    page.reload()
    page.get_by_role("button", name="Restore plan.md").click()
    expect(gone).to_have_count(1)
    assert web.server.call("GET", f"{where}/content", params={"path": "plan.md"}).text == "plan.md"
    for name in ("a.csv", "b.csv"):
        web.server.call("PUT", f"{where}/content", params={"path": f"data/{name}"}, data=name.encode())
    web.server.call("DELETE", f"{where}/content", params={"path": "data"})
    expect(gone).to_have_count(2)
    page.get_by_role("button", name="2 files").click()
    expect(page.get_by_role("button", name="Restore b.csv")).to_be_visible()
    page.get_by_role("button", name="Restore data").click()
    expect(gone).to_have_count(1)
    assert web.server.call("GET", f"{where}/content", params={"path": "data/b.csv"}).text == "b.csv"
    web.server.post_file(f"{where}/upload", "notes.md", b"another")
    expect(page.get_by_text("No deleted files")).to_be_visible()
    page.get_by_role("button", name="Back to the files").click()
    expect(page.get_by_role("button", name="plan.md", exact=True)).to_be_visible()


def test_a_file_that_the_agent_changes_meanwhile_is_compared_kept_or_taken(
    web, project: str, open_page: Opener
) -> None:
    where = f"/api/projects/{project}/files"
    web.server.post_file(f"{where}/upload", "a.md", b"one\n")
    page = open_page(web.server, f"/p/{project}/files?file=a.md&tab=edit")
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text("one")

    def change(prompt: str, content: str) -> None:
        turns = [Turn(tool_calls=[Call("file_write", {"path": "a.md", "content": content})]), Turn(text="Done.")]
        web.ask(web.conversation(project), prompt, turns)

    def write(text: str) -> None:
        editor.click()
        page.keyboard.press("Control+a")
        page.keyboard.type(text)

    def stored() -> Any:
        return web.server.call("GET", f"{where}/content", params={"path": "a.md"}).text

    banner = page.get_by_role("alert").filter(has_text="A run of the agent changed this file")
    write("mine")
    change("Change the file.", "theirs\n")
    expect(banner).to_be_visible()
    banner.get_by_role("button", name="Compare").click()
    compared = page.get_by_role("dialog")
    expect(compared).to_contain_text("theirs")
    expect(compared).to_contain_text("mine")
    page.keyboard.press("Escape")
    assert stored() == "theirs\n"
    banner.get_by_role("button", name="Keep mine").click()
    expect(banner).to_have_count(0)
    expect(page.get_by_text("All changes are saved.")).to_be_visible()
    assert stored() == "mine"
    write("mine again")
    change("Change the file again.", "their last word\n")
    banner.get_by_role("button", name="Take theirs").click()
    expect(editor).to_contain_text("their last word")
    expect(banner).to_have_count(0)
    assert stored() == "their last word\n"

    open_page.tolerate("404")
    write("kept by me")
    web.server.call("DELETE", f"{where}/content", params={"path": "a.md"})
    page.get_by_role("button", name="Save as a new file").click()
    expect(page.get_by_text("All changes are saved.")).to_be_visible()
    assert stored() == "kept by me"

    # A line found in a file that is too big to edit leads to its page all the same.
    web.server.post_file(f"{where}/upload", "big.txt", b"needle\n" + b"x\n" * 600_000)
    page.goto(f"{web.server.url}/p/{project}/files?file=big.txt&tab=edit&line=1")
    expect(page.get_by_text("This file is too big to show here.")).to_be_visible()
