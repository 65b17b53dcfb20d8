"""The `@tool` decorator: turns one function into a registered tool."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypedDict, Unpack

from .core import (
    DEFAULT_TIMEOUT_SECONDS,
    FAIL_FAST,
    Handler,
    JsonObject,
    OnFailure,
    RetryPolicy,
    Risk,
    ToolDefinition,
    ToolParam,
    registry,
)

TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
RISKS = ("low", "medium", "high")
EMPTY_SCHEMA: JsonObject = {"type": "object", "properties": {}}
NEVER_CACHED = frozenset({"execute_python", "multi_agent"})  # dice are thrown anew

_collector: ContextVar[list[ToolDefinition] | None] = ContextVar("collector", default=None)


class ToolOptions(TypedDict, total=False):
    """What `@tool` takes beside name, description, parameters and category."""

    read_only: bool
    concurrency_safe: bool
    cacheable: bool
    cache_ttl: float | None
    idempotent: bool
    pure: bool
    inline: bool
    needs: Iterable[str] | Mapping[str, str]
    timeout: float
    scopes: Iterable[str]
    egress: bool
    risk: Risk
    retry: RetryPolicy | None
    on_failure: OnFailure
    result_limit: int | None
    summarize: Callable[[JsonObject, Any], str] | None
    unavailable: Callable[[], str | None] | None


def tool(
    name: str,
    description: str,
    parameters: JsonObject | list[ToolParam] | None = None,
    category: str = "custom",
    **options: Unpack[ToolOptions],
) -> Callable[[Handler], Handler]:
    """Register the decorated `function(arguments: dict) -> dict` as a tool.

    Raises ValueError for a name that models do not accept or a field that cannot be, TypeError for an unknown one.
    """

    def decorate(handler: Handler) -> Handler:
        definition = define(name, description, parameters, handler, category, **options)
        handler.definition = definition  # type: ignore[attr-defined]
        collected = _collector.get()
        if collected is None:
            registry.register(definition)
        else:
            collected.append(definition)
        return handler

    return decorate


@contextmanager
def collecting() -> Iterator[list[ToolDefinition]]:
    """Within this block `@tool` adds to the yielded list and leaves the registry alone."""
    found: list[ToolDefinition] = []
    token = _collector.set(found)
    try:
        yield found
    finally:
        _collector.reset(token)


def define(
    name: str,
    description: str,
    parameters: JsonObject | list[ToolParam] | None,
    handler: Handler,
    category: str = "custom",
    **options: Unpack[ToolOptions],
) -> ToolDefinition:
    """Build a definition with the defaults that follow from `read_only`, without registering it."""
    if not TOOL_NAME.fullmatch(name):
        raise ValueError(f"tool name {name!r}: use 1 to 64 letters, digits, _ or -")
    unknown = options.keys() - ToolOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"tool {name!r}: unknown option {', '.join(sorted(unknown))}")
    _check(name, parameters, handler, options)
    read_only = options.get("read_only", False)
    pure = options.get("pure", False)
    egress = options.get("egress", False)
    needs = _needs(name, options.get("needs"))
    return ToolDefinition(
        name=name,
        description=description,
        parameters=_without(_schema(parameters), {argument for _, argument in needs}),
        handler=handler,
        category=category,
        read_only=read_only or pure,
        concurrency_safe=options.get("concurrency_safe", read_only or pure),
        cacheable=options.get("cacheable", read_only or pure) and not _always_fresh(name),
        cache_ttl=options.get("cache_ttl"),
        idempotent=options.get("idempotent", read_only or pure),
        pure=pure,
        inline=options.get("inline", False),
        needs=needs,
        timeout=options.get("timeout", DEFAULT_TIMEOUT_SECONDS),
        scopes=frozenset(options.get("scopes", _scopes(needs, egress))),
        egress=egress,
        risk=options.get("risk", "low" if read_only or pure else "medium"),
        retry=options.get("retry"),
        on_failure=options.get("on_failure", FAIL_FAST),
        result_limit=options.get("result_limit"),
        summarize=options.get("summarize"),
        unavailable=options.get("unavailable"),
    )


def _check(name: str, parameters: Any, handler: Any, options: Mapping[str, Any]) -> None:
    """ValueError or TypeError for what would only show when the tool runs."""
    if not callable(handler):
        raise TypeError(f"tool {name!r}: the decorator belongs above a function")
    if inspect.iscoroutinefunction(handler) or inspect.isgeneratorfunction(handler):
        raise TypeError(f"tool {name!r}: write a plain function; async functions and generators are not run")
    if isinstance(parameters, dict) and parameters.get("type", "object") != "object":
        raise ValueError(f"tool {name!r}: the parameters of {name!r} must be a schema of type object")
    timeout = options.get("timeout", DEFAULT_TIMEOUT_SECONDS)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise ValueError(f"tool {name!r}: timeout must be seconds above 0")
    if options.get("risk", "low") not in RISKS:
        raise ValueError(f"tool {name!r}: risk must be one of {', '.join(RISKS)}")
    if isinstance(options.get("needs"), str) or isinstance(options.get("scopes"), str):
        raise TypeError(f"tool {name!r}: needs and scopes are lists of names")
    for option, kind in (("on_failure", OnFailure), ("retry", RetryPolicy)):
        if options.get(option) is not None and not isinstance(options[option], kind):
            raise TypeError(f"tool {name!r}: {option} must be a {kind.__name__}")


def _schema(parameters: JsonObject | list[ToolParam] | None) -> JsonObject:
    if parameters is None:
        return dict(EMPTY_SCHEMA)
    if isinstance(parameters, list):
        return {
            "type": "object",
            "properties": {p.name: p.to_schema() for p in parameters},
            "required": [p.name for p in parameters if p.required],
        }
    return parameters


def _without(schema: JsonObject, injected: set[str]) -> JsonObject:
    """The schema as the model sees it: what the executor fills in is not there."""
    if injected.isdisjoint(schema.get("properties", {})):
        return schema
    shown = {**schema, "properties": {k: v for k, v in schema["properties"].items() if k not in injected}}
    if "required" in schema:
        shown["required"] = [name for name in schema["required"] if name not in injected]
    return shown


def _always_fresh(name: str) -> bool:
    return name.startswith("file_") or name in NEVER_CACHED


def _needs(name: str, given: Iterable[str] | Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    if given is None:
        if name.startswith("file_"):
            return (("project_id", "project_id"),)
        if name == "multi_agent":
            return (("model", "_model"), ("project_id", "_project_id"))
        return ()
    if isinstance(given, Mapping):
        return tuple(given.items())
    return tuple((key, key) for key in given)


def _scopes(needs: tuple[tuple[str, str], ...], egress: bool) -> set[str]:
    scopes = {"project"} if any(key == "project_id" for key, _ in needs) else set()
    return scopes | ({"network"} if egress else set())
