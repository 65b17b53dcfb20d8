"""Projects on a real disk, opened the way a run opens them."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from backend.errors import NoProject
from backend.tools import ToolExecutor, init_tools, locator, register_service, registry
from backend.workspace import Actor, BlobStore, MemoryChangeLog, Workspace

QUOTA = 2 << 30


@dataclass
class Projects:
    """The `workspaces` service over plain folders."""

    folder: Path
    quota: int = QUOTA
    log: MemoryChangeLog = field(default_factory=MemoryChangeLog)

    @property
    def blobs(self) -> BlobStore:
        return BlobStore(self.folder / "blobs")

    def root(self, project_id: str) -> Path:
        return self.folder / "projects" / project_id

    def create(self, project_id: str) -> Path:
        self.root(project_id).mkdir(parents=True)
        return self.root(project_id)

    def open(self, project_id: str | None, *, run_id=None, call_id=None, user_id=None) -> Workspace:
        if not project_id or not self.root(project_id).is_dir():
            raise NoProject("There is no such project.")
        actor = Actor(run_id, call_id, user_id)
        return Workspace(project_id, self.root(project_id), self.log, self.blobs, self.quota, actor)


@dataclass
class Tools:
    """Calls tools through the executor, as a run of the project "p1" does."""

    executor: ToolExecutor
    context: dict[str, Any]

    def __call__(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.executor.execute_one(name, arguments, self.context)

    def data(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = self(name, **arguments)
        assert result["success"], result
        return result["data"]

    def error(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = self(name, **arguments)
        assert not result["success"], result
        return result

    def call(self, name: str, arguments: Any, context: dict[str, Any] | None = None) -> dict[str, Any]:
        request = {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        return self.executor.process_tool_calls([request], self.context if context is None else context)[0]


@pytest.fixture
def projects(tmp_path: Path):
    made = Projects(tmp_path)
    made.create("p1")
    before = dict(locator._services)
    register_service("workspaces", made)
    yield made
    locator._services.clear()
    locator._services.update(before)


@pytest.fixture
def root(projects: Projects) -> Path:
    return projects.root("p1")


@pytest.fixture
def workspace(projects: Projects) -> Workspace:
    return projects.open("p1", user_id="u1")


@pytest.fixture
def tools(projects: Projects) -> Tools:
    init_tools()
    return Tools(ToolExecutor(registry=registry), {"project_id": "p1", "run_id": "r1", "user_id": "u1"})
