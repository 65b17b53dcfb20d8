"""What the executor works out once for each tool: the compiled schema, what to inject, how its calls are keyed."""

import hashlib
import itertools
from collections.abc import Hashable, Mapping
from copy import deepcopy
from typing import Any

from .core import JsonObject, ToolDefinition, ToolRegistry
from .encoding import fast_encoder
from .validation import ArgumentSchema

CANCEL_KEY = "cancelled"

MAX_KEY_CHARACTERS = 2_000

Key = tuple[int, str, str, Hashable]

_serials = itertools.count(1)
_canonical = fast_encoder(sort_keys=True, default=str)


class Plan:
    """One definition, prepared. `serial` differs for every version of a tool, so that no cache outlives it."""

    __slots__ = (
        "cancel_argument", "definition", "handler", "injected", "injections", "inline", "keeps", "key_context",
        "lifetime", "limit", "repairs", "reusable", "safe", "schema", "serial", "writes",
    )  # fmt: skip

    def __init__(self, definition: ToolDefinition) -> None:
        """Raises ValueError if the tool's parameters are not a valid JSON Schema."""
        self.definition = definition
        self.handler = definition.handler
        self.schema = ArgumentSchema(definition.parameters)
        self.serial = next(_serials)
        self.injections = tuple((c, a) for c, a in definition.needs if c != CANCEL_KEY)
        self.injected = frozenset(argument for _, argument in definition.needs)
        self.cancel_argument = next((a for c, a in definition.needs if c == CANCEL_KEY), None)
        self.key_context = tuple(c for c, _ in self.injections)
        self.writes = not definition.read_only and not (definition.concurrency_safe and definition.idempotent)
        self.safe = definition.concurrency_safe
        self.inline = definition.inline
        self.reusable = definition.cacheable
        self.lifetime = definition.cache_ttl
        self.limit = definition.result_limit
        self.repairs = definition.read_only
        self.keeps = definition.cacheable or definition.on_failure.kind in ("CACHED_RESULT", "RETRY_ONLY")

    def key(self, arguments: JsonObject, context: Mapping[str, Any], scope: Hashable) -> Key:
        """Equal for calls that must give the same: tool, canonical arguments, what is injected, scope.

        The first two parts alone tell whether the model asks for the same again.
        """
        injected = ""
        if self.key_context:
            injected = "".join([_canonical(context.get(name)) for name in self.key_context])
        text = _canonical(arguments)
        if len(text) > MAX_KEY_CHARACTERS:  # a key outlives its call: it must not hold a file's content
            text = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return (self.serial, text, injected, None if self.definition.pure else scope)

    def handed_over(self, arguments: JsonObject, call_id: str, context: Mapping[str, Any]) -> JsonObject:
        """The handler's own copy of the arguments, with what the tool needs from the context."""
        copy = arguments.copy()
        for name, value in arguments.items():
            if value.__class__ is list or value.__class__ is dict:  # what a tool does to them must not reach a retry
                copy[name] = deepcopy(value)
        for key, argument in self.injections:
            copy[argument] = call_id if key == "call_id" else context.get(key)
        return copy


class Plans:
    """Plans of a registry's tools, made when first asked for and made anew when a tool has changed."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._plans: dict[str, Plan] = {}

    def names(self) -> list[str]:
        """The names of all tools, sorted."""
        return self._registry.names()

    def get(self, name: str) -> Plan | None:
        """The plan of the tool now registered under `name`, or None."""
        definition = self._registry.get(name)
        if definition is None:
            return None
        plan = self._plans.get(name)
        if plan is None or plan.definition is not definition:
            plan = self._plans[name] = Plan(definition)
        return plan
