"""Runs: starting their rows, listing, reading what they did, and stopping them."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..channels.log import RunFeed
from ..errors import Conflict, NotFound
from ..models import GOING_ON, Conversation, Project, Run, Step, ToolCall
from . import limits
from .paging import Page, decode_cursor, encode_cursor, list_json, newest_first
from .projects import check_tools, get_project
from .run_calls import counts, injected
from .runtime import Runtime
from .serializers import COPY, run_json, run_summary_json, step_json

NO_SUCH_RUN = "There is no such run."
_RUNS = Run.__table__.c
_WATCHED = select(_RUNS.owner_id, _RUNS.status, _RUNS.last_seq).where(_RUNS.id == bindparam("run"))


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a caller may choose for one run; `tools=None` means all that are allowed, () none."""

    tools: tuple[str, ...] | None = None
    model: str | None = None
    limits: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list shows."""

    project_id: str | None = None
    conversation_id: str | None = None
    status: str | None = None
    kind: str | None = None
    parent_run_id: str | None = None


@dataclass(frozen=True, slots=True)
class NewTask:
    """An agent run with no conversation."""

    input: str
    project_id: str | None = None
    request: RunRequest = RunRequest()


# ---------------------------------------------------------------- starting
def check_request(runtime: Runtime, request: RunRequest) -> None:
    """Raises InvalidInput for unknown tools and for limits beyond the ceilings."""
    check_tools(runtime, list(request.tools or ()), "tools")
    limits.check(request.limits or {})


def add_chat_run(session: Session, conversation: Conversation, message_id: str, text: str, request: RunRequest) -> Run:
    """The row of a run that answers a message; inside the caller's transaction. Raises Conflict in a deleted project."""
    project = place_of(session, conversation.project_id)
    run = Run(
        kind="chat",
        owner_id=conversation.owner_id,
        conversation_id=conversation.id,
        message_id=message_id,
        input=text,
        **_chosen(request, project, conversation.model, limits.usual(session, conversation.owner_id)),
    )
    return _added(session, run)


def place_of(session: Session, project_id: str | None) -> Project | None:
    """The project that work is to begin in, if any. Raises Conflict when it was deleted: nothing works in what is hidden."""
    project = session.get(Project, project_id) if project_id else None
    if project is not None and project.deleted_at is not None:
        raise Conflict("The project was deleted.", suggestion="Restore the project, or go on outside of it.")
    return project


def add_task_run(session: Session, user_id: str, text: str, project: Project | None, request: RunRequest) -> Run:
    """The row of a run without a conversation; inside the caller's transaction."""
    chosen = _chosen(request, project, None, limits.usual(session, user_id))
    return _added(session, Run(kind="task", owner_id=user_id, input=text, **chosen))


def start_task(runtime: Runtime, user_id: str, task: NewTask) -> JsonObject:
    """Queue a task; RUN with status `queued`. Raises NotFound for an unknown project."""
    check_request(runtime, task.request)
    with runtime.db.write() as session:
        project = get_project(session, user_id, task.project_id) if task.project_id else None
        answer = run_json(add_task_run(session, user_id, task.input, project, task.request))
    runtime.queue.submit(answer["id"])
    runtime.tabs.publish(user_id, "run", answer["id"])
    return answer


def _chosen(
    request: RunRequest, project: Project | None, usual_model: str | None, usual_limits: JsonObject | None
) -> JsonObject:
    """Model, limits and options of a run: the request's word before the conversation's, the project's and the person's."""
    default = project.default_model if project else None
    model = request.model or usual_model or default or ""
    return {
        "project_id": project.id if project else None,
        "model": model,
        "limits": limits.effective(usual_limits, project.limits if project else None, request.limits),
        # The row's own model is filled in with the one that answers, which for a command is none.
        "options": {"tools": None if request.tools is None else list(request.tools), "model": model},
    }


def wanted_model(run: Run) -> str | None:
    """The model that was chosen for a run, whoever answered it; None for the default."""
    return (run.options or {}).get("model", run.model) or None


def _added(session: Session, run: Run) -> Run:
    session.add(run)
    session.flush()
    return run


# ---------------------------------------------------------------- reading
def get_run(session: Session, user_id: str, run_id: str) -> Run:
    """The user's run. Raises NotFound."""
    run = session.get(Run, run_id)
    if run is None or run.owner_id != user_id:
        raise NotFound(NO_SUCH_RUN)
    return run


def show_run(runtime: Runtime, user_id: str, run_id: str, kind: str | None = None) -> JsonObject:
    """RUN; with `kind`, only a run of that kind."""
    with runtime.db.read() as session:
        run = get_run(session, user_id, run_id)
        if kind and run.kind != kind:
            raise NotFound(NO_SUCH_RUN)
        return run_json(run)


def task_status(runtime: Runtime, user_id: str, run_id: str) -> JsonObject:
    """`{id, status, stop_reason, step_count, output, error}`."""
    run = show_run(runtime, user_id, run_id, "task")
    return {name: run[name] for name in ("id", "status", "stop_reason", "step_count", "output", "error")}


def list_runs(runtime: Runtime, user_id: str, page: Page, wanted: RunFilter) -> JsonObject:
    """The user's runs, newest first, without input and output; each with how many calls it made and how many failed."""
    query = select(Run).where(Run.owner_id == user_id, Run.kind != COPY)
    for name in ("project_id", "conversation_id", "status", "kind", "parent_run_id"):
        if (value := getattr(wanted, name)) is not None:
            query = query.where(getattr(Run, name) == value)
    with runtime.db.read() as session:
        rows = session.scalars(newest_first(query, page, Run.created_at, Run.id)).all()
        calls = counts(session, [row.id for row in rows])
    return list_json(rows, page, partial(_listed, calls), lambda r: encode_cursor(r.created_at, r.id))


def _listed(calls: Mapping[str, tuple[int, int]], run: Run) -> JsonObject:
    made, failed = calls.get(run.id, (0, 0))
    return {**run_summary_json(run), "call_count": made, "failure_count": failed}


def show_context(runtime: Runtime, user_id: str, run_id: str, call_id: str) -> JsonObject:
    """What a call was given that the model did not see. Raises NotFound."""
    with runtime.db.read() as session:
        run = get_run(session, user_id, run_id)
    return injected(runtime, run, call_id)


def list_steps(runtime: Runtime, user_id: str, run_id: str, page: Page) -> JsonObject:
    """The steps of a run in order, each with its calls."""
    after = decode_cursor(page.cursor, (int,))[0] if page.cursor else -1
    with runtime.db.read() as session:
        get_run(session, user_id, run_id)
        query = select(Step).where(Step.run_id == run_id, Step.index > after).order_by(Step.index)
        steps = session.scalars(query.limit(page.limit + 1)).all()
        calls = _calls_by_step(session, run_id, [step.index for step in steps])
    return list_json(steps, page, lambda s: step_json(s, calls[s.index]), lambda s: encode_cursor(s.index))


def _calls_by_step(session: Session, run_id: str, indexes: list[int]) -> dict[int, list[ToolCall]]:
    calls: dict[int, list[ToolCall]] = defaultdict(list)
    query = select(ToolCall).where(ToolCall.run_id == run_id, ToolCall.step.in_(indexes))
    for call in session.scalars(query.order_by(ToolCall.step, ToolCall.position)):
        calls[call.step].append(call)
    return calls


def open_result(runtime: Runtime, user_id: str, run_id: str, call_id: str) -> BinaryIO | bytes:
    """The whole result of a call: its text, or the open blob when the stored text was cut. Raises NotFound."""
    with runtime.db.read() as session:
        get_run(session, user_id, run_id)
        call = session.get(ToolCall, (run_id, call_id))
    if call is None:
        raise NotFound("There is no such call in this run.")
    if call.result_blob:
        blob: BinaryIO = runtime.blobs.open(call.result_blob)
        return blob
    if call.result is None:
        raise NotFound("This call has no result yet.")
    return call.result.encode()


# ---------------------------------------------------------------- watching
def watch(runtime: Runtime, user_id: str, run_id: str, after: int) -> RunFeed | None:
    """The run's events after `after`; None when it has ended and there are no more. Raises NotFound."""
    with runtime.db.look() as connection:
        run = connection.execute(_WATCHED, {"run": run_id}).one_or_none()
    if run is None or run.owner_id != user_id:
        raise NotFound(NO_SUCH_RUN)
    if run.status not in GOING_ON and run.last_seq <= after:
        return None
    return runtime.events.feed(run_id, after)


def may_watch(runtime: Runtime, user_id: str, run_id: str) -> bool:
    """Asked again at every heartbeat of a stream."""
    with runtime.db.look() as connection:
        run = connection.execute(_WATCHED, {"run": run_id}).one_or_none()
    return run is not None and run.owner_id == user_id


# ---------------------------------------------------------------- stopping
def cancel(runtime: Runtime, user_id: str, run_id: str) -> JsonObject:
    """Stop a run; idempotent. Answers the receipt `{stopped, finished, abandoned, usage}`. Raises NotFound."""
    with runtime.db.read() as session:
        run = get_run(session, user_id, run_id)
        ended, by_hand = run.status not in GOING_ON, runtime.by_hand.get(run_id)
    if by_hand is not None:
        by_hand.set()
    receipt = runtime.queue.cancel(run_id)
    if not ended:
        runtime.tabs.publish(user_id, "run", run_id)
    return receipt
