"""What an earlier worker of a run has recorded, for the one that takes it up."""

import json
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from ...agent.types import CallRecord, Injection, JsonObject, Resume, StepRecord, ToolCallRequest, Usage, WaitingMessage
from ...models import Run, RunEvent, Step, ToolCall
from ...stores.rows import moment

USAGE_FIELDS = ("prompt_tokens", "completion_tokens", "cost_micros", "currency")


def load(session: Session, run: Run) -> Resume:
    """Steps, calls, injected messages, and the seconds that finished steps took."""
    steps = session.scalars(select(Step).where(Step.run_id == run.id).order_by(Step.index)).all()
    calls = session.scalars(
        select(ToolCall).where(ToolCall.run_id == run.id).order_by(ToolCall.step, ToolCall.position)
    ).all()
    return Resume(
        steps=tuple(step_record(row) for row in steps),
        calls=tuple(call_record(row) for row in calls),
        elapsed_seconds=sum(_seconds(row) for row in steps),
        injections=_injections(session, run.id),
    )


def last_injected(resume: Resume | None) -> str | None:
    """The message that the answer follows, if messages were injected."""
    return resume.injections[-1].messages[-1].id if resume and resume.injections else None


def _injections(session: Session, run_id: str) -> tuple[Injection, ...]:
    """Messages by the step that began after them, as the event log has it."""
    query = (
        select(RunEvent.data)
        .where(RunEvent.run_id == run_id, RunEvent.type == "message.injected")
        .order_by(RunEvent.seq)
    )
    found: dict[int, list[WaitingMessage]] = {}
    for text in session.scalars(query):
        data = json.loads(text)
        message = data["message"]
        waiting = WaitingMessage(message["id"], message["content"], tuple(message["attachments"]))
        found.setdefault(data["step"], []).append(waiting)
    return tuple(Injection(step, tuple(messages)) for step, messages in found.items())


def _seconds(row: Step) -> float:
    begun, ended = moment(row.started_at), moment(row.finished_at)
    # A clock that was set back in between must not give the run more time than it has.
    return max(0.0, (ended - begun).total_seconds()) if begun and ended else 0.0


def step_record(row: Step) -> StepRecord:
    """A stored step as the engine knows it; one that did not complete is still running."""
    return StepRecord(
        run_id=row.run_id,
        index=row.index,
        status="completed" if row.status == "completed" else "running",
        reasoning=row.reasoning,
        text=row.text,
        finish_reason=row.finish_reason,
        model=row.model,
        model_calls=row.model_calls,
        usage=Usage(**{name: row.usage[name] for name in USAGE_FIELDS if name in row.usage}),
        reasoning_fields=row.reasoning_fields,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def call_record(row: ToolCall) -> CallRecord:
    """A stored call as the engine knows it."""
    function = row.call["function"]
    request = ToolCallRequest(
        id=str(row.call.get("provider_id") or row.id),
        name=function["name"],
        arguments=function["arguments"],
        **_opaque(row.request or {}),
    )
    return CallRecord(row.run_id, row.step, row.position, {**row.call, "result": row.result}, row.idempotent, request)


def _opaque(stored: JsonObject, known: Sequence[str] = ("id", "type", "function", "extra_content")) -> JsonObject:
    """The provider's own fields of a call, to be echoed."""
    return {
        "extra_content": stored.get("extra_content"),
        "provider_specific_fields": {k: v for k, v in stored.items() if k not in known} or None,
    }
