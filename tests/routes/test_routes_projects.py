"""Projects over HTTP."""

from pathlib import Path

import pytest
from routes_client import Api, ok, problem

from backend.app import Instance


def test_a_project_is_made_changed_deleted_and_restored(api: Api) -> None:
    made = api.post("/api/projects", {"name": "  Report  ", "instructions": "Be brief."})
    project = ok(made, 201)
    assert made.headers["Location"] == f"/api/projects/{project['id']}"
    assert (project["name"], project["instructions"], project["limits"]) == ("Report", "Be brief.", {})
    where = f"/api/projects/{project['id']}"
    changed = ok(api.patch(where, {"name": "Reports", "limits": {"max_steps": 50}, "allowed_tools": ["get_weather"]}))
    assert (changed["name"], changed["limits"], changed["allowed_tools"]) == (
        "Reports",
        {"max_steps": 50},
        ["get_weather"],
    )
    assert changed["instructions"] == "Be brief."
    assert api.delete(where).status_code == 204
    problem(api.get(where), 404, "not_found")
    assert ok(api.get("/api/projects"))["items"] == []
    assert ok(api.post(f"{where}/restore"))["name"] == "Reports"
    problem(api.post(f"{where}/restore"), 404, "not_found")


def test_lists_are_paged_to_the_end_without_gaps(api: Api) -> None:
    made = [api.project(f"p{i}") for i in range(5)]
    seen, cursor, pages = [], None, 0
    while True:
        page = ok(api.get("/api/projects", limit=2, **({"cursor": cursor} if cursor else {})))
        seen += [item["id"] for item in page["items"]]
        pages += 1
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == made[::-1]
    assert pages == 3


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJhIl0", "WzEsMl0", "[]"])
def test_a_foreign_cursor_is_refused(api: Api, cursor: str) -> None:
    assert "cursor" in problem(api.get("/api/projects", cursor=cursor), 422, "validation_failed")["errors"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "   "}, "name"),
        ({"name": 3}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "x", "colour": "red"}, "colour"),
        ({"name": "x", "path": "relative"}, "path"),
        ({"name": "x", "path": "/nowhere/at/all"}, "path"),
        ({"name": "x", "path": "~nobody-of-this-name/x"}, "path"),
        ({"name": "x", "path": "/proc/self/exe"}, "path"),
    ],
)
def test_wrong_fields_are_named(api: Api, body: dict[str, object], field: str) -> None:
    assert field in problem(api.post("/api/projects", body), 422, "validation_failed")["errors"]


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"max_steps": 201}, "limits.max_steps"),
        ({"run_timeout_seconds": 3601}, "limits.run_timeout_seconds"),
        ({"max_steps": True}, "limits.max_steps"),
        ({"steps": 3}, "limits.steps"),
    ],
)
def test_limits_beyond_the_ceiling_are_refused(api: Api, limits: dict[str, object], field: str) -> None:
    where = f"/api/projects/{api.project()}"
    assert field in problem(api.patch(where, {"limits": limits}), 422, "validation_failed")["errors"]


def test_an_existing_folder_becomes_a_project(api: Api, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.txt").write_text("hello")
    project = api.project(path=str(folder))
    assert [f["name"] for f in ok(api.get(f"/api/projects/{project}/files"))["items"]] == ["a.txt"]


def test_the_instance_folder_is_no_project_inside_or_around(api: Api, instance: Instance, tmp_path: Path) -> None:
    own = instance.runtime.settings.instance
    link = tmp_path / "link"
    link.symlink_to(own / "workspaces")
    for path in (own, own / "workspaces", own.parent, Path("/"), link):
        problem(api.post("/api/projects", {"name": "x", "path": str(path)}), 422, "validation_failed")


def test_another_users_project_is_not_there(api: Api, stranger: Api) -> None:
    where = f"/api/projects/{api.project()}"
    problem(stranger.get(where), 404, "not_found")
    problem(stranger.patch(where, {"name": "mine"}), 404, "not_found")
    problem(stranger.delete(where), 404, "not_found")
    problem(stranger.get(f"{where}/files"), 404, "not_found")
    problem(stranger.post("/api/conversations", {"project_id": where.rsplit("/", 1)[1]}), 404, "not_found")
    assert ok(stranger.get("/api/projects"))["items"] == []
