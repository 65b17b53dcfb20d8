"""Turns an exception into what the model and the card are told, by its type and never by its text."""

import re
from pathlib import Path
from typing import Any

from ..errors import (
    NanoClawError,
    SsrfViolation,
    ToolCancelled,
    ToolDenied,
    ToolError,
    ToolTimeout,
    WorkspaceViolation,
)
from .core import JsonObject
from .encoding import text_of
from .runstate import VIOLATIONS_ESCALATED, RunState

MAX_MESSAGE_CHARACTERS = 2_000
SSRF_ADVICE = (
    "This boundary cannot be crossed: only public internet addresses are reachable. Do not try this address again, "
    "nor another spelling, redirect or tool for it. Go on without it, or ask the user for the content."
)
WORKSPACE_ADVICE = "Use a path inside the project folder; file_list shows what is there."
GENERAL_ADVICE = "Check the arguments and try something else; the same call is likely to fail again."
RETRY_ADVICE = "This may pass: try once more, or go on without it."
PASSING_FAULTS = (ConnectionError, TimeoutError, InterruptedError, BlockingIOError)
ABSOLUTE_PATH = re.compile(r"(?<![\w:/.])/(?:[\w.@+-]+/)+([\w.@+-]+)")


def describe(error: Exception, tool_name: str, state: RunState) -> JsonObject:
    """The failed result of the contract for what a tool raised; counts boundary violations of the run."""
    if isinstance(error, NanoClawError):
        return _known(error, tool_name, state)
    retryable = isinstance(error, PASSING_FAULTS)
    return failure(
        tool_name,
        f"{type(error).__name__}: {_message(error)}",
        retryable=retryable,
        suggestion=RETRY_ADVICE if retryable else GENERAL_ADVICE,
    )


def as_error(fault: BaseException) -> Exception:
    """The fault as an error of the tool: only an interrupt and an exit signal are more than that."""
    if isinstance(fault, Exception):
        return fault
    if isinstance(fault, KeyboardInterrupt | SystemExit):
        raise fault
    return ToolError(f"{type(fault).__name__}: {text_of(fault) or 'no further detail'}")


def failure(tool_name: str, error: str, **fields: Any) -> JsonObject:
    """A failed result; `fields` are status, code, retryable, suggestion."""
    return {
        "success": False,
        "tool": tool_name,
        "status": fields.get("status", "error"),
        "code": fields.get("code", "tool_failed"),
        "error": error,
        "retryable": fields.get("retryable", False),
        "suggestion": fields.get("suggestion"),
    }


def _known(error: NanoClawError, tool_name: str, state: RunState) -> JsonObject:
    told = failure(
        tool_name, error.message, status=_status(error), code=error.code, retryable=error.retryable,
        suggestion=error.suggestion or (RETRY_ADVICE if error.retryable else GENERAL_ADVICE),
    )  # fmt: skip
    if isinstance(error, SsrfViolation):
        told["suggestion"] = SSRF_ADVICE
    elif isinstance(error, WorkspaceViolation):
        told.update(_violation(error, state))
    return told


def _violation(error: WorkspaceViolation, state: RunState) -> JsonObject:
    count = state.count_violation(error.target)
    if count < VIOLATIONS_ESCALATED:
        return {"suggestion": error.suggestion or WORKSPACE_ADVICE}
    return {
        "suggestion": (
            f"Stop: {error.target!r} was tried {count} times in this run and lies outside the project folder. No tool "
            "can reach it. Do not try it again; tell the user what you need from there and ask how to go on."
        ),
        "violations": count,
    }


def _status(error: NanoClawError) -> str:
    if isinstance(error, ToolTimeout):
        return "timeout"
    if isinstance(error, ToolCancelled):
        return "cancelled"
    return "permission_denied" if isinstance(error, ToolDenied) else "error"


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = f": {Path(str(error.filename)).name}" if error.filename is not None else ""
        text = f"{error.strerror}{name}"
    else:
        text = text_of(error) or "no further detail"
    text = ABSOLUTE_PATH.sub(r"…/\1", text)  # no path of the server reaches the model
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else text[:MAX_MESSAGE_CHARACTERS] + "…"
