"""What the executor is told of the run it works for, read once for each batch."""

from collections.abc import Hashable, Mapping
from typing import Any

from .core import ToolDefinition
from .runstate import RunState, RunStates

DEFAULT_POLICY = {"low": "allow", "medium": "allow", "high": "ask"}
DEFAULT_MAX_RETRIES = 2
NOTHING: Mapping[str, Any] = {}


class CallContext:
    """The caller's context dict, with what every call of the batch needs worked out.

    `scope` is whose data a result may hold: (user, project). `write_scope` is what a write makes stale.
    """

    values: Mapping[str, Any] = NOTHING
    cancelled: Any = None
    run_id: str | None = None
    step = 0
    fresh = False
    scope: Hashable = (None, None)
    write_scope: Hashable = ("user", None)
    conversation: Hashable = None
    max_retries = DEFAULT_MAX_RETRIES
    _state: RunState | None = None

    def __init__(self, values: Mapping[str, Any] | None, states: RunStates) -> None:
        if values:
            self.values = values
            self._read(values, states)

    @property
    def state(self) -> RunState:
        """What is remembered of the run; without a run, of this batch."""
        if self._state is None:
            self._state = RunState()
        return self._state

    def _read(self, values: Mapping[str, Any], states: RunStates) -> None:
        get = values.get
        self.run_id = get("run_id")
        self.cancelled = get("cancelled")
        self.step = get("step") or 0
        self.fresh = bool(get("fresh"))
        user, project = get("user_id"), get("project_id")
        self.scope = (user, project)
        self.write_scope = ("project", project) if project is not None else ("user", user)
        conversation = get("conversation_id") or self.run_id
        self.conversation = None if conversation is None else (conversation, self.scope)
        self.max_retries = getattr(get("limits"), "max_retries_per_tool", DEFAULT_MAX_RETRIES)
        self._state = states.of(self.run_id, get("used_ids") or ())

    def granted(self, name: str) -> bool:
        """Whether this run was given that tool (a context that names no tools allows all)."""
        tools = self.values.get("tools")
        return tools is None or name in tools

    def policy(self, tool: ToolDefinition) -> str:
        """allow, ask or deny; with no policy in the context a person has decided already."""
        policies = self.values.get("policy")
        if policies is None:
            return "allow"
        return str(policies.get(tool.name) or DEFAULT_POLICY[tool.risk])

    def missing_scopes(self, tool: ToolDefinition) -> list[str]:
        """Scopes the tool needs and the run was not granted."""
        scopes = self.values.get("scopes")
        return [] if scopes is None else sorted(tool.scopes.difference(scopes))

    def is_cancelled(self) -> bool:
        """Whether the run was told to stop."""
        return self.cancelled is not None and bool(self.cancelled.is_set())
