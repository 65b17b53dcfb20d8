"""The model server dies in mid-stream, hangs, or is slow: the run ends with a reason, and what was said is kept."""

import threading
from collections.abc import Callable

from support.model_server import ModelServer, Turn
from support.server import Server

Start = Callable[..., Server]


def ask(server: Server) -> tuple[dict, str]:
    """One message; the run at its end, and the answer as stored."""
    conversation = server.post("/api/conversations", {})["id"]
    run = server.wait_run(server.post(f"/api/conversations/{conversation}/messages", {"content": "Go."})["run"]["id"])
    items = server.get(f"/api/conversations/{conversation}/messages")["items"]
    return run, str(items[-1]["content"])


def test_a_stream_that_breaks_off_keeps_what_was_said(start_server: Start, model: ModelServer) -> None:
    server = start_server(NANOCLAW_SANDBOX="off")
    model.script("scripted-model", [Turn(text=["Half of ", "it and ", "more"], cut_after=2)] * 10)
    run, answer = ask(server)
    assert run["status"] in ("failed", "completed")
    assert answer.startswith("Half of it and ")
    assert run["output"] == answer
    assert run["status"] == "completed" or run["error"]["retryable"]


def test_a_model_that_hangs_is_given_up(start_server: Start, model: ModelServer) -> None:
    server = start_server(NANOCLAW_SANDBOX="off", NANOCLAW_LLM_IDLE_TIMEOUT="0.5")
    never = threading.Event()
    model.script("scripted-model", [Turn(text=["Some words", " and no more"], gates={1: never})] * 10)
    run, answer = ask(server)
    assert (run["status"], run["stop_reason"]) == ("failed", "error")
    assert answer.startswith("Some words")
    never.set()


def test_a_model_that_is_gone_is_named(start_server: Start, model: ModelServer) -> None:
    server = start_server(NANOCLAW_SANDBOX="off", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    run, _ = ask(server)
    assert (run["status"], run["error"]["code"]) == ("failed", "model_unreachable")


def test_a_slow_model_is_waited_for(start_server: Start, model: ModelServer) -> None:
    server = start_server(NANOCLAW_SANDBOX="off", NANOCLAW_LLM_IDLE_TIMEOUT="2")
    model.script("scripted-model", [Turn(text=list("slow words"), delay=0.3, first_delay=1.0)])
    run, answer = ask(server)
    assert (run["status"], answer) == ("completed", "slow words")
