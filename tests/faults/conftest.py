"""The real parts of a fault: a server process that can be killed, and a scripted model server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.model_server import ModelServer
from support.server import Server


@pytest.fixture
def start_server(tmp_path: Path, model: ModelServer) -> Iterator[Callable[..., Server]]:
    """Start NanoClaw with the scripted model; settings may be added."""
    started: list[Server] = []

    def start(**settings: str) -> Server:
        given = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-test", "OPENAI_MODEL": "scripted-model"}
        server = Server(tmp_path / f"instance{len(started)}", **(given | settings))
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()
        server.session.close()
