"""Tools by hand, their switches, search, usage and providers over HTTP."""

import json
from typing import Any

import pytest
from routes_client import Api, ok, problem

from backend.app import Instance
from backend.routes.schemas import answers, run_answers
from backend.tools import ToolRegistry, tool
from backend.tools.core import registry


def execute(api: Api, name: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    call: dict[str, Any] = ok(api.post(f"/api/tools/{name}/execute", {"arguments": arguments, **more}))
    run_answers.Call.model_validate(call)
    return call


@pytest.fixture
def extra() -> ToolRegistry:
    """The registry, with what a test adds taken out again."""
    before = registry.all()
    yield registry
    registry.replace_all(before)


def events_of(api: Api, run_id: str, after: int = 0) -> list[tuple[int, str, dict[str, Any]]]:
    """Every event of a run that has ended."""
    text = api.get(f"/api/runs/{run_id}/events", after=after).get_data(as_text=True)
    events = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in lines:
            events.append((int(lines["id"]), lines["event"], json.loads(lines["data"])))
    return events


def test_a_tool_run_by_hand_is_a_call_and_a_recorded_run(api: Api) -> None:
    call = execute(api, "get_weather", {"city": "Lisbon"})
    assert (call["status"], call["success"], call["function"]["name"]) == ("success", True, "get_weather")
    assert json.loads(call["result"])["success"] is True
    run = ok(api.get(f"/api/runs/{call['run_id']}"))
    assert (run["kind"], run["status"], run["stop_reason"], run["step_count"]) == (
        "manual",
        "completed",
        "completed",
        1,
    )
    assert run["started_at"] <= run["finished_at"]
    (step,) = ok(api.get(f"/api/runs/{call['run_id']}/steps"))["items"]
    (stored,) = step["tool_calls"]
    assert stored == {name: value for name, value in call.items() if name != "run_id"}
    whole = api.get(f"/api/runs/{call['run_id']}/calls/{call['id']}/result")
    assert (whole.mimetype, whole.get_data(as_text=True)) == ("application/json", call["result"])


def test_the_events_of_a_hand_run_are_complete_and_can_be_resumed(api: Api) -> None:
    call = execute(api, "get_weather", {"city": "Lisbon"})
    events = events_of(api, call["run_id"])
    assert [e[0] for e in events] == list(range(1, len(events) + 1))
    assert [e[1] for e in events] == [
        "run.started", "step.started", "tool_call.started", "tool_call.finished", "step.finished", "run.finished",
    ]  # fmt: skip
    assert all(e[2]["run_id"] == call["run_id"] for e in events)
    assert events_of(api, call["run_id"], after=3) == events[3:]
    header = api.open("GET", f"/api/runs/{call['run_id']}/events?after=0", headers={"Last-Event-ID": "5"})
    assert header.get_data(as_text=True).count("event:") == 1
    assert api.get(f"/api/runs/{call['run_id']}/events", after=6).status_code == 204
    wrong = api.open("GET", f"/api/runs/{call['run_id']}/events", headers={"Last-Event-ID": "-1"})
    problem(wrong, 422, "validation_failed")


def test_a_failing_tool_is_a_call_that_says_why(api: Api) -> None:
    call = execute(api, "get_weather", {})
    assert (call["status"], call["success"]) == ("error", False)
    run = ok(api.get(f"/api/runs/{call['run_id']}"))
    assert (run["status"], run["stop_reason"], run["error"]["code"]) == ("failed", "error", "invalid_arguments")


def test_file_tools_by_hand_work_in_the_project_and_are_recorded(api: Api) -> None:
    project = api.project()
    execute(api, "file_write", {"path": "a.txt", "content": "hi"}, project_id=project)
    assert api.get(f"/api/projects/{project}/files/content", path="a.txt").data == b"hi"
    call = execute(api, "file_write", {"path": "a.txt", "content": "ho"}, project_id=project)
    (change,) = ok(api.get(f"/api/projects/{project}/changes", run_id=call["run_id"]))["items"]
    assert (change["action"], change["path"], change["call_id"]) == ("write", "a.txt", call["id"])
    outside = execute(api, "file_read", {"path": "../../nanoclaw.db"}, project_id=project)
    assert outside["success"] is False
    assert "Path is outside project directory" in outside["result"]


def test_a_tool_cannot_be_pointed_at_another_users_project(api: Api, stranger: Api) -> None:
    project = api.project()
    body = {"arguments": {"path": "a.txt", "project_id": project}, "project_id": project}
    problem(stranger.post("/api/tools/file_read/execute", body), 404, "not_found")
    own = stranger.project()
    call = execute(stranger, "file_list", {"path": "", "project_id": project}, project_id=own)
    assert project not in call["result"]


def test_an_unknown_tool_is_not_found(api: Api) -> None:
    problem(api.post("/api/tools/nothing/execute", {"arguments": {}}), 404, "unknown_tool")
    problem(api.patch("/api/tools/nothing", {"enabled": False}), 404, "not_found")


def test_a_denied_or_switched_off_tool_is_refused_by_hand_too(api: Api) -> None:
    for change in ({"policy": "deny"}, {"policy": None, "enabled": False}):
        changed = ok(api.patch("/api/tools/get_weather", change))
        assert changed["enabled"] is change.get("enabled", True)
        assert execute(api, "get_weather", {"city": "Oslo"})["status"] == "permission_denied"
    ok(api.patch("/api/tools/get_weather", {"enabled": True}))
    assert execute(api, "get_weather", {"city": "Oslo"})["status"] == "success"


def test_the_list_holds_every_tool_with_its_figures(api: Api) -> None:
    execute(api, "get_weather", {"city": "Bern"})
    listed = {t["name"]: t for t in ok(api.get("/api/tools"))["items"]}
    assert list(listed) == sorted(listed)
    weather = listed["get_weather"]
    answers.Tool.model_validate(weather)
    assert (weather["policy"], weather["enabled"], weather["read_only"], weather["error"]) == (
        "allow",
        True,
        True,
        None,
    )
    assert weather["stats"]["calls"] == 1
    assert "project_id" not in json.dumps(listed["file_read"]["parameters"])


def test_a_result_of_50_mb_stays_downloadable_and_ranged(api: Api, extra: ToolRegistry) -> None:
    @tool("much", "Gives much.", category="tests", read_only=True)
    def much(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"text": "x" * 50_000_000}

    call = execute(api, "much", {})
    assert call["result_truncated"] is True
    assert len(call["result"]) < 20_000
    where = f"/api/runs/{call['run_id']}/calls/{call['id']}/result"
    part = api.open("GET", where, headers={"Range": "bytes=0-14"})
    assert (part.status_code, part.data) == (206, b'{"success": tru')
    assert int(part.headers["Content-Range"].split("/")[1]) == call["result_size"]


def test_tools_of_the_instance_folder_are_loaded_on_reload(api: Api, instance: Instance, extra: ToolRegistry) -> None:
    folder = instance.runtime.settings.instance / "tools"
    (folder / "good.py").write_text(
        "from backend.tools import tool\n"
        "@tool('greet', 'Greets.', read_only=True)\n"
        "def greet(arguments):\n    return {'hello': 'world'}\n"
    )
    (folder / "broken.py").write_text("import nothing_like_this\n")
    for path in folder.iterdir():
        path.chmod(0o600)
    loaded = ok(api.post("/api/tools/reload"))
    assert [e["file"] for e in loaded["errors"]] == ["broken.py"]
    assert json.loads(execute(api, "greet", {})["result"])["data"] == {"hello": "world"}
    assert ok(api.get("/api/tools"))["file_errors"] == loaded["errors"]
    for path in folder.glob("*.py"):
        path.unlink()
    ok(api.post("/api/tools/reload"))
    assert registry.get("greet") is None


# ---------------------------------------------------------------- tasks
def test_a_task_is_a_run_that_can_be_polled(api: Api) -> None:
    task = ok(api.post("/api/tasks", {"input": "count", "limits": {"max_steps": 3}}), 202)
    assert (task["status"], task["kind"], task["limits"]["max_steps"]) == ("queued", "task", 3)
    status = ok(api.get(f"/api/tasks/{task['id']}/status"))
    assert status == {
        "id": task["id"], "status": "queued", "stop_reason": None, "step_count": 0, "output": None, "error": None,
    }  # fmt: skip
    assert ok(api.get("/api/runs", kind="task"))["items"][0]["id"] == task["id"]
    call = execute(api, "get_weather", {"city": "Bern"})
    problem(api.get(f"/api/tasks/{call['run_id']}"), 404, "not_found")


def test_a_task_is_checked_like_a_message(api: Api) -> None:
    problem(api.post("/api/tasks", {"input": " "}), 422, "validation_failed")
    problem(api.post("/api/tasks", {"input": "x", "project_id": "none"}), 404, "not_found")
    problem(api.post("/api/tasks", {"input": "x", "tools": ["nothing"]}), 422, "validation_failed")


# ---------------------------------------------------------------- search
def test_messages_titles_and_projects_are_found(api: Api, stranger: Api) -> None:
    project = api.project("Quarterly figures")
    conversation = api.conversation(title="Weather in Lisbon", project_id=project)
    api.say(conversation, 'The "quick" brown 100% fox_trot met 上海的狐狸')
    found = {
        "quick brown": "message", "BROWN": "message", "狐狸": "message", "上海的": "message", "海": "message",
        "100%": "message", "fox_trot": "message", '"quick"': "message", "Lisbon": "conversation",
        "figures": "project", "me": "message", "a met": None, "AND": None, "quick NOT brown": None, "%": "message",
        "___": None, "text:quick": None, "*": None, '"': "message", "\x00": None,
    }  # fmt: skip
    for words, kind in found.items():
        kinds = [hit["type"] for hit in ok(api.get("/api/search", q=words))["items"]]
        assert (kind in kinds) if kind else kinds == [], words
        assert ok(stranger.get("/api/search", q=words))["items"] == []
    hit = ok(api.get("/api/search", q="brown"))["items"][0]
    assert (hit["conversation_id"], hit["project_id"], hit["title"]) == (conversation, project, "Weather in Lisbon")
    assert "brown" in hit["snippet"]


def test_what_is_deleted_or_renamed_is_no_longer_found(api: Api) -> None:
    conversation = api.conversation(title="Old title")
    where = f"/api/conversations/{conversation}"
    api.patch(where, {"title": "New name"})
    assert ok(api.get("/api/search", q="Old title"))["items"] == []
    assert ok(api.get("/api/search", q="New name"))["items"][0]["id"] == conversation
    api.delete(where)
    for words in ("New name", "Ne"):
        assert ok(api.get("/api/search", q=words))["items"] == []


def test_search_is_paged(api: Api) -> None:
    for i in range(5):
        api.project(f"needle {i}")
    first = ok(api.get("/api/search", q="needle", limit=3))
    rest = ok(api.get("/api/search", q="needle", limit=3, cursor=first["next_cursor"]))
    assert len({hit["id"] for hit in first["items"] + rest["items"]}) == 5
    assert rest["next_cursor"] is None


# ---------------------------------------------------------------- providers and usage
def test_a_providers_key_is_written_never_read(api: Api, instance: Instance) -> None:
    made = ok(
        api.post(
            "/api/admin/providers",
            {"name": "local", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-very-secret", "models": ["m1"]},
        ),
        201,
    )
    assert (made["has_key"], made["models"]) == (True, ["m1"])
    where = f"/api/admin/providers/{made['id']}"
    assert "secret" not in api.get("/api/admin/providers").get_data(as_text=True)
    assert b"very-secret" not in (instance.runtime.settings.instance / "nanoclaw.db").read_bytes()
    problem(api.post("/api/admin/providers", {"name": "local", "base_url": "http://x"}), 409, "conflict")
    problem(api.post("/api/admin/providers", {"name": "other"}), 422, "validation_failed")
    assert ok(api.patch(where, {"name": "renamed"}))["has_key"] is True
    assert ok(api.patch(where, {"api_key": None}))["has_key"] is False
    assert api.delete(where).status_code == 204
    problem(api.patch(where, {"name": "x"}), 404, "not_found")


def test_what_a_providers_models_have_taught_is_shown_with_it(api: Api, instance: Instance) -> None:
    names = ("one", "one more")
    first, second = (ok(api.post("/api/admin/providers", {"name": n, "base_url": "http://x"}), 201) for n in names)
    assert first["lessons"] == {}
    memory = instance.runtime.catalogue.memory
    memory.learn(f"{first['id']}/a/model", {"stream": False})
    memory.learn(f"{second['id']}/m", {"tools": False})
    memory.forget(f"{second['id']}/m")
    shown = {row["name"]: row["lessons"] for row in ok(api.get("/api/admin/providers"))["items"]}
    assert {model: lessons["stream"] for model, lessons in shown["one"].items()} == {"a/model": False}
    assert shown["one more"] == {}
    assert ok(api.patch(f"/api/admin/providers/{first['id']}", {"models": ["a/model"]}))["lessons"] == shown["one"]


def test_usage_is_summed_by_period(api: Api, instance: Instance) -> None:
    from backend.models import Run

    for _ in range(2):
        task = ok(api.post("/api/tasks", {"input": "x"}), 202)
        with instance.runtime.db.write() as session:
            run = session.get_one(Run, task["id"])
            run.prompt_tokens, run.completion_tokens, run.cost_micros = 10, 5, 70
    for period in ("daily", "weekly", "monthly"):
        (item,) = ok(api.get("/api/stats/tokens", period=period))["items"]
        assert (item["runs"], item["total_tokens"], item["cost_micros"]) == (2, 30, 140)
    problem(api.get("/api/stats/tokens", period="hourly"), 422, "validation_failed")
