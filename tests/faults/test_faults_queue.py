"""Messages sent while a run goes on, under `kill -9`: stored at once, once, as last edited, and never after they were taken back."""

import os
import random
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests
from faults.evidence import Evidence
from support.model_server import Call, ModelServer, Turn
from support.server import TOKEN, Server

Start = Callable[..., Server]
SEED = int(os.environ.get("NANOCLAW_FAULT_SEED", "20260131"))
STEPS = 3
ACTS_A_LIFE = 8
SECONDS_TO_END = 60.0


def play(body: dict[str, Any]) -> Turn:
    """A few steps with a sum, then an answer; a message in between begins them anew."""
    last = max(i for i, m in enumerate(body["messages"]) if m["role"] == "user")
    done = sum(m["role"] == "assistant" for m in body["messages"][last:])
    if done < STEPS:
        return Turn(text=f"Step {done}.", tool_calls=[Call("calculator", {"expression": f"{done}+1"})], delay=0.02)
    return Turn(text=["This is ", "the answer."], delay=0.02)


@dataclass
class Sent:
    """A message as its sender knows it."""

    client_id: str
    first: str
    id: str = ""
    sure: list[str] = field(default_factory=list)  # what it may hold, after the last answer that came
    withdrawn: bool | None = False  # None: nobody answered


class Sender:
    """Sends, sends again, edits and takes back, on a thread of its own; asks again until it is answered."""

    def __init__(self, server: Server, conversation: str, seed: int) -> None:
        self._url = server.url
        self._conversation = conversation
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self.acts = 0
        self.changed = threading.Condition()
        self.messages: list[Sent] = []
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def wait_acts(self, count: int) -> None:
        """Wait until so many more requests were answered."""
        with self.changed:
            until = self.acts + count
            assert self.changed.wait_for(lambda: self.acts >= until, 60)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _work(self) -> None:
        with requests.Session() as session:
            session.trust_env = False
            session.headers["Authorization"] = f"Bearer {TOKEN}"
            while not self._stop.is_set():
                self._act(session)
                with self.changed:
                    self.acts += 1
                    self.changed.notify_all()
                self._stop.wait(self._random.uniform(0.0, 0.15))

    def _act(self, session: requests.Session) -> None:
        chance = self._random.random()
        open_ones = [m for m in self.messages[-4:] if m.withdrawn is False]
        if chance < 0.4 or not open_ones:
            self.messages.append(Sent(f"c{len(self.messages)}", f"message <{len(self.messages)}>"))
            self._send(session, self.messages[-1])
        elif chance < 0.6:
            self._send(session, self._random.choice(open_ones))  # a double click, perhaps after a restart
        elif chance < 0.8:
            self._edit(session, self._random.choice(open_ones))
        else:
            self._withdraw(session, self._random.choice(open_ones))

    def _send(self, session: requests.Session, message: Sent) -> None:
        body = {"content": message.first, "client_id": message.client_id}
        path = f"/api/conversations/{self._conversation}/messages"
        answer = self._until_answered(session, "POST", path, body)
        if answer.status_code == 409:  # it was edited since: another text under the same name
            assert message.id
            return
        assert answer.status_code == 202, answer.text
        got = answer.json()["message"]["id"]
        assert message.id in ("", got), "two messages of one client_id"
        if not message.id:
            message.id, message.sure = got, [message.first]

    def _edit(self, session: requests.Session, message: Sent) -> None:
        text = f"{message.first} edited {self.acts}"
        before = list(message.sure)
        message.sure = [*before, text]
        answer = self._until_answered(session, "PATCH", f"/api/messages/{message.id}", {"content": text})
        assert answer.status_code in (200, 409), answer.text
        if answer.status_code == 200:
            message.sure = [text]
        elif not answer.asked_again:  # type: ignore[attr-defined]
            message.sure = before

    def _withdraw(self, session: requests.Session, message: Sent) -> None:
        answer = self._until_answered(session, "DELETE", f"/api/messages/{message.id}", None)
        assert answer.status_code in (204, 409), answer.text
        if answer.status_code == 204:
            message.withdrawn = True
        elif answer.asked_again:  # type: ignore[attr-defined]
            message.withdrawn = None  # taken, or withdrawn at the first try

    def _until_answered(self, session: requests.Session, method: str, path: str, body: Any) -> requests.Response:
        again = False
        while True:
            try:
                answer = session.request(method, self._url + path, json=body, timeout=20)
                if answer.status_code < 500:
                    answer.asked_again = again  # type: ignore[attr-defined]
                    return answer
            except requests.RequestException:
                pass
            again = True
            threading.Event().wait(0.05)


def wait_quiet(server: Server, conversation: str) -> None:
    """Until no message waits and no run goes on."""
    pause = threading.Event()
    for _ in range(int(SECONDS_TO_END / 0.1)):
        waiting = server.get(f"/api/conversations/{conversation}/messages")["queued"]
        if not waiting and not server.get(f"/api/conversations/{conversation}")["active_run_id"]:
            return
        pause.wait(0.1)
    raise AssertionError("messages still wait, or a run goes on")


def kill_and_check(server: Server, model: ModelServer, kills: int) -> None:
    model.script("scripted-model", [play] * 20_000)
    conversation = server.post("/api/conversations", {})["id"]
    sender = Sender(server, conversation, SEED)
    chance = random.Random(SEED)
    for _ in range(kills):
        sender.wait_acts(chance.randrange(1, ACTS_A_LIFE))
        threading.Event().wait(chance.uniform(0.0, 0.05))
        server.kill()
        server.restart()
    sender.stop()
    wait_quiet(server, conversation)
    server.stop()
    check_messages(server, model, sender.messages)
    evidence = Evidence(server.instance / "nanoclaw.db")
    evidence.check_runs()
    evidence.check_logs()
    assert evidence.wrong == []
    assert model.violations == []


def check_messages(server: Server, model: ModelServer, messages: list[Sent]) -> None:
    with closing(sqlite3.connect(server.instance / "nanoclaw.db")) as db:
        rows = {r[0]: r[1:] for r in db.execute("SELECT client_id, id, state, content FROM messages WHERE role='user'")}
    said_to_model = (m["content"] for request in model.requests() for m in request.messages if m["role"] == "user")
    asked = {text for content in said_to_model for text in str(content).split("\n\n")}  # neighbours come as one
    assert set(rows) == {m.client_id for m in messages}
    states = {True: {"withdrawn"}, False: {"sent"}, None: {"withdrawn", "sent"}}
    for message in messages:
        row_id, state, content = rows[message.client_id]
        assert row_id == message.id
        assert state in states[message.withdrawn], (message, state)
        assert content in message.sure, (message, content)
        said = {text for text in asked if message.first in text}
        assert said == ({content} if state == "sent" else set()), (message, state, content, said)


@pytest.mark.timeout(240)
def test_messages_in_a_run_under_six_kills(start_server: Start, model: ModelServer) -> None:
    kill_and_check(start_server(NANOCLAW_SANDBOX="off"), model, 6)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_messages_in_a_run_under_a_hundred_kills(start_server: Start, model: ModelServer) -> None:
    kill_and_check(start_server(NANOCLAW_SANDBOX="off"), model, 100)
