"""Attached pictures go to models that take them; others are told that they cannot see them."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.model_server import ModelServer, Turn
from support.server import Server

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.script("*", [Turn(text="I see.")] * 5)
        yield server


@pytest.fixture
def send(tmp_path: Path, model: ModelServer) -> Iterator[Callable[[str, str], Any]]:
    """Send a message with the picture to a model; the content that the model server got."""
    instance = tmp_path / "instance"
    instance.mkdir()
    (instance / "providers.toml").write_text(
        f'[[providers]]\nname = "p"\nbase_url = "{model.url}"\nmodels = ["sees"]\noptions = {{ images = true }}\n'
        f'[[providers]]\nname = "q"\nbase_url = "{model.url}"\nmodels = ["blind"]\noptions = {{ images = false }}\n'
    )
    with Server(instance) as server:
        project = server.post("/api/projects", {"name": "Pictures"})["id"]
        server.post_file(f"/api/projects/{project}/files/upload", "dot.png", PNG)

        def one(name: str, text: str) -> Any:
            conversation = server.post("/api/conversations", {"project_id": project, "model": name})["id"]
            body = {"content": text, "attachments": ["dot.png"]}
            server.wait_run(server.post(f"/api/conversations/{conversation}/messages", body)["run"]["id"])
            return model.requests()[-1].messages[-1]["content"]

        yield one


def test_a_model_with_eyes_gets_the_picture(send: Callable[[str, str], Any]) -> None:
    text, picture = send("sees", "What is this?")
    assert text["text"].startswith("What is this?")
    assert "dot.png" in text["text"]
    kind, data = picture["image_url"]["url"].split(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data) == PNG


def test_a_model_without_is_told_that_it_cannot_see(send: Callable[[str, str], Any]) -> None:
    content = send("blind", "What is this?")
    assert "dot.png" in content
    assert "cannot see pictures" in content
