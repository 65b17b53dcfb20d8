"""MODEL_CALL: asks the model until its reply stands, streaming what it says."""

from ..errors import ContentFiltered, ContextTooLong, ModelCancelled, ModelError
from . import history, tokens, trimming
from .guardrails import RunStopped, StopReason, TerminationResult, failed
from .recorder import error_json
from .recovery import Attempt, Recovery, good_calls
from .state import RunState, Step
from .types import JsonObject, Message, ModelReply, ModelRequest, ToolCallRequest


def ask(run: RunState, step: Step) -> tuple[ToolCallRequest, ...]:
    """Ask until a reply stands; returns the calls to run (none: the step's text is the answer).

    Raises RunStopped when the run must end: an error, a filter, cancel, the clock, no answer at all.
    """
    recovery = Recovery("child" if run.spec.kind == "child" else "normal")
    attempt = Attempt(kind=recovery.kind)
    while True:
        reply = request(run, step, attempt)
        offered = attempt.tools and bool(run.schemas)
        again = recovery.next(reply, step.stream.text, tools=offered)
        if again is None:
            return _calls_that_stand(run, reply, offered=offered)
        attempt = again


def request(run: RunState, step: Step, attempt: Attempt) -> ModelReply:
    """One request, made smaller if it is too long; raises RunStopped if it fails for good."""
    step.stream.new_request(continued=attempt.continued)
    try:
        reply = _send(run, step, attempt)
    except ModelError as problem:
        step.record.model_calls += 1
        step.stream.settle_partial(problem.partial_text, problem.partial_reasoning)
        raise RunStopped(_ending(run, problem)) from problem
    step.stream.settle(reply)
    step.keep(reply)
    run.usage += reply.usage
    return reply


def _send(run: RunState, step: Step, attempt: Attempt) -> ModelReply:
    """Send the request, and a smaller one if it is too long for the model."""
    too_long: ContextTooLong | None = None
    tried = 0
    while True:
        messages = _prepared(run, attempt.notes)
        estimated = tokens.of_messages(messages) + run.schema_tokens
        if too_long is not None and estimated >= tried:
            raise too_long  # nothing more can be left out
        wire = history.to_wire(messages)
        history.check_legal(wire)
        try:
            reply = run.doors.provider.chat(_model_request(run, attempt, wire), step.stream.on_delta, run.guard.token)
        except ContextTooLong as problem:
            if not run.budget.shrink(estimated):
                raise
            too_long, tried = problem, estimated
            continue
        if too_long is not None:
            run.recorder.notice(
                "context_trimmed", "The request was too long for the model; earlier parts were left out."
            )
        run.budget.learn(estimated, reply.usage.prompt_tokens // max(1, reply.requests))
        return reply


def _model_request(run: RunState, attempt: Attempt, wire: list[JsonObject]) -> ModelRequest:
    spec = run.spec
    return ModelRequest(
        model=spec.model,
        messages=wire,
        tools=run.schemas if attempt.tools else [],
        temperature=spec.temperature,
        max_tokens=spec.max_tokens,
        thinking=spec.thinking,
        kind=attempt.kind,
        idle_timeout=spec.limits.step_timeout_seconds,
    )


def _prepared(run: RunState, notes: tuple[Message, ...]) -> list[Message]:
    transcript = [*run.transcript, *notes] if notes else run.transcript
    messages, frontier = history.prepare(transcript, run.budget.room(run.schema_tokens), run.frontier)
    if frontier != run.frontier:
        if run.frontier is not None or any(frontier.values()):
            run.doors.store.set_task_state("frontier", frontier)
        if frontier["first"] != (run.frontier or {}).get("first"):
            detail = "The conversation is long; its oldest turns are left out of the request."
            left_out = trimming.said_before(run.transcript, frontier["first"])
            run.recorder.notice("context_trimmed", detail, first=frontier["first"], left_out=left_out)
        run.frontier = frontier
    return messages


def _calls_that_stand(run: RunState, reply: ModelReply, *, offered: bool) -> tuple[ToolCallRequest, ...]:
    if reply.finish_reason == "length":
        run.recorder.notice("answer_cut", "The answer was cut off by the model's length limit.")
        return ()
    if not offered:
        return ()
    calls = good_calls(reply.tool_calls)
    if len(calls) < len(reply.tool_calls):
        run.recorder.notice("malformed_call", "The model made a call without naming a tool; that call was left out.")
    return calls


def _ending(run: RunState, problem: ModelError) -> TerminationResult:
    if isinstance(problem, ModelCancelled) and (ended := run.guard.interrupted()):
        return ended
    reason: StopReason = "content_filter" if isinstance(problem, ContentFiltered) else "error"
    error = error_json(problem.code, problem.message, problem.suggestion, retryable=problem.retryable)
    return failed(reason, **error)
