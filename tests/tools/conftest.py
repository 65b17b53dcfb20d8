"""Fixtures of the tool system's tests: an own registry and executor, and tools that can be watched."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from backend.tools import ExecutorSettings, ToolExecutor, ToolRegistry, init_tools
from backend.tools.factory import define

ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}


class Recorder:
    """Makes tools that log when they start and end, and counts their runs."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.registry = registry
        self.log: list[tuple[str, str]] = []
        self.arguments: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def count(self, name: str) -> int:
        return self.log.count((name, "start"))

    def add(self, name: str, work: Callable[[dict[str, Any]], Any] | None = None, **options: Any) -> None:
        def handler(arguments: dict[str, Any]) -> Any:
            with self._lock:
                self.log.append((name, "start"))
                self.arguments.append(arguments)
            try:
                return work(arguments) if work else {"tool": name}
            finally:
                with self._lock:
                    self.log.append((name, "end"))

        parameters = options.pop("parameters", ANYTHING)
        self.registry.register(define(name, f"The tool {name}.", parameters, handler, **options))


class Watch:
    """A watcher that keeps all it is told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def calls_started(self, calls: list[dict[str, Any]]) -> None:
        self.told.append(("started", [dict(call) for call in calls]))

    def call_finished(self, call: dict[str, Any], full_result: str | None) -> None:
        self.told.append(("finished", (call, full_result)))

    def notice(self, code: str, detail: str) -> None:
        self.told.append(("notice", (code, detail)))

    def notices(self) -> list[str]:
        return [data[0] for kind, data in self.told if kind == "notice"]


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


@pytest.fixture
def tools(registry: ToolRegistry) -> Recorder:
    return Recorder(registry)


@pytest.fixture
def executor(registry: ToolRegistry) -> ToolExecutor:
    return ToolExecutor(registry)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture(scope="session")
def builtin() -> ToolExecutor:
    """An executor over the tools that come with NanoClaw, without a cache."""
    init_tools()
    return ToolExecutor(enable_cache=False, dedup_history=False)


@pytest.fixture
def ask() -> Callable[..., dict[str, Any]]:
    """A model's call: ask("name", id_="a", key=value)."""

    def make(name: str, id_: str = "", /, **arguments: Any) -> dict[str, Any]:
        return {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}

    return make


@pytest.fixture
def quick(registry: ToolRegistry) -> ToolExecutor:
    """An executor whose retries do not wait."""
    return ToolExecutor(registry, settings=ExecutorSettings(jitter=lambda: 0.0))
