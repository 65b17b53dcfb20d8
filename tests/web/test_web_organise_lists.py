"""Pages of conversations and projects: finding, sorting, many at once; taking data along and bringing it in."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect
from support.browser import Opener, settled
from test_web_conversation import log
from test_web_organise import choose, group, sidebar, stored, titled

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

DROP = """(zone, text) => {
  const data = new DataTransfer()
  data.items.add(new File([text], 'talks.json', { type: 'application/json' }))
  for (const type of ['dragenter', 'dragover', 'drop']) zone.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }))
}"""


def pick(page: Page, *titles: str) -> None:
    for title in titles:
        page.get_by_role("main").get_by_role("checkbox", name=f"Select {title}", exact=True).check()


def test_many_conversations_of_a_project_are_put_in_order_at_once(web, open_page: Opener) -> None:
    project, other = web.project("Museum"), web.project("Depot")
    ids = [titled(web, f"Room {letter}", project) for letter in "CAB"]
    page = open_page(web.server, f"/p/{project}")
    main = page.get_by_role("main")
    rows = main.get_by_role("link", name="Room")
    expect(rows).to_have_text(["Room B", "Room A", "Room C"])
    main.get_by_role("combobox", name="Sort by").click()
    page.get_by_role("option", name="Title").click()
    expect(rows).to_have_text(["Room A", "Room B", "Room C"])
    page.reload()
    expect(rows).to_have_text(["Room A", "Room B", "Room C"])
    main.get_by_role("searchbox", name="Find a conversation").fill("room b")
    expect(rows).to_have_text(["Room B"])
    page.wait_for_url("**q=room+b**")
    main.get_by_role("searchbox").fill("")
    expect(rows).to_have_count(3)

    bulk = main.get_by_role("group", name="With everything selected")
    pick(page, "Room A", "Room C")
    expect(bulk).to_contain_text("2 selected")
    bulk.get_by_role("button", name="Pin").click()
    expect(group(page, "Pinned").get_by_role("link", name="Room C")).to_be_visible()
    expect(rows).to_have_text(["Room A", "Room C", "Room B"])
    bulk.get_by_role("button", name="Move to project…").click()
    page.get_by_role("option", name="Depot").click()
    expect(rows).to_have_text(["Room B"])
    assert {stored(web, one)["project_id"] for one in ids[:2]} == {other}
    page.get_by_role("button", name="Undo").last.click()
    expect(rows).to_have_count(3)

    pick(page, "Room A", "Room C")
    with page.expect_download() as download:
        bulk.get_by_role("button", name="Export").click()
    taken = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert taken["format"] == "nanoclaw.conversations"
    assert [one["title"] for one in taken["conversations"]] == ["Room A", "Room C"]
    assert all(one["messages"] for one in taken["conversations"])
    expect(bulk).to_contain_text("2 selected")
    bulk.get_by_role("checkbox").click()
    expect(bulk).to_contain_text("3 selected")
    bulk.get_by_role("button", name="Archive").click()
    expect(main.get_by_text("No conversations in this project yet")).to_be_visible()
    main.get_by_role("combobox", name="Which ones").click()
    page.get_by_role("option", name="Archived").click()
    expect(rows).to_have_count(3)
    pick(page, "Room A", "Room B", "Room C")
    bulk.get_by_role("button", name="Delete").click()
    expect(main.get_by_text("Nothing is archived")).to_be_visible()
    page.get_by_role("button", name="Undo").last.click()
    expect(rows).to_have_count(3)


def test_projects_are_pinned_archived_deleted_and_brought_back(web, open_page: Opener) -> None:
    for name in ("Alpha works", "Beta works"):
        web.project(name)
    page = open_page(web.server, "/projects")
    main = page.get_by_role("main")
    main.get_by_role("searchbox").fill("works")
    cards = main.get_by_role("article")
    expect(cards).to_have_count(2)
    choose(page, "Alpha works", "Pin", within=main)
    expect(main.get_by_role("article").filter(has_text="Alpha works").get_by_role("img", name="Pinned")).to_be_visible()
    choose(page, "Beta works", "Rename", within=main)
    page.get_by_role("textbox", name="New title").fill("Gamma works")
    page.keyboard.press("Enter")
    expect(group(page, "Projects").get_by_role("link", name="Gamma works")).to_be_visible()

    pick(page, "Alpha works", "Gamma works")
    main.get_by_role("group", name="With everything selected").get_by_role("button", name="Archive").click()
    expect(cards).to_have_count(0)
    expect(group(page, "Projects").get_by_role("link", name="Alpha works")).to_have_count(0)
    main.get_by_role("combobox", name="Which ones").click()
    page.get_by_role("option", name="Archived").click()
    expect(cards).to_have_count(2)
    choose(page, "Gamma works", "Take out of the archive", within=main)
    expect(cards).to_have_count(1)

    choose(page, "Alpha works", "Delete…", within=main)
    asking = page.get_by_role("dialog")
    expect(asking.get_by_role("button", name="Delete")).to_be_disabled()
    asking.get_by_role("textbox").fill("Alpha works")
    asking.get_by_role("button", name="Delete").click()
    expect(cards).to_have_count(0)
    page.goto(f"{web.server.url}/bin?tab=projects")
    page.get_by_role("button", name="Restore Alpha works").click()
    page.goto(f"{web.server.url}/projects?archived=1")
    expect(cards.filter(has_text="Alpha works")).to_be_visible()


def test_the_bin_shows_all_that_is_in_it_and_lets_go_of_it_for_good(web, open_page: Opener) -> None:
    project = web.project("Barn")
    for number in range(101):
        made = web.server.post("/api/conversations", {"title": f"Straw {number}"})["id"]
        web.server.call("DELETE", f"/api/conversations/{made}")
    web.server.call("DELETE", f"/api/projects/{project}")
    page = open_page(web.server, "/bin")
    main = page.get_by_role("main")
    expect(main.get_by_text("Straw 1", exact=True)).to_be_visible()
    expect(main.get_by_text("Straw 0", exact=True)).to_have_count(0)
    main.get_by_role("button", name="Show more").click()
    expect(main.get_by_text("Straw 0", exact=True)).to_be_visible()
    main.get_by_role("button", name="Delete Straw 0 for good").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete for good").click()
    expect(main.get_by_text("Straw 0", exact=True)).to_have_count(0)
    expect(main).to_be_focused()
    left = web.server.get("/api/conversations?deleted=true&limit=200")["items"]
    assert {"Straw 0", "Straw 1"} & {one["title"] for one in left} == {"Straw 1"}

    main.get_by_role("tab", name="Projects").click()
    main.get_by_role("button", name="Delete Barn for good").click()
    sure = page.get_by_role("dialog").get_by_role("button", name="Delete for good")
    expect(sure).to_be_disabled()
    page.get_by_role("dialog").get_by_role("textbox").fill("Barn")
    sure.click()
    expect(main.get_by_text("Barn", exact=True)).to_have_count(0)
    assert project not in [one["id"] for one in web.server.get("/api/projects?deleted=true")["items"]]


def test_a_new_project_is_described_and_filled_where_it_stands(web, open_page: Opener) -> None:
    project = web.project("Nursery")
    page = open_page(web.server, f"/p/{project}")
    main = page.get_by_role("main")
    main.get_by_role("button", name="Change the name").click()
    field = main.get_by_role("textbox", name="Change the name")
    field.fill("")
    expect(main.get_by_role("button", name="Save")).to_be_disabled()
    field.fill("Tree nursery")
    field.press("Enter")
    expect(main.get_by_role("heading", name="Tree nursery")).to_be_visible()
    expect(main.get_by_role("button", name="Change the name")).to_be_focused()
    main.get_by_role("button", name="Add instructions for the agent").click()
    page.keyboard.insert_text("Name trees in Latin.\nThen in English.")
    page.keyboard.press("Control+Enter")
    main.get_by_text("Instructions for the agent", exact=True).click()
    expect(main.get_by_text("Name trees in Latin.")).to_be_visible()
    main.get_by_role("button", name="Change the instructions").click()
    page.keyboard.insert_text("Never kept. ")
    page.keyboard.press("Escape")
    expect(main.get_by_role("button", name="Change the instructions")).to_be_focused()
    kept = web.server.get(f"/api/projects/{project}")
    assert (kept["name"], kept["instructions"]) == ("Tree nursery", "Name trees in Latin.\nThen in English.")

    expect(main.get_by_role("link", name="Start a conversation")).to_be_visible()
    dropped = page.evaluate_handle(
        "() => { const d = new DataTransfer(); d.items.add(new File(['oak'], 'trees.txt')); return d }"
    )
    page.dispatch_event("main .empty", "drop", {"dataTransfer": dropped})
    expect(main.get_by_text("1 of 1 uploaded")).to_be_visible()
    main.get_by_role("link", name="Open the files page").click()
    expect(main.get_by_role("button", name="trees.txt", exact=True)).to_be_visible()


def test_a_deleted_file_is_brought_back_from_the_bin(web, open_page: Opener) -> None:
    project = web.project("Aaa files")
    web.server.post_file(f"/api/projects/{project}/files/upload", "lost.txt", b"found again")
    web.server.call("DELETE", f"/api/projects/{project}/files/content?path=lost.txt")
    page = open_page(web.server, "/bin?tab=files")
    page.get_by_role("combobox", name="Project").click()
    page.get_by_role("option", name="Aaa files").click()
    page.get_by_role("button", name="Restore lost.txt").click()
    expect(page.get_by_text("No deleted file in this project")).to_be_visible()
    found = web.server.call("GET", f"/api/projects/{project}/files/content?path=lost.txt")
    assert found.content == b"found again"


def test_what_was_exported_is_imported_again(web, open_page: Opener, tmp_path: Path) -> None:
    project = web.project("Archive of old")
    titled(web, "Taken along")
    page = open_page(web.server, "/conversations")
    main = page.get_by_role("main")
    with page.expect_download() as text:
        choose(page, "Taken along", "Export as Markdown", within=main)
    assert "All about Taken along." in Path(text.value.path()).read_text(encoding="utf-8")
    assert text.value.suggested_filename.endswith(".md")
    with page.expect_download() as data:
        choose(page, "Taken along", "Export as JSON", within=main)
    file = tmp_path / "talk.json"
    data.value.save_as(file)

    main.get_by_role("button", name="Import").click()
    dialog = page.get_by_role("dialog", name="Import conversations")
    with page.expect_file_chooser() as chooser:
        dialog.get_by_role("button", name="Choose a file…").click()
    chooser.value.set_files(file)
    dialog.get_by_role("combobox", name="Put them into").click()
    page.get_by_role("option", name="Archive of old").click()
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog).to_contain_text("1 conversation imported")
    dialog.get_by_role("link", name="Taken along").click()
    page.wait_for_url(f"**/p/{project}/c/**")
    expect(log(page)).to_contain_text("All about Taken along.")
    expect(dialog).to_have_count(0)


def test_a_wrong_file_is_refused_in_words_and_what_is_left_out_is_told(web, open_page: Opener) -> None:
    open_page.tolerate("422")
    titled(web, "Good one")
    whole = web.server.get("/api/export")
    good = next(one for one in whole["conversations"] if one["title"] == "Good one")
    page = open_page(web.server, "/projects")
    settled(page)
    page.get_by_role("main").get_by_role("heading", name="Projects", exact=True).evaluate(
        DROP, json.dumps({"format": "other"})
    )
    dialog = page.get_by_role("dialog", name="Import conversations")
    expect(dialog).to_contain_text("talks.json")
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing was imported")
    mixed = {**whole, "conversations": [{**good, "title": "Good copy"}, {**good, "title": "Bad copy", "messages": 7}]}
    payload = FilePayload(name="mixed.json", mimeType="application/json", buffer=json.dumps(mixed).encode())
    dialog.locator("input[type=file]").set_input_files(payload)
    expect(dialog.get_by_role("alert")).to_have_count(0)
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog).to_contain_text("1 conversation imported")
    expect(dialog).to_contain_text("1 left out")
    expect(dialog).to_contain_text("Bad copy")
    dialog.get_by_role("button", name="Close").last.click()
    expect(sidebar(page).get_by_role("link", name="Good copy")).to_be_visible()


def test_everything_can_be_taken_along_from_the_settings(web, open_page: Opener) -> None:
    titled(web, "Part of everything")
    page = open_page(web.server, "/settings")
    with page.expect_download() as data:
        page.get_by_role("link", name="Export", exact=True).click()
    whole = json.loads(Path(data.value.path()).read_text(encoding="utf-8"))
    assert whole["format"] == "nanoclaw.conversations"
    assert "Part of everything" in [one["title"] for one in whole["conversations"]]

    # A session of its own, as the other tests share theirs.
    page.goto(web.server.login_link())
    page.goto(f"{web.server.url}/settings")
    open_page.tolerate("401")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{web.server.url}/login")
    page.goto(f"{web.server.url}/settings")
    expect(page).to_have_url(f"{web.server.url}/login?next=/settings")
