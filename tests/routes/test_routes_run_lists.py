"""Lists of runs with their figures, what calls were given unseen, and a person's own limits of runs."""

import json
from typing import Any

import pytest
from routes_client import Api, ok, problem

from backend.app import Instance
from backend.models import Run
from backend.routes.schemas import answers, run_answers


def hand_run(api: Api, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    call: dict[str, Any] = ok(api.post(f"/api/tools/{tool}/execute", {"arguments": arguments, **more}))
    return call


def test_a_list_of_runs_counts_calls_and_failures(api: Api) -> None:
    good = hand_run(api, "calculator", {"expression": "2+2"})
    bad = hand_run(api, "calculator", {})
    idle = ok(api.post("/api/tasks", {"input": "x"}), 202)
    items = ok(api.get("/api/runs"))["items"]
    for item in items:
        run_answers.ListedRun.model_validate(item)
    counted = {run["id"]: (run["call_count"], run["failure_count"]) for run in items}
    assert counted == {good["run_id"]: (1, 0), bad["run_id"]: (1, 1), idle["id"]: (0, 0)}


def test_the_runs_of_helpers_are_found_by_their_parent(api: Api, instance: Instance) -> None:
    parent, other = (ok(api.post("/api/tasks", {"input": "x"}), 202)["id"] for _ in range(2))
    with instance.runtime.db.write() as session:
        owner = session.get_one(Run, parent).owner_id
        session.add(Run(id="child", kind="child", status="completed", owner_id=owner, parent_run_id=parent))
    assert [run["id"] for run in ok(api.get("/api/runs", parent_run_id=parent))["items"]] == ["child"]
    assert ok(api.get("/api/runs", parent_run_id=other))["items"] == []


def test_a_call_tells_what_it_was_given_beside_the_models_arguments(api: Api, stranger: Api) -> None:
    project = api.project("Papers")
    call = hand_run(api, "file_list", {"path": "."}, project_id=project)
    where = f"/api/runs/{call['run_id']}/calls/{call['id']}/context"
    answer = ok(api.get(where))
    answers.page_of(run_answers.Injected).model_validate(answer)
    given = {item["key"]: item for item in answer["items"]}
    assert set(given) == {"project_id", "run_id", "call_id", "user_id"}
    assert (given["project_id"]["value"], given["project_id"]["name"]) == (project, "Papers")
    assert (given["run_id"]["value"], given["call_id"]["value"]) == (call["run_id"], call["id"])
    assert given["user_id"]["name"] == "Owner"
    assert not {item["argument"] for item in answer["items"]} & set(json.loads(call["function"]["arguments"]))
    plain = hand_run(api, "calculator", {"expression": "1"})
    assert ok(api.get(f"/api/runs/{plain['run_id']}/calls/{plain['id']}/context"))["items"] == []
    problem(api.get(f"/api/runs/{call['run_id']}/calls/none/context"), 404, "not_found")
    problem(stranger.get(where), 404, "not_found")


def test_what_lives_in_the_process_only_is_told_by_name(api: Api) -> None:
    call = hand_run(api, "execute_python", {"code": "1"})
    items = ok(api.get(f"/api/runs/{call['run_id']}/calls/{call['id']}/context"))["items"]
    assert {item["key"]: item["value"] for item in items}["cancelled"] is None


def test_a_persons_own_limits_are_used_where_nothing_else_is_said(api: Api) -> None:
    kept = ok(api.patch("/api/auth/me", {"settings": {"limits": {"max_steps": 7, "run_timeout_seconds": 90}}}))
    assert kept["settings"]["limits"] == {"max_steps": 7, "run_timeout_seconds": 90}
    task = ok(api.post("/api/tasks", {"input": "x"}), 202)["limits"]
    assert (task["max_steps"], task["run_timeout_seconds"], task["max_retries_per_tool"]) == (7, 90, 2)
    asked = ok(api.post("/api/tasks", {"input": "x", "limits": {"max_steps": 3}}), 202)["limits"]
    assert (asked["max_steps"], asked["run_timeout_seconds"]) == (3, 90)
    project = api.project()
    ok(api.patch(f"/api/projects/{project}", {"limits": {"run_timeout_seconds": 30}}))
    conversation = api.conversation(project_id=project)
    said = api.say(conversation, "x")["run"]["limits"]
    assert (said["max_steps"], said["run_timeout_seconds"]) == (7, 30)
    ok(api.patch("/api/auth/me", {"settings": {"limits": None}}))
    assert ok(api.post("/api/tasks", {"input": "x"}), 202)["limits"]["max_steps"] == 20


@pytest.mark.parametrize("limits", [{"max_steps": 201}, {"max_steps": "9"}, {"speed": 1}, 5, {"max_steps": True}])
def test_limits_beyond_the_ceilings_are_refused_in_the_settings(api: Api, limits: Any) -> None:
    body = problem(api.patch("/api/auth/me", {"settings": {"limits": limits}}), 422, "validation_failed")
    assert all(field.startswith("settings.limits") for field in body["errors"])
    assert "limits" not in ok(api.get("/api/auth/me"))["settings"]


def test_usage_and_queue_are_told_as_documented(api: Api, instance: Instance, stranger: Api) -> None:
    task = ok(api.post("/api/tasks", {"input": "x"}), 202)
    with instance.runtime.db.write() as session:
        session.get_one(Run, task["id"]).model = "big"
    found = ok(api.get("/api/stats/runs", period="weekly"))
    answers.RunStats.model_validate(found)
    assert (found["runs"], found["ended"], [m["model"] for m in found["models"]]) == (1, 0, ["big"])
    assert ok(stranger.get("/api/stats/runs"))["runs"] == 0
    problem(api.get("/api/stats/runs", period="hourly"), 422, "validation_failed")
    queue = ok(stranger.get("/api/stats/queue"))
    answers.QueueStats.model_validate(queue)
    assert (queue["waiting"], queue["running"]) == (1, 0)
