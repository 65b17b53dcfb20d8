"""The main job, end to end on real parts: a CSV and a page become a report that stands in the project."""

import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import requests
from support.model_server import Call, ModelServer, Turn
from support.server import Server
from support.sse import read_events

CODE = """
import csv, io
rows = list(csv.DictReader(open("sales.csv")))
units = sum(int(r["units"]) for r in rows)
print("rows", len(rows))
print("units", units)
"""
REPORT = "# Sales report\n\nThe ferry leaves at 07:40. 4,000 rows were read.\n"
ANSWER = ["The report is ", "in **report.md**: ", "4,000 rows; ", "7 × 6 = 42."]


def script(model: ModelServer, site: str, gate: threading.Event | None = None) -> list[Turn]:
    """What the scripted model does: fetch, read twice at once, compute, calculate, write, answer."""
    turns = [
        Turn(
            reasoning=["First the page, ", "then the data."],
            text="I read the page.",
            tool_calls=[Call("fetch_page", {"url": f"{site}/plain"})],
        ),
        Turn(
            tool_calls=[
                Call("file_read", {"path": "sales.csv", "limit": 5}),
                Call("file_read", {"path": "sales.csv", "offset": 3990, "limit": 5}),
            ]
        ),
        Turn(tool_calls=[Call("execute_python", {"code": CODE, "files": ["sales.csv"]})]),
        Turn(tool_calls=[Call("calculator", {"expression": "7 * 6"})]),
        Turn(tool_calls=[Call("file_write", {"path": "report.md", "content": REPORT})]),
        Turn(text=ANSWER, gates={2: gate} if gate else {}),
    ]
    model.script("scripted-model", turns)
    return turns


def begin(server: Server, csv: bytes) -> tuple[str, str]:
    """A project with the CSV, and a conversation in it."""
    project = server.post("/api/projects", {"name": "Sales", "instructions": "Write short reports."}, expect=201)
    server.post_file(f"/api/projects/{project['id']}/files/upload", "sales.csv", csv)
    conversation = server.post("/api/conversations", {"project_id": project["id"]}, expect=201)
    return project["id"], conversation["id"]


def test_a_report_is_made_recorded_and_told(
    start_server: Callable[..., Server], model: ModelServer, site: str, sales_csv: bytes
) -> None:
    server = start_server()
    script(model, site)
    project_id, conversation_id = begin(server, sales_csv)
    sent = server.post(
        f"/api/conversations/{conversation_id}/messages", {"content": "Please write a report."}, expect=202
    )
    run_id = sent["run"]["id"]
    events = server.events(run_id)

    check_events(events, run_id)
    check_api(server, run_id, conversation_id, events)
    check_file(server, project_id, run_id)
    check_database(server, run_id, len(events))
    assert model.violations == []
    assert all(
        {k.lower(): v for k, v in r.headers.items()}["authorization"] == "Bearer sk-test" for r in model.requests()
    )
    system = model.requests()[0].messages[0]["content"]
    assert "Write short reports." in system


def check_events(events: list[tuple[int, str, dict]], run_id: str) -> None:
    assert [seq for seq, _, _ in events] == list(range(1, len(events) + 1))
    assert all(data["run_id"] == run_id for _, _, data in events)
    kinds = [kind for _, kind, _ in events]
    assert kinds[0] == "run.started"
    assert kinds[-2:] == ["message.completed", "run.finished"]
    assert "reasoning.delta" in kinds
    finished = [data["call"]["function"]["name"] for _, kind, data in events if kind == "tool_call.finished"]
    assert finished == ["fetch_page", "file_read", "file_read", "execute_python", "calculator", "file_write"]
    last = max(data["step"] for _, kind, data in events if kind == "text.delta")
    text = "".join(d["text"] for _, k, d in events if k == "text.delta" and d["step"] == last)
    assert text == "".join(ANSWER)
    assert events[-1][2]["status"] == "completed"


CALL_FIELDS = {
    "id", "type", "function", "result", "success", "skipped", "execution_time", "status", "cached", "duplicate_of",
    "cached_at", "expires_at", "attempts", "degraded", "summary", "queued_ms", "result_truncated", "result_size",
    "provider_id", "step", "started_at", "finished_at",
}  # fmt: skip
RUN_FIELDS = {
    "id", "kind", "status", "stop_reason", "project_id", "conversation_id", "parent_run_id", "parent_call_id", "model",
    "input", "output", "error", "usage", "limits", "step_count", "created_at", "started_at", "finished_at",
}  # fmt: skip


def check_api(server: Server, run_id: str, conversation_id: str, events: list[tuple[int, str, dict]]) -> None:
    run = server.get(f"/api/runs/{run_id}")
    assert set(run) >= RUN_FIELDS
    assert (run["kind"], run["status"], run["stop_reason"], run["step_count"]) == ("chat", "completed", "completed", 6)
    assert run["output"] == "".join(ANSWER)
    assert run["usage"]["total_tokens"] == 6 * 18
    steps = server.get(f"/api/runs/{run_id}/steps")["items"]
    calls = [call for step in steps for call in step["tool_calls"]]
    assert all(set(call) >= CALL_FIELDS for call in calls)
    assert [call["status"] for call in calls] == ["success"] * 6, calls
    results = {call["function"]["name"]: json.loads(call["result"]) for call in calls}
    assert "The ferry leaves at 07:40" in json.dumps(results["fetch_page"])
    assert "rows 4000" in results["execute_python"]["data"]["stdout"]
    assert results["calculator"]["data"]["value"] == 42
    told = [data["call"] for _, kind, data in events if kind == "tool_call.finished"]
    assert sorted(told, key=lambda c: c["id"]) == sorted(calls, key=lambda c: c["id"])

    messages = server.get(f"/api/conversations/{conversation_id}/messages")["items"]
    answer = next(m for m in messages if m["role"] == "assistant")
    kinds = [block["type"] for block in answer["blocks"]]
    assert kinds == ["reasoning", "text", *["tool_call"] * 6, "text"]
    assert answer["blocks"][-1]["text"] == "".join(ANSWER)
    completed = next(data["message"] for _, kind, data in events if kind == "message.completed")
    assert completed["content"] == answer["content"]
    assert completed["blocks"] == answer["blocks"]
    found = server.get("/api/search?q=report")["items"]
    assert any(item["conversation_id"] == conversation_id for item in found)


def check_file(server: Server, project_id: str, run_id: str) -> None:
    listed = server.get(f"/api/projects/{project_id}/files")["items"]
    assert {item["name"] for item in listed} == {"sales.csv", "report.md"}
    content = server.call("GET", f"/api/projects/{project_id}/files/content?path=report.md")
    assert content.content.decode() == REPORT
    changes = server.get(f"/api/projects/{project_id}/changes?path=report.md")["items"]
    assert [change["run_id"] for change in changes] == [run_id]


def check_database(server: Server, run_id: str, events: int) -> None:
    with closing(sqlite3.connect(server.instance / "nanoclaw.db")) as db:
        one = lambda sql: db.execute(sql, (run_id,)).fetchone()[0]  # noqa: E731
        assert one("SELECT status FROM runs WHERE id = ?") == "completed"
        assert one("SELECT count(*) FROM steps WHERE run_id = ? AND status = 'completed'") == 6
        assert one("SELECT count(*) FROM tool_calls WHERE run_id = ? AND status = 'success'") == 6
        assert one("SELECT max(seq) FROM run_events WHERE run_id = ?") == events
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_refresh_in_mid_stream_and_a_second_viewer_end_with_what_is_stored(
    start_server: Callable[..., Server], model: ModelServer, site: str, sales_csv: bytes
) -> None:
    server, gate = start_server(), threading.Event()
    turns = script(model, site, gate)
    _, conversation_id = begin(server, sales_csv)
    run_id = server.post(f"/api/conversations/{conversation_id}/messages", {"content": "Report, please."})["run"]["id"]
    url = f"{server.url}/api/runs/{run_id}/events"
    assert turns[-1].held.wait(30)

    with server.session.get(url, stream=True, timeout=30) as first:
        seen = until_text(read_events(first), "in **report.md**: ")
    # The page is reloaded in mid-answer: it finds the run by its conversation and goes on after what it has seen.
    assert server.get(f"/api/conversations/{conversation_id}")["active_run_id"] == run_id
    gate.set()
    rest = server.session.get(url, stream=True, timeout=30, headers={"Last-Event-ID": str(seen[-1][0])})
    with rest:
        resumed = seen + list(read_events(rest))
    late = server.events(run_id)
    assert text_of(resumed) == text_of(late) == stored_text(server, conversation_id)
    assert [e[0] for e in late] == list(range(1, len(late) + 1))


def until_text(events: Any, wanted: str) -> list[tuple[int, str, dict]]:
    seen = []
    for event in events:
        seen.append(event)
        if event[1] == "text.delta" and wanted in text_of(seen):
            return seen
    raise AssertionError("the stream ended early")


def text_of(events: list[tuple[int, str, dict]]) -> str:
    last = max(data["step"] for _, kind, data in events if kind == "text.delta")
    text = ""
    for _, kind, data in events:
        if kind == "text.delta" and data["step"] == last:
            text = text[: data["offset"]] + data["text"]
    return text


def stored_text(server: Server, conversation_id: str) -> str:
    messages = server.get(f"/api/conversations/{conversation_id}/messages")["items"]
    return str(next(m for m in messages if m["role"] == "assistant")["blocks"][-1]["text"])


def test_cancel_stops_the_model_and_keeps_what_was_said(
    start_server: Callable[..., Server], model: ModelServer
) -> None:
    server, gate = start_server(), threading.Event()
    turn = Turn(text=["Half of ", "it", " and the rest"], gates={2: gate})
    model.script("scripted-model", [turn])
    conversation = server.post("/api/conversations", {})
    run_id = server.post(f"/api/conversations/{conversation['id']}/messages", {"content": "Go on."})["run"]["id"]
    assert turn.held.wait(20)
    receipt = server.post(f"/api/runs/{run_id}/cancel")
    assert turn.client_left.wait(5), "the model server must lose its client"
    gate.set()
    assert {"stopped", "finished", "abandoned", "usage"} <= set(receipt)
    assert server.post(f"/api/runs/{run_id}/cancel")["status"] == "cancelled"
    run = server.get(f"/api/runs/{run_id}")
    assert (run["status"], run["stop_reason"]) == ("cancelled", "cancelled")
    assert stored_text(server, conversation["id"]) == "Half of it"


def test_a_closed_viewer_does_not_stop_the_run_and_a_killed_server_goes_on(
    start_server: Callable[..., Server], model: ModelServer
) -> None:
    server, gate = start_server(), threading.Event()
    held = Turn(text="never seen", gate=gate)
    model.script(
        "scripted-model", [Turn(tool_calls=[Call("calculator", {"expression": "6*7"})]), held, Turn(text="42")]
    )
    conversation = server.post("/api/conversations", {})
    run_id = server.post(f"/api/conversations/{conversation['id']}/messages", {"content": "6*7?"})["run"]["id"]
    with server.session.get(f"{server.url}/api/runs/{run_id}/events", stream=True, timeout=20) as viewer:
        seen = [next(iter_) for iter_ in [read_events(viewer)] for _ in range(3)]
    assert held.held.wait(20)
    before = server.session.get(f"{server.url}/api/runs/{run_id}/steps", timeout=10).json()["items"][0]
    server.kill()
    gate.set()
    server.restart()
    run = server.wait_run(run_id)
    assert (run["status"], run["output"]) == ("completed", "42")
    assert server.get(f"/api/runs/{run_id}/steps")["items"][0] == before
    events = server.events(run_id)
    assert events[: len(seen)] == seen
    assert "run.resumed" in [kind for _, kind, _ in events]
    assert model.violations == []


def test_without_a_key_the_offline_provider_does_the_main_job(start_server: Callable[..., Server]) -> None:
    server = start_server(OPENAI_BASE_URL="", OPENAI_API_KEY="", OPENAI_MODEL="")
    project = server.post("/api/projects", {"name": "Notes"})
    conversation = server.post("/api/conversations", {"project_id": project["id"]})
    path = f"/api/conversations/{conversation['id']}/messages"
    for text, wanted in (
        ("/calculator 2^10", "1024"),
        ("12 × 12 等于多少？", "144"),
        ('/file_write {"path": "a.txt", "content": "hello"}', "a.txt"),
        ("/file_read a.txt", "hello"),
        ("hello", "run.py"),
    ):
        run = server.wait_run(server.post(path, {"content": text})["run"]["id"])
        assert run["status"] == "completed", run
        assert wanted in run["output"] or (wanted == "run.py" and "model" in run["output"].lower()), (
            text,
            run["output"],
        )


def test_other_sites_and_unsigned_visitors_get_nothing(start_server: Callable[..., Server]) -> None:
    server = start_server()
    bare = requests.Session()
    bare.trust_env = False
    with bare:
        assert bare.get(f"{server.url}/api/projects", timeout=5).status_code == 401
        assert bare.get(f"{server.url}/api/projects", headers={"Host": "evil.example"}, timeout=5).status_code in (
            400,
            403,
            421,
        )
    crossing = server.session.post(
        f"{server.url}/api/projects", json={"name": "x"}, headers={"Origin": "http://evil.example"}, timeout=5
    )
    assert crossing.status_code == 403
    problem = crossing.json()
    assert {"type", "title", "status", "detail", "code"} <= set(problem)
