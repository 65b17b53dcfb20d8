"""A tool that was at work when the server died: never silently repeated, and a person can settle it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.model_server import Call, ModelServer, Turn
from support.server import Server

Start = Callable[..., Server]
TOOLS = """
import os, signal
from pathlib import Path
from backend.tools import tool

NOTES = Path({notes!r})

def _note_and_die(name):
    with open(NOTES, "a") as notes:
        notes.write(name + "\\n")
    if NOTES.read_text().split().count(name) == 1:
        os.killpg(os.getpgid(0), signal.SIGKILL)
    return {{"said": name}}

@tool(name="send_letter", description="Send a letter.", parameters={{"type": "object", "properties": {{}}}})
def send_letter(arguments):
    return _note_and_die("letter")

@tool(name="look_up", description="Look something up.", parameters={{"type": "object", "properties": {{}}}}, idempotent=True)
def look_up(arguments):
    return _note_and_die("look")
"""


@pytest.fixture
def deadly(start_server: Start, tmp_path: Path) -> Callable[[], Server]:
    """A server with tools that kill it at their first call."""

    def start() -> Server:
        tools = tmp_path / "instance0" / "tools"
        tools.mkdir(parents=True, mode=0o700)
        (tools / "deadly.py").write_text(TOOLS.format(notes=str(tmp_path / "notes.txt")))
        return start_server(NANOCLAW_SANDBOX="off")

    return start


def die_in(server: Server, model: ModelServer, tool: str, tmp_path: Path) -> tuple[str, str]:
    """A run whose first call kills the server; ids of the run and its conversation after it has ended."""
    model.script("scripted-model", [Turn(tool_calls=[Call(tool, {})]), Turn(text="I see.")])
    conversation = server.post("/api/conversations", {})["id"]
    run_id = server.post(f"/api/conversations/{conversation}/messages", {"content": "Do it."})["run"]["id"]
    server.wait_end()
    server.restart()
    assert server.wait_run(run_id)["status"] == "completed"
    return run_id, conversation


def only_call(server: Server, run_id: str) -> dict:
    calls = [c for step in server.get(f"/api/runs/{run_id}/steps")["items"] for c in step["tool_calls"]]
    assert len(calls) == 1
    return calls[0]


def test_a_side_effect_is_not_repeated_and_can_be_settled(
    deadly: Callable[[], Server], model: ModelServer, tmp_path: Path
) -> None:
    server = deadly()
    run_id, conversation = die_in(server, model, "send_letter", tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "letter\n"
    call = only_call(server, run_id)
    assert (call["status"], call["success"]) == ("unknown", False)
    assert json.loads(call["result"])["code"] == "outcome_unknown"

    settle = f"/api/runs/{run_id}/calls/{call['id']}/resolve"
    server.post(settle, {"outcome": "perhaps"}, expect=422)
    assert server.post(settle, {"outcome": "done"})["status"] == "success"
    server.post(settle, {"outcome": "not_done"}, expect=409)
    assert only_call(server, run_id)["status"] == "success"
    # The next run of the conversation is told what the person said.
    model.script("scripted-model", [Turn(text="Good.")])
    server.wait_run(server.post(f"/api/conversations/{conversation}/messages", {"content": "And?"})["run"]["id"])
    told = [m["content"] for m in model.requests()[-1].messages if m["role"] == "tool"]
    assert "The user has checked: this was done." in told[0]
    assert model.violations == []


def test_what_is_harmless_is_run_again(deadly: Callable[[], Server], model: ModelServer, tmp_path: Path) -> None:
    server = deadly()
    run_id, _ = die_in(server, model, "look_up", tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "look\nlook\n"
    assert only_call(server, run_id)["status"] == "success"
