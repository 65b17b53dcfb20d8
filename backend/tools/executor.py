"""Executes a model's tool calls and tells the truth about each: executed, shared, cached, refused or failed."""

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import core
from .batch import Batch, Kit, Watcher
from .cache import MAX_BYTES, MAX_ENTRIES, Clock, Generations, ResultCache
from .context import CallContext
from .core import JsonObject, ToolRegistry
from .memory import Memory
from .plans import Plans
from .pool import WorkerPool, shared_pool
from .results import RESULT_LIMIT_CHARACTERS
from .runstate import RunStates

CACHE_SECONDS = 300.0
MAX_WORKERS = 16

__all__ = ["ExecutorSettings", "ToolExecutor", "Watcher"]


@dataclass(frozen=True, slots=True)
class ExecutorSettings:
    """Bounds of an executor, and the parts a test may want to hold in its hands."""

    result_limit: int = RESULT_LIMIT_CHARACTERS
    cache_entries: int = MAX_ENTRIES
    cache_bytes: int = MAX_BYTES
    pool: WorkerPool = field(default_factory=lambda: shared_pool)
    clock: Clock = time.monotonic
    jitter: Callable[[], float] = random.random


class ToolExecutor:
    """Runs calls of a registry's tools; one executor serves all runs of a process, from any thread.

    `context` names the run: project_id, user_id, conversation_id, run_id, step, model, cancelled, limits,
    tools, policy, scopes, used_ids, fresh (each optional). `cache_ttl` is in seconds.
    """

    def __init__(
        self,
        registry: ToolRegistry = core.registry,
        enable_cache: bool = True,
        cache_ttl: float = CACHE_SECONDS,
        dedup_history: bool = True,
        settings: ExecutorSettings | None = None,
    ) -> None:
        settings = settings or ExecutorSettings()
        generations = Generations()

        def cache() -> ResultCache:
            return ResultCache(generations, settings.cache_entries, settings.cache_bytes, settings.clock)

        self._kit = Kit(
            registry=registry,
            plans=Plans(registry),
            pool=settings.pool,
            states=RunStates(),
            memory=Memory(
                cache() if enable_cache else None, cache() if dedup_history else None, generations, settings.clock
            ),
            lifetime=cache_ttl,
            result_limit=settings.result_limit,
            jitter=settings.jitter,
        )

    @property
    def registry(self) -> ToolRegistry:
        """The tools this executor runs."""
        return self._kit.registry

    @property
    def cache_seconds(self) -> float:
        """How long a result is kept for a tool that does not say so itself."""
        return self._kit.lifetime

    @property
    def abandoned_threads(self) -> int:
        """Threads still held by tools that were given up."""
        return self._kit.pool.abandoned

    def process_tool_calls(
        self, tool_calls: Sequence[Any], context: Mapping[str, Any] | None = None, *, watcher: Watcher | None = None
    ) -> list[JsonObject]:
        """Run the calls one after the other; one CALL for each, in the order asked."""
        return Batch(self._kit, CallContext(context, self._kit.states), watcher, 1).run(tool_calls)

    def process_tool_calls_parallel(
        self,
        tool_calls: Sequence[Any],
        context: Mapping[str, Any] | None = None,
        max_workers: int = MAX_WORKERS,
        *,
        watcher: Watcher | None = None,
    ) -> list[JsonObject]:
        """Run neighbours that are safe side by side, the others alone; one CALL for each, in the order asked."""
        workers = max(max_workers, 1)
        return Batch(self._kit, CallContext(context, self._kit.states), watcher, workers).run(tool_calls)

    def execute_one(self, name: str, args: Any, context: Mapping[str, Any] | None = None) -> JsonObject:
        """Run one tool and return its whole result object; never raises for what the tool does."""
        whole: list[str] = []
        request = {"id": "", "function": {"name": name, "arguments": args}}
        call = self.process_tool_calls([request], context, watcher=_Keeper(whole))[0]
        result: JsonObject = json.loads(whole[0] if whole else call["result"])
        return result

    def clear_history(self) -> None:
        """Forget what conversations have asked before, and every cached result."""
        self._kit.memory.clear()

    def forget_run(self, run_id: str) -> None:
        """That run has ended: drop its counters."""
        self._kit.states.forget(run_id)

    def project_written(self, project_id: str) -> None:
        """A file of the project was changed by other means than a tool: drop what was read before."""
        self._kit.memory.wrote(("project", project_id))


class _Keeper:
    """A watcher that keeps the whole text of a result that was cut."""

    def __init__(self, whole: list[str]) -> None:
        self._whole = whole

    def calls_started(self, calls: list[JsonObject]) -> None:
        """Nothing to keep yet."""

    def call_finished(self, call: JsonObject, full_result: str | None) -> None:
        """Keep the whole text."""
        if full_result is not None:
            self._whole.append(full_result)

    def notice(self, code: str, detail: str) -> None:
        """Nothing to keep."""


def _run_uncached(registry: ToolRegistry, name: str, args: JsonObject) -> JsonObject:
    return ToolExecutor(registry=registry, enable_cache=False, dedup_history=False).execute_one(name, args)


core.set_runner(_run_uncached)
