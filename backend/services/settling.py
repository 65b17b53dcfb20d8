"""After a run has ended: a person says what became of an unknown call, or lets the work go on."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, NotFound
from ..models import GOING_ON, Message, Run, ToolCall
from .chat import ChatService, NewMessage
from .running import proving, resuming
from .running.assembly import GO_ON
from .runs import RunRequest, add_task_run, get_run, place_of, wanted_model
from .runtime import Runtime
from .serializers import COPY, call_json, run_json

# How a run may have ended that can be continued: at a limit, stopped, or broken off.
UNFINISHED = ("max_steps", "timeout", "cancelled", "failed")


def resolve_call(runtime: Runtime, user_id: str, run_id: str, call_id: str, outcome: str) -> JsonObject:
    """Settle a call of status `unknown`: `outcome` is done or not_done. Its CALL. Raises NotFound, Conflict.

    The next run of the conversation is told so. The event log of the run stays as it was shown.
    """
    with runtime.db.write() as session:
        run = get_run(session, user_id, run_id)
        row = session.get(ToolCall, (run_id, call_id))
        if row is None:
            raise NotFound("There is no such call in this run.")
        if row.status != "unknown":
            raise Conflict(f"The outcome of this call is known: {row.status}.")
        if run.status in GOING_ON:
            raise Conflict("The run goes on; settle the call when it has ended.")
        _settle(row, outcome)
        answer = call_json(row)
    runtime.tabs.publish(user_id, "run", run_id)
    return answer


def _settle(row: ToolCall, outcome: str) -> None:
    record = resuming.call_record(row)
    if outcome == "done":
        record = proving.done(record, {"note": "The user has checked: this was done."}, "done, says the user")
    else:
        record = proving.not_done(record, "The user has checked: this was not done.")
    row.status, row.result = record.call["status"], record.call["result"]
    row.call = {name: value for name, value in record.call.items() if name != "result"}


def continue_run(runtime: Runtime, user_id: str, run_id: str, limits: JsonObject | None) -> JsonObject:
    """A new run that takes up the work of one that ended at a limit, was stopped or failed: `{message, run}`.

    `message` is null for a task. Raises NotFound, Conflict (it goes on, is completed, or is no run of its own).
    """
    with runtime.db.read() as session:
        run = get_run(session, user_id, run_id)
        _check_unfinished(run)
        request = _request(run, limits)
        answer = _answer_of(session, run)
    if run.conversation_id is None:
        return {"message": None, "run": _continue_task(runtime, run, request)}
    sent = NewMessage(GO_ON, request=request) if answer is None else NewMessage(GO_ON, (), answer.id, request=request)
    return ChatService(runtime).send_message(user_id, run.conversation_id, sent)


def _check_unfinished(run: Run) -> None:
    if run.status in GOING_ON:
        raise Conflict("The run goes on.")
    if run.status not in UNFINISHED:
        raise Conflict("The run is completed; send a message instead.")
    if run.kind not in ("chat", COPY, "task"):
        raise Conflict("Only runs of a conversation and tasks can be continued.")


def _request(run: Run, limits: JsonObject | None) -> RunRequest:
    """What the ended run was asked for, with its own limits unless others are given."""
    tools = (run.options or {}).get("tools")
    chosen: JsonObject = {**run.limits, **(limits or {})}
    return RunRequest(None if tools is None else tuple(tools), wanted_model(run), chosen)


def _answer_of(session: Session, run: Run) -> Message | None:
    query = select(Message).where(Message.run_id == run.id, Message.role == "assistant")
    return session.scalar(query.order_by(Message.position.desc()).limit(1))


def _continue_task(runtime: Runtime, earlier: Run, request: RunRequest) -> JsonObject:
    with runtime.db.write() as session:
        project = place_of(session, earlier.project_id)
        run = add_task_run(session, earlier.owner_id, earlier.input, project, request)
        run.options = {**run.options, "continues": earlier.id}
        answer = run_json(run)
    runtime.queue.submit(answer["id"])
    runtime.tabs.publish(earlier.owner_id, "run", answer["id"])
    return answer
