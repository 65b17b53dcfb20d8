"""Conversations and projects are pinned, archived, tagged, kept out of sight and found again, over HTTP."""

from typing import Any

import pytest
from routes_client import Api, ok, problem


def titles(api: Api, **query: Any) -> list[str]:
    """Titles that the list shows, walked page by page."""
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = ok(api.get("/api/conversations", **({"limit": 2} | query), **({"cursor": cursor} if cursor else {})))
        seen += [item["title"] for item in page["items"]]
        cursor = page["next_cursor"]
    return seen


def test_a_new_conversation_is_in_no_order_yet(api: Api) -> None:
    made = ok(api.post("/api/conversations", {"title": "t"}), 201)
    kept = {name: made[name] for name in ("pinned", "archived", "tags", "temporary", "forked_from")}
    assert kept == {"pinned": False, "archived": False, "tags": [], "temporary": False, "forked_from": None}
    [listed] = ok(api.get("/api/conversations"))["items"]
    assert listed.pop("preview") is None
    assert listed.items() <= made.items()


def test_a_list_tells_how_the_last_message_begins(api: Api) -> None:
    where = api.conversation()
    api.say(where, "first line\n\n  second   line " + "x" * 500)
    [listed] = ok(api.get("/api/conversations"))["items"]
    assert listed["preview"].startswith("first line second line xxx")
    assert len(listed["preview"]) == 160


def test_pinned_and_archived_are_patched_and_filtered_without_a_change_of_order(api: Api) -> None:
    old, mid = api.conversation(title="old"), api.conversation(title="mid")
    api.conversation(title="new")
    before = ok(api.get(f"/api/conversations/{old}"))["updated_at"]
    changed = ok(api.patch(f"/api/conversations/{old}", {"pinned": True, "tags": ["a"]}))
    assert (changed["pinned"], changed["archived"], changed["updated_at"]) == (True, False, before)
    ok(api.patch(f"/api/conversations/{mid}", {"archived": True}))
    assert titles(api) == ["new", "old"]
    assert titles(api, archived="true") == ["mid"]
    assert titles(api, archived="any") == ["new", "mid", "old"]
    assert titles(api, pinned="true") == ["old"]
    assert titles(api, pinned="false") == ["new"]
    ok(api.patch(f"/api/conversations/{old}", {"title": "renamed"}))
    assert titles(api, archived="any") == ["renamed", "new", "mid"]


def test_tags_are_trimmed_unique_without_regard_to_case_and_counted(api: Api) -> None:
    project = api.project()
    one = api.conversation(title="one", tags=["  Straße ", "work", "Work", "工作"])
    two = api.conversation(title="two", tags=["STRASSE"], project_id=project)
    assert ok(api.get(f"/api/conversations/{one}"))["tags"] == ["Straße", "work", "工作"]
    assert titles(api, tag=" strasse ") == ["two", "one"]
    assert titles(api, tag="工作") == ["one"]
    assert titles(api, tag="wor") == []
    counted = ok(api.get("/api/conversations/tags"))["items"]
    assert [(c["tag"].casefold(), c["count"]) for c in counted] == [("strasse", 2), ("work", 1), ("工作", 1)]
    assert ok(api.get("/api/conversations/tags", project_id=project))["items"] == [{"tag": "STRASSE", "count": 1}]
    ok(api.patch(f"/api/conversations/{one}", {"tags": []}))
    ok(api.patch(f"/api/conversations/{two}", {"archived": True}))
    assert ok(api.get("/api/conversations/tags"))["items"] == []


@pytest.mark.parametrize(
    "fields",
    [
        {"tags": ["x" * 41]}, {"tags": ["  "]}, {"tags": ["a\nb"]}, {"tags": ["a\0"]}, {"tags": [f"t{i}" for i in range(21)]},
        {"tags": "a"}, {"tags": None}, {"pinned": None}, {"archived": 1}, {"temporary": True}, {"forked_from": None},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_kept_is_refused(api: Api, fields: dict[str, Any]) -> None:
    where = f"/api/conversations/{api.conversation(tags=['before'])}"
    [field] = fields
    errors = problem(api.patch(where, fields), 422, "validation_failed")["errors"]
    assert all(name.startswith(field) for name in errors)
    assert ok(api.get(where))["tags"] == ["before"]


def test_sorting_is_by_use_by_age_and_by_title_to_the_last_page(api: Api) -> None:
    first = api.conversation(title="banana")
    for title in ("Cherry", "apple", "apple", "年" * 300):
        api.conversation(title=title)
    ok(api.patch(f"/api/conversations/{first}", {"title": "Banana"}))
    assert titles(api, sort="updated")[0] == "Banana"
    assert titles(api, sort="created")[-1] == "Banana"
    assert titles(api, sort="title") == ["apple", "apple", "Banana", "Cherry", "年" * 300]
    assert titles(api, q="AN ban") == ["Banana"]
    assert titles(api, q="%") == []
    problem(api.get("/api/conversations", sort="colour"), 422, "validation_failed")
    problem(api.get("/api/conversations", archived="perhaps"), 422, "validation_failed")


def test_a_temporary_conversation_is_in_no_list_and_not_found_until_it_is_kept(api: Api) -> None:
    hidden = api.conversation(title="secret plans", temporary=True, tags=["secret"])
    api.say(hidden, "the treasure lies under the oak 黄金")
    assert titles(api, archived="any") == []
    assert ok(api.get("/api/conversations/tags"))["items"] == []
    for words in ("treasure", "secret", "黄金"):
        assert ok(api.get("/api/search", q=words))["items"] == []
    assert ok(api.get(f"/api/conversations/{hidden}"))["temporary"] is True
    assert api.delete(f"/api/conversations/{hidden}").status_code == 204
    assert titles(api, deleted="true") == []
    ok(api.post(f"/api/conversations/{hidden}/restore"))
    assert ok(api.patch(f"/api/conversations/{hidden}", {"temporary": False}))["temporary"] is False
    assert titles(api) == ["secret plans"]
    for words in ("treasure", "secret", "黄金"):
        assert ok(api.get("/api/search", q=words))["items"]


def test_an_archived_conversation_is_still_found(api: Api) -> None:
    where = api.conversation(title="minutes of the meeting")
    ok(api.patch(f"/api/conversations/{where}", {"archived": True}))
    assert [hit["id"] for hit in ok(api.get("/api/search", q="minutes"))["items"]] == [where]


def test_the_bin_shows_what_can_be_restored_the_last_deleted_first(api: Api, stranger: Api) -> None:
    a, b, c = (api.conversation(title=title) for title in "abc")
    ok(api.patch(f"/api/conversations/{b}", {"archived": True}))
    for one in (b, a):
        assert api.delete(f"/api/conversations/{one}").status_code == 204
    assert titles(api, deleted="true") == ["a", "b"]
    assert titles(api) == ["c"]
    assert all(item["deleted_at"] for item in ok(api.get("/api/conversations", deleted="true"))["items"])
    assert titles(stranger, deleted="true") == []
    assert ok(api.post(f"/api/conversations/{b}/restore"))["archived"] is True
    assert titles(api, deleted="true") == ["a"]
    assert c


def test_projects_are_pinned_archived_and_lie_in_the_bin(api: Api) -> None:
    old, new = api.project("old"), api.project("new")

    def names(**query: str) -> list[str]:
        return [item["name"] for item in ok(api.get("/api/projects", **query))["items"]]

    before = ok(api.get(f"/api/projects/{old}"))["updated_at"]
    changed = ok(api.patch(f"/api/projects/{old}", {"pinned": True, "archived": True}))
    assert (changed["pinned"], changed["archived"], changed["updated_at"]) == (True, True, before)
    assert names() == ["new"]
    assert names(archived="true") == ["old"]
    assert names(archived="any") == ["new", "old"]
    for one in (new, old):
        assert api.delete(f"/api/projects/{one}").status_code == 204
    assert names(deleted="true") == ["old", "new"]
    assert names(archived="any") == []
    assert ok(api.post(f"/api/projects/{old}/restore"))["archived"] is True
    problem(api.patch(f"/api/projects/{old}", {"pinned": None}), 422, "validation_failed")


def test_what_lies_in_the_bin_is_deleted_for_good(api: Api, stranger: Api) -> None:
    talk, project = api.conversation(title="secret"), api.project("secret")
    for kind, one in (("conversations", talk), ("projects", project)):
        where = f"/api/{kind}/{one}"
        problem(api.delete(f"{where}?for_good=true"), 404, "not_found")  # the bin comes first
        assert api.delete(where).status_code == 204
        problem(stranger.delete(f"{where}?for_good=true"), 404, "not_found")
        assert len(ok(api.get(f"/api/{kind}", deleted="true"))["items"]) == 1
        assert api.delete(f"{where}?for_good=true").status_code == 204
        assert ok(api.get(f"/api/{kind}", deleted="true"))["items"] == []
        problem(api.post(f"{where}/restore"), 404, "not_found")
