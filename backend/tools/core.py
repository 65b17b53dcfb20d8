"""What a tool is: its definition, its result, and the registry that holds tools in a stable order."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

JsonObject = dict[str, Any]
Handler = Callable[[JsonObject], Any]
Risk = Literal["low", "medium", "high"]
Failure = Literal["FAIL_FAST", "CACHED_RESULT", "ALTERNATIVE_TOOL", "SKIP", "RETRY_ONLY"]

DEFAULT_TIMEOUT_SECONDS = 60.0

Runner = Callable[["ToolRegistry", str, JsonObject], JsonObject]


@dataclass(frozen=True, slots=True)
class ToolParam:
    """One argument, for tools that do not write a JSON Schema."""

    name: str
    type: str
    description: str
    required: bool = False
    enum: list[Any] | None = None

    def to_schema(self) -> JsonObject:
        """The argument's JSON Schema."""
        schema: JsonObject = {"type": self.type, "description": self.description}
        if self.enum is not None:
            schema["enum"] = list(self.enum)
        return schema


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retry retryable errors of idempotent tools: waits base_delay * 2**n + random(0, 1) seconds."""

    max_retries: int = 2
    base_delay: float = 1.0


@dataclass(frozen=True, slots=True)
class OnFailure:
    """What to do when a tool failed for good; `tool` names the alternative."""

    kind: Failure = "FAIL_FAST"
    tool: str | None = None


FAIL_FAST = OnFailure("FAIL_FAST")
CACHED_RESULT = OnFailure("CACHED_RESULT")
SKIP = OnFailure("SKIP")
RETRY_ONLY = OnFailure("RETRY_ONLY")


def ALTERNATIVE_TOOL(name: str) -> OnFailure:
    """On failure, ask the tool `name` with the same arguments."""
    return OnFailure("ALTERNATIVE_TOOL", name)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as declared; `factory.tool` fills the defaults that follow from `read_only`.

    `needs` names the context values that the executor puts into `arguments`, as (context key,
    argument key) pairs; the model neither sees nor sets them. `result_limit` is how many characters
    of a result the model sees, for tools that page their own results; None is the executor's limit.
    `summarize(arguments, data)` gives the one line of the card, `unavailable()` a reason or None.
    """

    name: str
    description: str
    parameters: JsonObject
    handler: Handler
    category: str = "custom"
    read_only: bool = False
    concurrency_safe: bool = False
    cacheable: bool = False
    cache_ttl: float | None = None
    idempotent: bool = False
    pure: bool = False
    inline: bool = False
    needs: tuple[tuple[str, str], ...] = ()
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    scopes: frozenset[str] = frozenset()
    egress: bool = False
    risk: Risk = "medium"
    retry: RetryPolicy | None = None
    on_failure: OnFailure = FAIL_FAST
    result_limit: int | None = None
    summarize: Callable[[JsonObject, Any], str] | None = field(default=None, compare=False)
    unavailable: Callable[[], str | None] | None = field(default=None, compare=False)

    def to_openai_schema(self) -> JsonObject:
        """`{"type": "function", "function": {name, description, parameters}}`."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    to_openai_format = to_openai_schema

    def to_anthropic_schema(self) -> JsonObject:
        """`{name, description, input_schema}`."""
        return {"name": self.name, "description": self.description, "input_schema": self.parameters}


@dataclass(slots=True)
class ToolResult:
    """What one execution gave."""

    tool_name: str = ""
    status: str = "success"
    data: Any = None
    error: str | None = None
    execution_time_ms: float = 0.0
    code: str | None = None
    retryable: bool = False
    suggestion: str | None = None

    @classmethod
    def ok(cls, data: Any, tool_name: str = "") -> "ToolResult":
        """A success."""
        return cls(tool_name=tool_name, data=data)

    @classmethod
    def fail(cls, error: str, **fields: Any) -> "ToolResult":
        """A failure; `fields` are `code`, `retryable`, `suggestion`, `status`, `tool_name`."""
        fields.setdefault("status", "error")
        fields.setdefault("code", "tool_failed")
        return cls(error=error, **fields)

    @property
    def success(self) -> bool:
        """True unless it failed."""
        return self.status == "success"

    def to_dict(self) -> JsonObject:
        """`{"success": true, "data": …}` or the failed result of the contract."""
        if self.success:
            return {"success": True, "data": self.data}
        return {
            "success": False,
            "tool": self.tool_name,
            "status": self.status,
            "code": self.code,
            "error": self.error,
            "retryable": self.retryable,
            "suggestion": self.suggestion,
        }


class ToolRegistry:
    """Tools by name, listed in the order of their names so that requests to the model are stable."""

    def __init__(self, definitions: Iterable[ToolDefinition] = ()) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, ToolDefinition] = {}
        self.replace_all(definitions)

    def register(self, definition: ToolDefinition) -> None:
        """Add or replace one tool."""
        with self._lock:
            self._swap({**self._tools, definition.name: definition})

    def replace_all(self, definitions: Iterable[ToolDefinition]) -> None:
        """Swap the whole set at once: readers see the old or the new one, never a mixture."""
        with self._lock:
            self._swap({d.name: d for d in definitions})

    def get(self, name: str) -> ToolDefinition | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def all(self) -> list[ToolDefinition]:
        """Every definition, by name."""
        return list(self._tools.values())

    def names(self) -> list[str]:
        """Every name, sorted."""
        return list(self._tools)

    def list_all(self) -> list[JsonObject]:
        """OpenAI schemas of every tool, in stable order."""
        return [d.to_openai_schema() for d in self._tools.values()]

    get_all_schemas = list_all

    def execute(self, name: str, args: JsonObject) -> JsonObject:
        """Run one tool by the executor's rules, with no context and no cache; returns its result as a dict."""
        return _runner(self, name, args)

    def _swap(self, tools: dict[str, ToolDefinition]) -> None:
        self._tools = dict(sorted(tools.items()))


def _no_runner(registry: ToolRegistry, name: str, args: JsonObject) -> JsonObject:
    raise RuntimeError("no executor is loaded: import backend.tools")


_runner: Runner = _no_runner


def set_runner(runner: Runner) -> None:
    """The executor, which stands above this module, says here how `ToolRegistry.execute` runs a tool."""
    global _runner
    _runner = runner


registry = ToolRegistry()
