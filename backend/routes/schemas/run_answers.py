"""What a run did, as answers: the run, its steps and calls, its changes, and the receipt of a cancel."""

from typing import Any, Literal

from .base import Answer

CallStatus = Literal[
    "pending",
    "executing",
    "waiting_approval",
    "success",
    "error",
    "timeout",
    "permission_denied",
    "cancelled",
    "unknown",
]
RunStatus = Literal["queued", "running", "waiting_approval", "completed", "cancelled", "max_steps", "timeout", "failed"]
RunKind = Literal["chat", "task", "workflow", "child", "manual", "copy"]


class Function(Answer):
    """What a call asks for; `arguments` is JSON text."""

    name: str
    arguments: str


class Call(Answer):
    """CALL: one tool call."""

    id: str
    type: Literal["function"]
    function: Function
    result: str | None
    success: bool | None
    skipped: bool
    execution_time: float | None
    status: CallStatus
    cached: bool
    duplicate_of: str | None
    cached_at: str | None
    expires_at: str | None
    attempts: int
    degraded: str | dict[str, Any] | None
    summary: str | None
    queued_ms: float | None
    result_truncated: bool
    result_size: int | None
    provider_id: str | None
    step: int | None
    started_at: str | None
    finished_at: str | None


class Usage(Answer):
    """Tokens and cost."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost_micros: int
    currency: str


class RunSummary(Answer):
    """A run as lists show it; `title` is the beginning of its input."""

    id: str
    title: str
    kind: RunKind
    status: RunStatus
    stop_reason: str | None
    project_id: str | None
    conversation_id: str | None
    parent_run_id: str | None
    parent_call_id: str | None
    model: str
    error: dict[str, Any] | None
    usage: Usage
    step_count: int
    created_at: str
    started_at: str | None
    finished_at: str | None


class ListedRun(RunSummary):
    """A run in a list, with how many tool calls it made and how many of them failed."""

    call_count: int
    failure_count: int


class Injected(Answer):
    """Something that the executor put into a call; `value` is null for what lives in the process only."""

    key: str
    argument: str
    value: Any
    name: str | None


class Run(RunSummary):
    """RUN."""

    input: str
    output: str | None
    limits: dict[str, Any]


class RunDiff(Answer):
    """What a run did to one path; `diff` is null for binary or large contents."""

    path: str
    new_path: str | None
    action: str
    diff: str | None
    change_ids: list[str]
    call_ids: list[str]
    reverted: bool


class RunDiffs(Answer):
    """Every path that a run changed."""

    items: list[RunDiff]


class UndonePath(Answer):
    """A path that was put back, and how."""

    path: str
    how: Literal["restored", "merged", "removed", "created", "moved back"]
    change_ids: list[str]


class UndoConflict(Answer):
    """A path that was left alone, and why."""

    path: str
    code: str
    reason: str
    change_ids: list[str]


class Undone(Answer):
    """What an undo did."""

    undone: list[UndonePath]
    conflicts: list[UndoConflict]


class TaskStatus(Answer):
    """How a task stands."""

    id: str
    status: RunStatus
    stop_reason: str | None
    step_count: int
    output: str | None
    error: dict[str, Any] | None


class Step(Answer):
    """One model call and its batch of tool calls."""

    index: int
    status: Literal["running", "completed", "failed"]
    reasoning: str
    text: str
    finish_reason: str | None
    model: str
    model_calls: int
    usage: dict[str, Any]
    tool_calls: list[Call]
    started_at: str | None
    finished_at: str | None


class Receipt(Answer):
    """What a cancel did."""

    stopped: list[Any]
    finished: list[Any]
    abandoned: list[Any]
    usage: dict[str, Any]
