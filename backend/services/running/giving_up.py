"""The end of a run that cannot go on: what was done of it is kept, without asking a model or a tool again."""

from dataclasses import replace

from sqlalchemy import select

from ...agent.guardrails import GuardrailConfig, TerminationResult, failed
from ...agent.types import Event, Record, RunRecord, RunSpec
from ...errors import NanoClawError, NotFound
from ...ids import iso_now
from ...models import Run, Step, ToolCall
from ...stores.leases import Lease
from ..runtime import Runtime
from . import resuming
from .assembly import kind_of, resume_of
from .proving import unknown


def crashed_too_often(lease: Lease) -> TerminationResult:
    """The reason of a run over which one worker after the other has died."""
    return failed(
        "error",
        "crash_loop",
        f"The server was killed {lease.deaths} times in a row while it was at the same step of this run.",
        suggestion="Look at the server's log and its memory. Then let the run go on, or ask in another way.",
        retryable=True,
    )


def cannot_start(error: NanoClawError) -> TerminationResult:
    """The reason of a run that could not be assembled."""
    return failed("error", error.code, error.message, suggestion=error.suggestion, retryable=error.retryable)


def given_up(runtime: Runtime, lease: Lease, why: TerminationResult) -> RunSpec:
    """What the engine needs to end it. Raises NotFound."""
    resume = resume_of(runtime, lease.run_id) if lease.again else None
    with runtime.db.read() as session:
        run = session.get(Run, lease.run_id)
    if run is None:
        raise NotFound("This run does not exist.")
    return RunSpec(
        run_id=run.id,
        kind=kind_of(run.kind),
        transcript=(),
        system_prompt="",
        model=run.model,
        limits=GuardrailConfig(**run.limits),
        user_id=run.owner_id,
        project_id=run.project_id,
        conversation_id=run.conversation_id,
        parent_message_id=resuming.last_injected(resume) or run.message_id,
        resume=resume,
        given_up=why,
    )


def bare_end(runtime: Runtime, run_id: str, why: TerminationResult) -> tuple[list[Record], list[Event]]:
    """The end without an answer: only what is open is read."""
    with runtime.db.read() as session:
        steps = session.scalars(select(Step).where(Step.run_id == run_id, Step.finished_at.is_(None))).all()
        calls = session.scalars(select(ToolCall).where(ToolCall.run_id == run_id, ToolCall.finished_at.is_(None))).all()
    records: list[Record] = []
    events: list[Event] = []
    for row in calls:
        records.append(ended := unknown(resuming.call_record(row)))
        events.append(Event("tool_call.finished", {"call": ended.call}))
    for step in map(resuming.step_record, steps):
        records.append(replace(step, status="failed", finished_at=iso_now()))
        events.append(Event("step.finished", {"step": step.index}))
    records.append(RunRecord(run_id, why.status, why.stop_reason, error=why.error, finished_at=iso_now()))
    events.append(Event("run.finished", {"status": why.status, "stop_reason": why.stop_reason, "error": why.error}))
    return records, events
