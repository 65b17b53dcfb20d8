"""Which model the children of a slash command and of a hand run ask: the one that a message there would ask."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select
from support.model_server import ModelServer, Turn

from backend.app import Instance, build, prepare
from backend.models import Run
from backend.services import manual
from backend.services.auth import ensure_owner
from backend.services.chat import ChatService, NewMessage
from backend.services.conversations import create_conversation
from backend.services.projects import NewProject, create_project, update_project
from backend.services.runs import RunRequest

TASKS = {"tasks": [{"name": "a", "instruction": "Say one."}, {"name": "b", "instruction": "Say two."}]}
COMMAND = f"/multi_agent {json.dumps(TASKS)}"


@pytest.fixture
def working(instance: Instance, model: ModelServer) -> Iterator[Instance]:
    """An instance that works, with a model server for every model but the offline one."""
    model.script("*", [Turn(text=f"answer {n}") for n in range(8)])
    settings = replace(instance.runtime.settings, openai_base_url=model.url, openai_model="the-default")
    instance.stop()
    made = build(prepare(settings))
    made.start()
    yield made
    made.stop()


def command(instance: Instance, asked: str | None = None, **place: str) -> set[str | None]:
    """Send the command and wait for its end: the models of the children."""
    owner = ensure_owner(instance.runtime.db)
    conversation = str(create_conversation(instance.runtime, owner, dict(place))["id"])
    chat = ChatService(instance.runtime)
    sent = chat.send_message(owner, conversation, NewMessage(COMMAND, request=RunRequest(model=asked)))
    *_, last = filter(None, instance.events.subscribe(sent["run"]["id"]))
    assert json.loads(last.data)["status"] == "completed"
    return children(instance)


def children(instance: Instance) -> set[str | None]:
    with instance.runtime.db.read() as session:
        runs = session.scalars(select(Run).where(Run.kind == "child")).all()
        assert [run.status for run in runs] == ["completed", "completed"]
        return {run.model for run in runs}


def project_with_a_model(instance: Instance, tmp_path: Path) -> str:
    owner = ensure_owner(instance.runtime.db)
    project = str(create_project(instance.runtime, owner, NewProject("p"))["id"])
    update_project(instance.runtime, owner, project, {"default_model": "the-projects"})
    return project


def test_a_commands_children_ask_the_default_model(working: Instance, model: ModelServer) -> None:
    assert command(working) == {"the-default"}
    assert sorted(r.messages[-1]["content"] for r in model.requests("the-default")) == ["Say one.", "Say two."]
    assert model.violations == []


def test_a_commands_children_ask_the_model_of_the_conversation(working: Instance) -> None:
    assert command(working, model="the-conversations") == {"the-conversations"}


def test_a_commands_children_ask_the_model_of_the_project(working: Instance, tmp_path: Path) -> None:
    assert command(working, project_id=project_with_a_model(working, tmp_path)) == {"the-projects"}


def test_a_commands_children_stay_offline_where_that_was_chosen(working: Instance, model: ModelServer) -> None:
    assert command(working, "offline") == {"offline"}
    assert model.requests() == []


def test_the_children_of_a_hand_run_ask_the_model_of_the_project(working: Instance, tmp_path: Path) -> None:
    project = project_with_a_model(working, tmp_path)
    owner = ensure_owner(working.runtime.db)
    call = manual.execute(working.runtime, owner, manual.HandRun("multi_agent", TASKS, project))
    assert call["success"], call
    assert children(working) == {"the-projects"}
