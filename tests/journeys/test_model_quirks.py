"""Every oddity of real model servers, through the whole product: what a person sees, what ran, what it cost."""

import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from support.server import ROOT, Server, free_port

from backend.ids import iso_now, new_id

QUIRK_SERVER = ROOT / "tests" / "llm" / "cases" / "quirk_server.py"
SALT = "journey"
TOOLS = ["calculator", "get_weather", "file_list"]
QUESTION = "Do what is needed, then say that you are done."


def scenarios() -> list[dict[str, Any]]:
    """What the quirk server offers, without starting it."""
    code = (
        f"import sys, json; sys.path.insert(0, {str(QUIRK_SERVER.parent)!r}); import quirk_server as q;"
        f"q.SALT = {SALT!r}; print(json.dumps([q.describe(s) for s in q.SCN.values()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def quirks() -> Iterator[str]:
    """The quirk server's address."""
    port = free_port()
    argv = [sys.executable, str(QUIRK_SERVER), "--port", str(port), "--salt", SALT, "--quiet"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)
    process.stdout.close()


@pytest.fixture(scope="module")
def server(quirks: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """NanoClaw in front of it."""
    settings = {"OPENAI_BASE_URL": f"{quirks}/v1", "OPENAI_API_KEY": "sk-test", "NANOCLAW_LLM_IDLE_TIMEOUT": "4"}
    with Server(tmp_path_factory.mktemp("quirks") / "instance", **settings) as server:
        yield server


@pytest.fixture(scope="module")
def project(server: Server) -> str:
    """A project with a file, so that file_list has something to say."""
    project_id = server.post("/api/projects", {"name": "Quirks"})["id"]
    server.post_file(f"/api/projects/{project_id}/files/upload", "notes.txt", b"hello")
    return str(project_id)


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda s: s["id"])
def test_quirk(scenario: dict[str, Any], server: Server, project: str, quirks: str) -> None:
    name, expected = f"{scenario['id']}@journey", scenario["expected"]
    conversation = server.post("/api/conversations", {"project_id": project, "model": name})["id"]
    add_filler(server.instance, conversation, scenario["setup"].get("filler", 0))
    body = {"content": QUESTION, "tools": [] if scenario["setup"].get("no_tools") else TOOLS}
    begun = time.monotonic()
    sent = server.post(f"/api/conversations/{conversation}/messages", body)
    events = server.events(sent["run"]["id"])
    took = time.monotonic() - begun
    seen = what_was_seen(server, conversation, sent["run"]["id"])
    log = requests.get(f"{quirks}/runs/{name}", timeout=5).json()

    assert log["violations"] == []
    check_answer(expected, seen)
    check_tools(expected, seen["calls"])
    check_requests(expected, log["log"], took)
    shown = "".join(data["text"] for _, kind, data in events if kind == "text.delta")
    for hidden in expected.get("excludes", ()):
        assert hidden not in shown
    if "usage" in expected:
        assert [seen["usage"]["prompt_tokens"], seen["usage"]["completion_tokens"]] == expected["usage"]


def add_filler(instance: Path, conversation: str, pairs: int) -> None:
    """Earlier talk, put straight into the database."""
    if not pairs:
        return
    with closing(sqlite3.connect(instance / "nanoclaw.db", timeout=10)) as db:
        parent = None
        for i in range(2 * pairs):
            own, role = new_id(), "assistant" if i % 2 else "user"
            text = f"filler {i} ".ljust(400, "x")
            blocks = json.dumps([{"type": "text", "text": text}] if role == "assistant" else [])
            db.execute(
                "INSERT INTO messages (id, conversation_id, parent_id, position, role, state, content, reasoning,"
                " blocks, attachments, model, created_at) VALUES (?,?,?,?,?,'sent',?,'',?,'[]','',?)",
                (own, conversation, parent, i + 1, role, text, blocks, iso_now()[:-1].replace("T", " ")),
            )
            parent = own
        db.execute(
            "UPDATE conversations SET active_leaf_id = ?, last_position = ? WHERE id = ?",
            (parent, 2 * pairs, conversation),
        )
        db.commit()


def what_was_seen(server: Server, conversation: str, run_id: str) -> dict[str, Any]:
    run = server.get(f"/api/runs/{run_id}")
    messages = server.get(f"/api/conversations/{conversation}/messages?limit=200")["items"]
    answers = [m for m in messages if m["role"] == "assistant" and m["run_id"] == run_id]
    steps = server.get(f"/api/runs/{run_id}/steps")["items"]
    return {
        "status": run["status"],
        "error": run["error"],
        "usage": run["usage"],
        "text": answers[-1]["content"] if answers else "",
        "calls": [call for step in steps for call in step["tool_calls"]],
    }


def check_answer(expected: dict[str, Any], seen: dict[str, Any]) -> None:
    final = seen["status"] == "completed"
    if expected["kind"] != "either":
        assert final == (expected["kind"] == "final"), seen
    if final:
        assert seen["text"].count(expected["marker"]) == 1, seen["text"]
        for part in expected.get("contains", ()):
            assert part in seen["text"]
    else:
        words = json.dumps(seen["error"], ensure_ascii=False).lower()
        assert seen["error"]
        assert seen["error"]["message"]
        assert any(word.lower() in words for word in expected.get("error_any", [""])), words
    for hidden in expected.get("excludes", ()):
        assert hidden not in seen["text"] + json.dumps(seen["error"] or "")


def check_tools(expected: dict[str, Any], calls: list[dict[str, Any]]) -> None:
    ran = Counter(
        json.dumps([c["function"]["name"], json.loads(c["function"]["arguments"])], sort_keys=True, ensure_ascii=False)
        for c in calls
        if c["success"] and not c["skipped"] and not c["cached"]
    )
    wanted = Counter(json.dumps(pair, sort_keys=True, ensure_ascii=False) for pair in expected["tools"])
    if expected["kind"] == "either" and not ran:
        return
    if expected.get("tools_dup"):
        assert set(ran) == set(wanted)
    else:
        assert ran == wanted
    assert sum(ran.values()) <= expected.get("tools_max", 99)


def check_requests(expected: dict[str, Any], log: list[dict[str, Any]], took: float) -> None:
    assert len(log) <= expected.get("max_requests", 12)
    if "min_gap_s" in expected:
        assert log[1]["t"] - log[0]["t"] >= expected["min_gap_s"]
    assert took < expected.get("deadline_s", 30)
