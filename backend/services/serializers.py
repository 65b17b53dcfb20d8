"""Rows as the JSON of the contract: MESSAGE, CALL, RUN and its steps."""

from collections.abc import Sequence

from ..agent.types import JsonObject
from ..ids import iso
from ..models import Message, Run, Step, ToolCall

TITLE_CHARS = 120
# The kind of a run that only holds calls made elsewhere: of a fork or an import. It counts nowhere.
COPY = "copy"


def call_json(row: ToolCall) -> JsonObject:
    """CALL."""
    return {**row.call, "result": row.result}


def message_json(row: Message, siblings: Sequence[str] = (), calls: Sequence[ToolCall] = ()) -> JsonObject:
    """MESSAGE; `calls` are those its blocks name, in order."""
    return {
        "id": row.id,
        "conversation_id": row.conversation_id,
        "parent_id": row.parent_id,
        "siblings": list(siblings) or [row.id],
        "position": row.position,
        "role": row.role,
        "state": row.state,
        "content": row.content,
        "reasoning": row.reasoning,
        "blocks": row.blocks,
        "tool_calls": [call_json(call) for call in calls],
        "attachments": row.attachments,
        "model": row.model,
        "usage": row.usage,
        "error": row.error,
        "run_id": row.run_id,
        "created_at": iso(row.created_at),
    }


def usage_json(run: Run) -> JsonObject:
    """The `usage` of a run."""
    return {
        "prompt_tokens": run.prompt_tokens,
        "completion_tokens": run.completion_tokens,
        "total_tokens": run.prompt_tokens + run.completion_tokens,
        "cost_micros": run.cost_micros,
        "currency": run.currency,
    }


def run_summary_json(run: Run) -> JsonObject:
    """RUN as lists show it: without input, output and limits; `title` is the beginning of the input."""
    return {
        "id": run.id,
        "title": " ".join(run.input[: 2 * TITLE_CHARS].split())[:TITLE_CHARS],
        "kind": run.kind,
        "status": run.status,
        "stop_reason": run.stop_reason,
        "project_id": run.project_id,
        "conversation_id": run.conversation_id,
        "parent_run_id": run.parent_run_id,
        "parent_call_id": run.parent_call_id,
        "model": run.model,
        "error": run.error,
        "usage": usage_json(run),
        "step_count": run.step_count,
        "created_at": iso(run.created_at),
        "started_at": iso(run.started_at),
        "finished_at": iso(run.finished_at),
    }


def run_json(run: Run) -> JsonObject:
    """RUN."""
    return {**run_summary_json(run), "input": run.input, "output": run.output, "limits": run.limits}


def step_json(step: Step, calls: Sequence[ToolCall]) -> JsonObject:
    """A step with its calls."""
    return {
        "index": step.index,
        "status": step.status,
        "reasoning": step.reasoning,
        "text": step.text,
        "finish_reason": step.finish_reason,
        "model": step.model,
        "model_calls": step.model_calls,
        "usage": step.usage,
        "tool_calls": [call_json(call) for call in calls],
        "started_at": step.started_at or None,
        "finished_at": step.finished_at,
    }
