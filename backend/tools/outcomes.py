"""Makes outcomes: from what a tool returned, or from what it raised."""

from collections.abc import Callable
from typing import Any

from .core import JsonObject, ToolDefinition, ToolResult
from .limits import cut_result, how_to_get_the_rest
from .results import Outcome, as_result, default_summary, one_line, to_text

FAILED_STATUSES = frozenset({"error", "timeout", "permission_denied", "cancelled", "unknown"})


def outcome_of_value(value: Any, tool: ToolDefinition, arguments: JsonObject, limit: int) -> Outcome:
    """The outcome of a tool that returned `value`."""
    result: JsonObject = {"success": True, "data": value}
    if isinstance(value, dict | ToolResult):
        result = as_result(value, tool.name)
        if result["success"] is not True:
            return outcome_of_failure(result, tool, limit)
    text, size, result = to_text(result)
    full = None
    if len(text) > limit:
        full, text = text, cut_result(result, text, limit, how_to_get_the_rest(tool.parameters))
    summary = _summary(tool.summarize, result, arguments) if tool.summarize else default_summary(result)
    return Outcome("success", text, full, size, summary)


def outcome_of_failure(result: JsonObject, tool: ToolDefinition | None, limit: int) -> Outcome:
    """The outcome of a failed result object."""
    text, size, result = to_text(result)
    full = None
    if len(text) > limit:
        hint = how_to_get_the_rest(tool.parameters if tool else {})
        full, text = text, cut_result(result, text, limit, hint)
    status = result.get("status")
    return Outcome(
        status if status in FAILED_STATUSES else "error",
        text, full, size, default_summary(result), str(result.get("error")), str(result.get("code")),
        result.get("retryable") is True,
    )  # fmt: skip


def _summary(summarize: Callable[[JsonObject, Any], str], result: JsonObject, arguments: JsonObject) -> str:
    try:
        return one_line(str(summarize(arguments, result.get("data", result))))
    except Exception:  # noqa: BLE001 - a tool's own code; a missing summary must not lose the result
        return default_summary(result)
