"""Sending messages, by the services alone."""

import threading

import pytest
from sqlalchemy import func, select

from backend.errors import InvalidInput
from backend.models import Message, Run
from backend.services.chat import ChatService, NewMessage
from backend.services.conversations import create_conversation
from backend.services.runs import RunRequest
from backend.services.runtime import Runtime


@pytest.fixture
def conversation(runtime: Runtime, owner: str) -> str:
    return str(create_conversation(runtime, owner, {})["id"])


def test_messages_sent_at_once_make_one_run_and_lose_nothing(runtime: Runtime, owner: str, conversation: str) -> None:
    chat = ChatService(runtime)
    gate = threading.Barrier(8)

    def send(number: int) -> None:
        gate.wait()
        chat.send_message(owner, conversation, NewMessage(f"message {number}"))

    threads = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    with runtime.db.read() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 1
        rows = session.execute(select(Message.position, Message.state).order_by(Message.position)).all()
    assert [row.position for row in rows] == list(range(1, 9))
    assert [row.state for row in rows] == ["sent"] + ["queued"] * 7


def test_one_client_id_sent_twice_at_once_is_one_message(runtime: Runtime, owner: str, conversation: str) -> None:
    chat = ChatService(runtime)
    gate = threading.Barrier(4)
    answers: list[str] = []

    def send() -> None:
        gate.wait()
        answers.append(chat.send_message(owner, conversation, NewMessage("hello", client_id="c"))["message"]["id"])

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(answers) == 4
    assert len(set(answers)) == 1


def test_limits_come_from_the_request_then_the_project(runtime: Runtime, owner: str) -> None:
    from backend.services.projects import NewProject, create_project, update_project

    project = create_project(runtime, owner, NewProject("p"))["id"]
    update_project(
        runtime, owner, project, {"limits": {"max_steps": 5, "run_timeout_seconds": 60}, "default_model": "m"}
    )
    conversation = create_conversation(runtime, owner, {"project_id": project})["id"]
    request = RunRequest(limits={"max_steps": 9})
    run = ChatService(runtime).send_message(owner, conversation, NewMessage("x", request=request))["run"]
    assert run["limits"] == {
        "max_steps": 9, "run_timeout_seconds": 60, "step_timeout_seconds": 60.0, "max_retries_per_tool": 2,
        "max_consecutive_errors": 3,
    }  # fmt: skip
    assert run["model"] == "m"
    with pytest.raises(InvalidInput):
        ChatService(runtime).send_message(owner, conversation, NewMessage("x", request=RunRequest(limits={"steps": 1})))
