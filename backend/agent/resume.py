"""Takes up a run that another worker left: what is finished stays, what is uncertain is said to be."""

import json
from dataclasses import replace

from ..ids import iso_now
from .answer import Answer
from .batches import run_open_calls
from .guardrails import COMPLETED, RunStopped
from .injection import user_message
from .pairing import unknown_outcome
from .state import RunState, Step
from .streaming import StepStream
from .transcripts import messages_of_steps
from .types import CallRecord, ModelReply, Resume, StepRecord


def take_up(run: RunState) -> Step | None:
    """Bring the run to where it was; returns the step whose calls were just completed, or None to begin the next."""
    resume = run.spec.resume
    if resume is None:
        _stop_if_given_up(run)
        return None
    for record in resume.calls:
        run.call_ids.add(record.call["id"])
    finished = [s for s in resume.steps if s.status == "completed"]
    for step in finished:
        _replay(run, resume, step)
    _inject_before(run, resume, len(finished), last=True)
    run.recorder.emit("run.resumed", step=run.guard.steps)
    if finished and not _calls_of(resume, finished[-1].index) and _answered(run):
        raise RunStopped(COMPLETED)
    under_way = _restore_batch(run, resume)
    end = run.spec.given_up or run.guard.check_before_step()
    if under_way is None and len(finished) < len(resume.steps) and end is not None:
        run.open_step()  # it had begun, so it must be seen to end, also when the run was cancelled meanwhile
        raise RunStopped(end)
    _stop_if_given_up(run)
    if under_way is not None:
        run_open_calls(run, under_way)
    return under_way


def _stop_if_given_up(run: RunState) -> None:
    if run.spec.given_up is not None:
        raise RunStopped(run.spec.given_up)


def _answered(run: RunState) -> bool:
    """True if the last message is the answer: only the run's end was not written any more."""
    return run.transcript[-1].role == "assistant"


def _replay(run: RunState, resume: Resume, step: StepRecord) -> None:
    _inject_before(run, resume, step.index)
    calls = _calls_of(resume, step.index)
    run.transcript += messages_of_steps([step], calls, lambda name: _read_only(run, name))
    run.usage += step.usage
    run.guard.step_done([bool(r.call["success"]) for r in calls])
    run.answer.add_step(step, calls)


def _inject_before(run: RunState, resume: Resume, step: int, *, last: bool = False) -> None:
    for injection in resume.injections:
        if injection.step == step or (last and injection.step > step):
            run.transcript += [user_message(m) for m in injection.messages]
            run.answer = Answer(injection.messages[-1].id)
            run.drains += 1


def _restore_batch(run: RunState, resume: Resume) -> Step | None:
    """The step that was under way: if its calls are recorded, the model's answer stands and the batch is to be completed."""
    index = run.guard.steps
    calls = _calls_of(resume, index)
    record = next((s for s in resume.steps if s.index == index), None)
    if record is None or not calls:
        return None
    step = Step(replace(record, status="running"), StepStream(run.recorder, index))
    step.calls = [_settled(replace(c)) for c in calls]
    run.step = step
    run.usage += record.usage
    run.recorder.emit("step.started", step=index)
    step.stream.settle(ModelReply(text=record.text, reasoning=record.reasoning))
    for call in step.calls:
        if call.call["status"] not in ("pending", "executing"):
            run.recorder.write([replace(call)], [run.recorder.event("tool_call.finished", call=call.call)], wait=False)
    return step


def _settled(record: CallRecord) -> CallRecord:
    """A call found executing is run again only if that is harmless; else its outcome is unknown."""
    if record.call["status"] != "executing" or record.idempotent:
        return record
    text = unknown_outcome(record.call["function"]["name"])
    record.call = {
        **record.call,
        "status": "unknown",
        "success": False,
        "result": text,
        "result_size": len(text.encode()),
        "summary": json.loads(text)["error"],
        "finished_at": iso_now(),
    }
    return record


def _calls_of(resume: Resume, step: int) -> list[CallRecord]:
    return sorted((c for c in resume.calls if c.step == step), key=lambda c: c.position)


def _read_only(run: RunState, name: str) -> bool:
    definition = run.doors.executor.registry.get(name)
    return definition is not None and definition.read_only
