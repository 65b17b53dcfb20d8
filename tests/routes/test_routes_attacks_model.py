"""What a model that was talked into it asks for: forged context, odd names and ids, arguments made to break readers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from routes_client import Api, ok
from support.model_server import Call, ModelServer, Turn

from backend.app import Instance
from backend.settings import Settings
from backend.tools import registry

ENDED = ("completed", "failed", "cancelled", "timeout", "max_steps")


@pytest.fixture
def settings(settings: Settings, model: ModelServer) -> Settings:
    """An instance that talks to the scripted model."""
    return replace(settings, openai_base_url=model.url, openai_api_key="sk-a-secret", openai_model="scripted-model")


@pytest.fixture
def attack(api: Api, working: Instance, model: ModelServer) -> Any:
    """Runs a task in a project of its own whose model makes these calls; its run's calls, in order."""

    def run(*calls: Call) -> list[dict[str, Any]]:
        model.script("*", [Turn(tool_calls=calls), Turn(text="done")])
        task = ok(api.post("/api/tasks", {"input": "go", "project_id": api.project()}), 202)
        api.get(f"/api/runs/{task['id']}/events")
        status = ok(api.get(f"/api/tasks/{task['id']}/status"))
        assert (status["status"], status["error"]) == ("completed", None)
        assert model.violations == []
        steps = ok(api.get(f"/api/runs/{task['id']}/steps"))["items"]
        return [call for step in steps for call in step["tool_calls"]]

    return run


def test_forged_context_reaches_no_other_project(api: Api, attack: Any) -> None:
    other = api.project("Other")
    api.put(f"/api/projects/{other}/files/content?path=secret.txt", b"the-secret")
    calls = attack(
        Call("file_read", {"path": "secret.txt", "project_id": other}),
        Call("file_read", {"path": "secret.txt", "_project_id": other, "run_id": "x", "user_id": "y"}),
        Call("file_read", {"path": f"../{other}/secret.txt"}),
        Call("file_write", {"path": "w.txt", "content": "x", "project_id": other}),
        Call("multi_agent", {"tasks": [{"name": "a", "instruction": "b"}], "_project_id": other}),
    )
    assert "the-secret" not in json.dumps(calls)
    assert ok(api.get(f"/api/projects/{other}/files"))["items"][0]["name"] == "secret.txt"
    assert len(ok(api.get(f"/api/projects/{other}/files"))["items"]) == 1
    assert [call["success"] for call in calls[:3]] == [False] * 3


@pytest.mark.parametrize(
    "name",
    ["no_such", "__class__", "file_read\x00", "f\u0456le_read", "n" * 100_000, "\x1b[31mred\r\n", "\u202egnp", "../x"],
)
def test_a_tool_that_is_none_is_answered_as_unknown(attack: Any, name: str) -> None:
    (call,) = attack(Call(name, {"path": "a"}))
    assert json.loads(call["result"])["code"] == "unknown_tool"


def test_odd_ids_are_kept_apart_and_their_results_can_be_read(api: Api, attack: Any) -> None:
    ids = ["i" * 100_000, "a\x00b\n", "../../x", "same", "same", "\u202e<script>alert(1)</script>", "%2e%2e", "?", "#"]
    calls = attack(*[Call("calculator", {"expression": f"{n}+1"}, id=key) for n, key in enumerate(ids)])
    assert len({call["id"] for call in calls}) == len(ids)
    assert [json.loads(call["result"])["data"]["value"] for call in calls] == [n + 1 for n in range(len(ids))]


@pytest.mark.parametrize("depth", [120, 900, 985, 5_000, 200_000])
def test_deep_arguments_are_refused_and_the_run_goes_on(attack: Any, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    value = f'{{"json_string":"1","operation":"set","path":"a","value":{deep}}}'
    text = json.dumps({"json_string": deep, "operation": "format"})
    calls = attack(Call("json_process", value), Call("json_process", text), Call("calculator", deep))
    assert [json.loads(call["result"])["code"] for call in (calls[0], calls[2])] == ["invalid_arguments"] * 2


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1e999", "9" * 5000])
def test_numbers_that_are_none_are_refused_and_the_run_goes_on(attack: Any, number: str) -> None:
    arguments = f'{{"json_string":"{{}}","operation":"set","path":"a","value":{number}}}'
    calls = attack(Call("json_process", arguments), Call("calculator", {"expression": "1+1"}))
    assert calls[1]["success"]
    assert "NaN" not in calls[0]["result"].replace("NaN is not JSON", "")


def test_half_characters_and_nul_are_stored_as_text_can_be(attack: Any) -> None:
    calls = attack(
        Call("text_process", '{"text":"\\ud800a\\u0000b","operation":"upper"}'),
        Call("file_write", '{"path":"s\\ud800.txt","content":"\\ud800"}'),
        Call("file_write", '{"path":"n\\u0000.txt","content":"x"}'),
    )
    json.dumps(calls, ensure_ascii=False).encode()
    assert calls[2]["success"] is False


def test_five_hundred_calls_in_one_batch_are_all_answered(attack: Any) -> None:
    calls = attack(*[Call("calculator", {"expression": f"{n}+1"}) for n in range(500)])
    assert [json.loads(call["result"])["data"]["value"] for call in calls] == list(range(1, 501))


def test_children_have_no_children(attack: Any, model: ModelServer) -> None:
    child = {"name": "a", "instruction": "the-childs-task", "tools": ["multi_agent", "calculator"]}
    (call,) = attack(Call("multi_agent", {"tasks": [child]}))
    assert call["success"]
    (asked,) = [
        r for r in model.requests() if "the-childs-task" in str(r.messages[-1]) and r.messages[-1]["role"] == "user"
    ]
    assert asked.tool_names == ["calculator"]


@pytest.fixture
def leaving(api: Api, instance: Instance) -> Iterator[None]:
    """A tool of the owner's that calls exit()."""
    before = registry.all()
    file = instance.runtime.settings.instance / "tools" / "leave.py"
    file.write_text(
        "import sys\nfrom backend.tools import tool\n"
        "@tool('leave', 'Leaves.', read_only=True)\ndef leave(arguments):\n    sys.exit(3)\n"
    )
    file.chmod(0o600)
    ok(api.post("/api/tools/reload"))
    yield
    registry.replace_all(before)


@pytest.mark.usefixtures("leaving")
def test_a_tool_that_calls_exit_has_failed_and_that_is_all(api: Api, attack: Any) -> None:
    calls = attack(Call("leave"), Call("calculator", {"expression": "1+1"}))
    assert "exit(3)" in json.loads(calls[0]["result"])["error"]
    assert calls[1]["success"]
    by_hand = ok(api.post("/api/tools/leave/execute", {"arguments": {}}))
    assert json.loads(by_hand["result"])["code"] == "tool_failed"


def test_the_key_of_a_model_is_in_no_answer_and_no_file_but_the_settings(
    api: Api, attack: Any, instance: Instance
) -> None:
    attack(Call("calculator", {"expression": "1+1"}))
    ok(
        api.post("/api/admin/providers", {"name": "p", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-stored"}),
        201,
    )
    told = [api.get(path).get_data() for path in ("/api/admin/providers", "/api/models", "/api/auth/me", "/readyz")]
    kept = [path.read_bytes() for path in instance.runtime.settings.instance.rglob("*") if path.is_file()]
    assert not [1 for text in told + kept if b"sk-a-secret" in text or b"sk-stored" in text]
