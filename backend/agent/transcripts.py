"""Stored steps and calls as messages to the model: of this run, of an interrupted one, of earlier runs alike."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from .types import CallRecord, Message, StepRecord, ToolCallRequest


def messages_of_steps(
    steps: Sequence[StepRecord], calls: Sequence[CallRecord], is_read_only: Callable[[str], bool]
) -> list[Message]:
    """The messages of a run's steps, in order; `is_read_only` tells for a tool's name whether its results may be compacted."""
    by_step: dict[int, list[CallRecord]] = {}
    for record in sorted(calls, key=lambda r: r.position):
        by_step.setdefault(record.step, []).append(record)
    out: list[Message] = []
    for step in steps:
        own = by_step.get(step.index, [])
        out.append(step_message(step, own))
        out += [result_message(r, read_only=is_read_only(r.call["function"]["name"])) for r in own]
    return out


def step_message(step: StepRecord, calls: Sequence[CallRecord]) -> Message:
    """What the model said in a step."""
    return Message(
        "assistant",
        step.text or None,
        tool_calls=tuple(_request(record) for record in calls),
        reasoning=step.reasoning_fields,
        key=f"{step.run_id}:{step.index}",
    )


def result_message(record: CallRecord, *, read_only: bool) -> Message:
    """What a call gave."""
    return Message(
        "tool",
        record.call["result"],
        tool_call_id=record.call["id"],
        name=record.call["function"]["name"],
        key=f"{record.run_id}:{record.call['id']}",
        read_only=read_only,
    )


def _request(record: CallRecord) -> ToolCallRequest:
    if record.request is not None:
        return replace(record.request, id=record.call["id"])
    function = record.call["function"]
    return ToolCallRequest(record.call["id"], function["name"], function["arguments"])
