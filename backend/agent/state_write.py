"""STATE_WRITE: commits what a step did, and how a run began and ended."""

from dataclasses import replace

from ..ids import iso_now
from .guardrails import TerminationResult
from .state import RunState, Step
from .types import CallRecord, Event, Record, RunOutcome, RunRecord


def begin(run: RunState) -> None:
    """Say that the run works now; one that is taken up again says so itself."""
    run.observe("run.before", kind=run.spec.kind)
    if run.spec.resume is not None:
        run.recorder.write([RunRecord(run.spec.run_id, status="running")], [])
        return
    row = RunRecord(run.spec.run_id, status="running", started_at=iso_now())
    run.recorder.write([row], [run.recorder.event("run.started")], wait=False)


def close_step(run: RunState, step: Step) -> None:
    """Commit a step whose work is done. Without calls the commit is left to what follows at once: the run's end or an injection."""
    successes = [bool(r.call["success"]) for r in step.calls]
    rows, events = _closed(run, step, "completed", successes)
    if step.calls:
        run.recorder.write(rows, events)
    else:
        run.recorder.hold(rows, events)
    run.observe("step.after", step=step.record.index, status="completed")


def break_off(run: RunState) -> None:
    """Keep what a step that ends the run had shown."""
    step = run.step
    if step is None:
        return
    for record in step.calls:
        _close_call(record)
    rows, events = _closed(run, step, "failed", [])
    run.recorder.hold(rows, events)
    run.observe("step.after", step=step.record.index, status="failed")


def _closed(run: RunState, step: Step, status: str, successes: list[bool]) -> tuple[list[Record], list[Event]]:
    record = step.sync()
    record.status = "completed" if status == "completed" else "failed"
    record.finished_at = iso_now()
    run.guard.step_done(successes)
    run.answer.add_step(record, step.calls)
    run.step = None
    rows: list[Record] = [
        replace(record),
        *map(replace, step.calls),
        RunRecord(run.spec.run_id, usage=run.usage, step_count=run.guard.steps),
    ]
    return rows, [run.recorder.event("step.finished", step=record.index)]


def _close_call(record: CallRecord) -> None:
    """In a run that ended no call stays open: what never began is cancelled, what began and was not heard of is unknown."""
    status = record.call["status"]
    if status in ("pending", "executing", "waiting_approval"):
        ended = "unknown" if status == "executing" else "cancelled"
        record.call = {**record.call, "status": ended, "success": False, "finished_at": iso_now()}


def finish(run: RunState, end: TerminationResult) -> RunOutcome:
    """Commit the answer and the run's end together, then tell the listener."""
    outcome = outcome_of(run, end)
    rows: list[Record] = []
    events: list[Event] = []
    if run.spec.conversation_id is not None:
        message = run.answer.to_record(run.spec.conversation_id, run.spec.run_id, end.error)
        if message is not None:
            rows.append(message)
            events.append(run.recorder.event("message.completed", message=message.to_json()))
    rows.append(
        RunRecord(
            run.spec.run_id,
            status=outcome.status,
            stop_reason=end.stop_reason,
            output=outcome.output,
            error=end.error,
            usage=run.usage,
            step_count=run.guard.steps,
            finished_at=iso_now(),
        )
    )
    events.append(run.recorder.event("run.finished", status=end.status, stop_reason=end.stop_reason, error=end.error))
    run.recorder.write(rows, events)
    return outcome


def outcome_of(run: RunState, end: TerminationResult) -> RunOutcome:
    """How the run ended, as the caller gets it."""
    return RunOutcome(
        run_id=run.spec.run_id,
        status=end.status,
        stop_reason=end.stop_reason,
        output=run.answer.content,
        error=end.error,
        usage=run.usage,
        step_count=run.guard.steps,
    )
