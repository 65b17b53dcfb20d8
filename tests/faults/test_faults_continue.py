"""Going on after a limit: the new run knows what the old one did."""

from collections.abc import Callable

from support.model_server import Call, ModelServer, Turn
from support.server import Server

Start = Callable[..., Server]


def calculate(number: int) -> Turn:
    return Turn(text=f"Step {number}.", tool_calls=[Call("calculator", {"expression": f"{number}+1"})])


def test_a_run_at_its_limit_goes_on(start_server: Start, model: ModelServer) -> None:
    server = start_server(NANOCLAW_SANDBOX="off")
    model.script("scripted-model", [calculate(1), calculate(2), Turn(text="Half done."), Turn(text="All done.")])
    conversation = server.post("/api/conversations", {})["id"]
    asked = {"content": "Count.", "limits": {"max_steps": 2}, "tools": ["calculator"]}
    run = server.wait_run(server.post(f"/api/conversations/{conversation}/messages", asked)["run"]["id"])
    assert (run["status"], run["output"]) == ("max_steps", "Half done.")
    made = server.post(f"/api/runs/{run['id']}/continue", {"limits": {"max_steps": 5}}, expect=202)
    again = server.wait_run(made["run"]["id"])
    assert (again["status"], again["output"], again["limits"]["max_steps"]) == ("completed", "All done.", 5)
    roles = [m["role"] for m in server.get(f"/api/conversations/{conversation}/messages")["items"]]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert model.requests()[-1].tool_names == ["calculator"]
    server.post(f"/api/runs/{again['id']}/continue", {}, expect=409)
    assert model.violations == []


def test_a_task_at_its_limit_goes_on_with_what_it_did(start_server: Start, model: ModelServer) -> None:
    server = start_server(NANOCLAW_SANDBOX="off")
    model.script(
        "scripted-model", [calculate(1), Turn(text="Half."), calculate(2), Turn(text="So far."), Turn(text="End.")]
    )
    run = server.wait_run(server.post("/api/tasks", {"input": "Count.", "limits": {"max_steps": 1}})["id"])
    assert run["status"] == "max_steps"
    second = server.wait_run(server.post(f"/api/runs/{run['id']}/continue", {})["run"]["id"])
    assert second["status"] == "max_steps"
    made = server.post(f"/api/runs/{second['id']}/continue", {"limits": {"max_steps": 3}}, expect=202)
    assert made["message"] is None
    assert server.wait_run(made["run"]["id"])["output"] == "End."
    sent = model.requests()[-1].messages
    assert [m["role"] for m in sent if m["role"] != "system"][:3] == ["user", "assistant", "tool"]
    assert sum("go on" in str(m["content"]) for m in sent if m["role"] == "user") == 2
    assert sum(m["role"] == "tool" for m in sent) == 2
    assert model.violations == []
