"""A whole instance in this process, with a scripted model server: the queue's real surroundings."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.model_server import ModelServer

from backend.app import Instance, build, prepare
from backend.services.auth import ensure_owner
from backend.services.runs import NewTask, start_task
from backend.settings import Settings


@pytest.fixture
def make_instance(tmp_path: Path, model: ModelServer) -> Iterator[Callable[[], Instance]]:
    """Build an instance over the same folder; started ones are stopped at the end."""
    made: list[Instance] = []

    def make() -> Instance:
        settings = Settings(
            instance=tmp_path / "instance",
            runs=4,
            probe_local=False,
            sandbox="off",
            openai_base_url=model.url,
            openai_api_key="sk-test",
            openai_model="m",
        )
        instance = build(prepare(settings))
        made.append(instance)
        return instance

    yield make
    for instance in made:
        instance.stop()


@pytest.fixture
def task() -> Callable[[Instance, str], str]:
    """Queue a task; its run id."""

    def start(instance: Instance, text: str) -> str:
        return str(start_task(instance.runtime, ensure_owner(instance.runtime.db), NewTask(text))["id"])

    return start
