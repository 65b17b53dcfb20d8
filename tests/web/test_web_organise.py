"""Conversations in order: pinned, tagged, moved, archived, renamed, deleted and brought back, forked, temporary."""

import os

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import Opener, settled
from support.model_server import Turn
from test_web_access import AXE, RUN, TAGS
from test_web_conversation import idle, log, say

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


def titled(web, title: str, project: str | None = None) -> str:
    """A conversation of that title, with one question and its answer; its id."""
    made = web.conversation(project)
    web.ask(made, f"About {title}.", [Turn(text=f"All about {title}.")])
    web.server.call("PATCH", f"/api/conversations/{made}", json={"title": title})
    return str(made)


def stored(web, conversation: str) -> dict:
    return dict(web.server.get(f"/api/conversations/{conversation}"))


def sidebar(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Navigation")


def group(page: Page, name: str) -> Locator:
    return sidebar(page).get_by_role("group", name=name, exact=True)


def open_menu(page: Page, title: str, within: Locator | None = None) -> Locator:
    """The menu of a row, opened by its button."""
    (within or sidebar(page)).get_by_role("button", name=f"Actions for {title}", exact=True).first.click()
    return page.get_by_role("menu")


def choose(page: Page, title: str, item: str, within: Locator | None = None) -> None:
    open_menu(page, title, within).get_by_role("menuitem", name=item).click()


def test_a_right_click_opens_the_menu_of_the_button(web, open_page: Opener) -> None:
    titled(web, "Two ways")
    page = open_page(web.server)
    menu = open_menu(page, "Two ways")
    by_button = menu.get_by_role("menuitem").all_inner_texts()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(sidebar(page).get_by_role("button", name="Actions for Two ways")).to_be_focused()
    sidebar(page).get_by_role("link", name="Two ways").click(button="right")
    expect(menu).to_be_visible()
    assert menu.get_by_role("menuitem").all_inner_texts() == by_button
    assert len(by_button) == 9
    page.keyboard.press("Escape")
    sidebar(page).get_by_role("link", name="Two ways").focus()
    page.keyboard.press("Shift+F10")
    expect(menu.get_by_role("menuitem").first).to_be_focused()


def test_pin_tag_move_and_archive_from_the_sidebar(web, open_page: Opener) -> None:
    project = web.project("Harbour")
    mine = titled(web, "Cranes and ships")
    page = open_page(web.server, f"/c/{mine}")
    choose(page, "Cranes and ships", "Pin")
    expect(group(page, "Pinned").get_by_role("link", name="Cranes and ships")).to_be_visible()
    expect(group(page, "Conversations").get_by_role("link", name="Cranes and ships")).to_have_count(0)

    choose(page, "Cranes and ships", "Tags…")
    field = page.get_by_role("dialog").get_by_label("New tag")
    field.fill("Steel, 港口")
    field.press("Enter")
    field.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("Changed the tags of “Cranes and ships”.", exact=True)).to_be_visible()
    assert stored(web, mine)["tags"] == ["Steel", "港口"]
    sidebar(page).get_by_role("button", name="Filter by tag").click()
    page.get_by_role("menuitemradio", name="港口").click()
    expect(group(page, "Conversations").get_by_role("link")).to_contain_text(["Conversations", "Cranes and ships"])
    sidebar(page).get_by_role("button", name="Show all, not only 港口").click()

    choose(page, "Cranes and ships", "Move to project…")
    page.get_by_role("textbox", name="Find a project").fill("harb")
    expect(page.get_by_role("option").first).to_have_text("Harbour")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/p/{project}/c/{mine}")
    assert stored(web, mine)["project_id"] == project
    group(page, "Projects").get_by_role("button", name="Conversations of Harbour").click()
    expect(group(page, "Projects").get_by_role("link", name="Cranes and ships")).to_be_visible()

    choose(page, "Cranes and ships", "Archive")
    expect(page.get_by_text("This conversation is archived.")).to_be_visible()
    expect(sidebar(page).get_by_role("link", name="Cranes and ships")).to_have_count(0)
    page.goto(f"{web.server.url}/conversations?archived=1")
    main = page.get_by_role("main")
    expect(main.get_by_role("link", name="Cranes and ships")).to_be_visible()
    choose(page, "Cranes and ships", "Take out of the archive", within=main)
    expect(main.get_by_role("link", name="Cranes and ships")).to_have_count(0)
    expect(group(page, "Pinned").get_by_role("link", name="Cranes and ships")).to_be_visible()


def test_a_title_is_changed_where_it_stands(web, open_page: Opener) -> None:
    mine = titled(web, "Old title")
    page = open_page(web.server)
    link = sidebar(page).get_by_role("link", name="Old title")
    link.focus()
    link.press("F2")
    field = page.get_by_role("textbox", name="New title")
    expect(field).to_be_focused()
    field.press("Escape")
    expect(link).to_be_focused()
    choose(page, "Old title", "Rename")
    expect(field).to_be_focused()
    field.fill("新标题")
    field.press("Enter")
    expect(sidebar(page).get_by_role("link", name="新标题")).to_be_focused()
    assert stored(web, mine)["title"] == "新标题"


def test_deleted_is_undone_by_z_or_brought_back_from_the_bin(web, open_page: Opener) -> None:
    mine = titled(web, "Gone today")
    page = open_page(web.server, f"/c/{mine}")
    link = sidebar(page).get_by_role("link", name="Gone today")
    choose(page, "Gone today", "Delete")
    expect(link).to_have_count(0)
    page.wait_for_url(f"{web.server.url}/")
    expect(page.get_by_text("Deleted “Gone today”.", exact=True)).to_be_visible()
    page.keyboard.press("z")
    expect(link).to_be_visible()
    link.focus()
    link.press("Delete")
    expect(link).to_have_count(0)
    page.goto(f"{web.server.url}/settings")
    page.get_by_role("link", name="Open the bin").click()
    row = page.get_by_role("main").get_by_role("listitem").filter(has_text="Gone today")
    expect(row).to_contain_text("30 days left")
    row.get_by_role("button", name="Restore Gone today").click()
    expect(link).to_be_visible()
    expect(row).to_have_count(0)


def test_a_temporary_conversation_is_in_no_list_until_it_is_kept(web, open_page: Opener) -> None:
    web.answers["Between us."] = [Turn(text="Nobody will know.")]
    page = open_page(web.server)
    sidebar(page).get_by_role("button", name="New temporary conversation").click()
    expect(page.get_by_text("Not kept.")).to_be_visible()
    say(page, "Between us.")
    expect(log(page)).to_contain_text("Nobody will know.")
    idle(page)
    expect(page.get_by_role("banner").get_by_text("Temporary")).to_be_visible()
    mine = page.url.rsplit("/", 1)[1]
    assert stored(web, mine)["temporary"] is True
    expect(sidebar(page).get_by_role("link", name="Between us.")).to_have_count(0)
    page.reload()
    page.get_by_role("button", name="Keep it").click()
    expect(sidebar(page).get_by_role("link", name="Between us.")).to_be_visible()
    expect(page.get_by_text("Not kept.")).to_have_count(0)
    assert stored(web, mine)["temporary"] is False


def test_a_fork_takes_the_talk_up_to_a_message_along(web, open_page: Opener) -> None:
    mine = titled(web, "Crossroads")
    web.ask(mine, "Left or right?", [Turn(text="Left.")])
    page = open_page(web.server, f"/c/{mine}")
    article = log(page).get_by_role("article").filter(has_text="All about Crossroads.")
    article.hover()
    article.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Fork from here").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("link", name="Forked from “Crossroads”")).to_be_visible()
    expect(log(page)).to_contain_text("All about Crossroads.")
    expect(log(page)).not_to_contain_text("Left.")
    page.get_by_role("link", name="Forked from “Crossroads”").click()
    expect(log(page)).to_contain_text("Left.")


def test_the_palette_puts_the_open_conversation_in_order(web, open_page: Opener) -> None:
    mine = titled(web, "Palette")
    page = open_page(web.server, f"/c/{mine}")
    expect(log(page)).to_contain_text("All about Palette.")

    def run(words: str, name: str) -> None:
        page.keyboard.press("Control+k")
        page.keyboard.type(words)
        expect(page.get_by_role("option", name=name).first).to_be_visible()
        page.get_by_role("option", name=name).first.click()

    run("this conversation pin", "This conversation: Pin")
    expect(group(page, "Pinned").get_by_role("link", name="Palette")).to_be_visible()
    run("this conversation tags", "This conversation: Tags…")
    expect(page.get_by_role("dialog").get_by_label("New tag")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    run("import", "Import conversations")
    expect(page.get_by_role("dialog", name="Import conversations")).to_be_visible()
    page.keyboard.press("Escape")
    run("bin", "Bin")
    page.wait_for_url("**/bin")


def test_an_answer_elsewhere_marks_its_conversation_as_new(web, open_page: Opener) -> None:
    mine = titled(web, "Elsewhere")
    page = open_page(web.server, f"/c/{mine}")
    expect(log(page)).to_contain_text("All about Elsewhere.")
    page.goto(f"{web.server.url}/conversations")
    row = page.get_by_role("main").get_by_role("listitem").filter(has_text="Elsewhere")
    expect(row).to_be_visible()
    expect(row.get_by_role("img", name="New")).to_have_count(0)
    web.ask(mine, "More, please.", [Turn(text="There is more.")])
    expect(row.get_by_role("img", name="New")).to_be_visible()
    row.get_by_role("link", name="Elsewhere").click()
    expect(log(page)).to_contain_text("There is more.")
    page.go_back()
    expect(row).to_be_visible()
    expect(row.get_by_role("img", name="New")).to_have_count(0)


def axe(page: Page, without: str = "none") -> list[str]:
    """What axe finds wrong while a dialog hides the page behind it, so that nothing else can be waited for."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    return list(page.evaluate(RUN, [TAGS, without]))


@pytest.mark.skipif(
    not AXE.exists() and not os.environ.get("CI"), reason="axe-core is not installed: npm ci in frontend/"
)
def test_axe_finds_nothing_in_menus_and_dialogs_of_lists(web, open_page: Opener) -> None:
    web.project("Axe")
    titled(web, "Looked at")
    page = open_page(web.server, "/conversations", reduced_motion="reduce")
    main = page.get_by_role("main")
    settled(page)
    found = {}
    main.get_by_role("checkbox", name="Select Looked at").check()
    expect(main.get_by_role("group", name="With everything selected")).to_be_visible()
    found["bulk bar"] = axe(page)
    open_menu(page, "Looked at", within=main)
    found["row menu"] = axe(page, without="region")  # as of every open menu: it stands at the end of the document
    page.keyboard.press("Escape")
    for item in ("Tags…", "Move to project…"):
        choose(page, "Looked at", item, within=main)
        expect(page.get_by_role("dialog")).to_be_visible()
        found[item] = axe(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(main.get_by_role("button", name="Actions for Looked at")).to_be_focused()
    main.get_by_role("button", name="Import").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    found["import"] = axe(page)
    assert [f"{name}: {line}" for name, wrong in found.items() for line in wrong] == []
