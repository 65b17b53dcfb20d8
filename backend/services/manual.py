"""Tools run by hand: executed at once, recorded as a run of kind `manual` with one step and one call."""

import json
import threading
from dataclasses import dataclass, field

from sqlalchemy import func, insert, select, update

from ..agent.types import CallRecord, Event, JsonObject, Record, RunRecord, RunStatus, StepRecord
from ..cancel import CancelToken
from ..errors import ToolError, UnknownTool
from ..ids import iso_now, new_id, utc_now
from ..models import Run, RunEvent, ToolSetting
from ..stores import rows
from ..stores.grouping import count_event
from .projects import get_project
from .running import resuming
from .running.proving import Scene, end_open
from .runtime import Runtime

CALL_ID = "call_1"
INPUT_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class HandRun:
    """One tool as a person asks for it; `fresh` passes the cache by."""

    tool: str
    arguments: JsonObject = field(default_factory=dict)
    project_id: str | None = None
    fresh: bool = False


def execute(runtime: Runtime, user_id: str, asked: HandRun) -> JsonObject:
    """Run one tool now: its CALL, with `run_id`. Raises UnknownTool, and NotFound for another's project.

    A person who runs a tool by hand has decided; only a tool that is switched off or denied is refused.
    """
    if runtime.registry.get(asked.tool) is None:
        raise UnknownTool(f"There is no tool {asked.tool!r}.")
    run_id, token = new_id(), CancelToken()
    runtime.by_hand[run_id] = token  # from before its row is there until its end is: `recover` lets it be
    try:
        _begin(runtime, user_id, run_id, asked)
        call = _run(runtime, user_id, run_id, asked, token)
    finally:
        runtime.by_hand.pop(run_id, None)
        runtime.executor.forget_run(run_id)
        runtime.tabs.publish(user_id, "run", run_id)
    return {**call, "run_id": run_id}


def _run(runtime: Runtime, user_id: str, run_id: str, asked: HandRun, token: CancelToken) -> JsonObject:
    recorder = _Recorder(runtime, run_id, asked.tool)
    call: JsonObject | None = None
    try:
        request = {"id": CALL_ID, "type": "function", "function": {"name": asked.tool, "arguments": asked.arguments}}
        context = _context(runtime, user_id, run_id, asked, token)
        call = runtime.executor.process_tool_calls([request], context, watcher=recorder)[0]
    except SystemExit as fault:
        raise ToolError(f"The tool {asked.tool!r} tried to end the server, which goes on.") from fault
    finally:
        recorder.end(call)
    return call


def recover(runtime: Runtime) -> int:
    """End hand runs that a crash cut off, or whose end the database did not take; returns how many.

    A call that was executing is proved done or not by the files, else told as unknown; it is never run again.
    """
    going_on = select(Run).where(Run.kind == "manual", Run.status == "running")
    with runtime.db.read() as session:
        ids = session.scalars(going_on.with_only_columns(Run.id)).all()
    over = [run_id for run_id in ids if run_id not in runtime.by_hand]
    with runtime.db.read() as session:  # asked again: their ends may have been stored meanwhile
        cut_off = session.scalars(going_on.where(Run.id.in_(over))).all()
        left = {run.id: resuming.load(session, run).calls for run in cut_off}
    for run in cut_off:
        recorder = _Recorder(runtime, run.id, "")
        call: JsonObject | None = left[run.id][-1].call if left[run.id] else None
        for record in end_open(runtime, Scene(run.id, run.project_id, run.owner_id), left[run.id]):
            call = record.call
            recorder.call_finished(call, None)
        recorder.end(call)
        runtime.tabs.publish(run.owner_id, "run", run.id)
    return len(cut_off)


def _begin(runtime: Runtime, user_id: str, run_id: str, asked: HandRun) -> None:
    with runtime.db.write() as session:
        if asked.project_id is not None:
            get_project(session, user_id, asked.project_id)
        run = Run(
            id=run_id,
            kind="manual",
            status="running",
            owner_id=user_id,
            project_id=asked.project_id,
            input=f"/{asked.tool} {json.dumps(asked.arguments, ensure_ascii=False)}"[:INPUT_CHARS],
            started_at=utc_now(),
        )
        session.add(run)


def _context(runtime: Runtime, user_id: str, run_id: str, asked: HandRun, token: CancelToken) -> JsonObject:
    with runtime.db.read() as session:
        setting = session.get(ToolSetting, asked.tool)
    refused = setting is not None and (not setting.enabled or setting.policy == "deny")
    return {
        "user_id": user_id,
        "project_id": asked.project_id,
        "run_id": run_id,
        "model": None,
        "cancelled": token,
        "policy": {asked.tool: "deny" if refused else "allow"},
        "fresh": asked.fresh,
        "step": 0,
    }


class _Recorder:
    """Writes what happens to the call before it is told, as the engine does for its runs."""

    def __init__(self, runtime: Runtime, run_id: str, tool: str) -> None:
        self._runtime = runtime
        self._run_id = run_id
        self._lock = threading.Lock()
        definition = runtime.registry.get(tool)
        self._idempotent = bool(definition and definition.idempotent)
        self._step = StepRecord(run_id, 0, started_at=iso_now())

    def calls_started(self, calls: list[JsonObject]) -> None:
        """Commit the calls as executing, before any tool acts."""
        started = [Event("tool_call.started", {"call": call}) for call in calls]
        begun = [Event("run.started", {}), Event("step.started", {"step": 0})]
        self._record([self._step, *map(self._call, calls)], [*begun, *started])

    def call_finished(self, call: JsonObject, full_result: str | None) -> None:
        """Commit the outcome."""
        blob = self._runtime.blobs.put(full_result.encode()) if full_result is not None else None
        self._record([self._step, self._call(call)], [Event("tool_call.finished", {"call": call})], blob)

    def notice(self, code: str, detail: str) -> None:
        """A retry or a degraded answer."""
        self._record([], [Event("run.notice", {"code": code, "detail": detail})])

    def end(self, call: JsonObject | None) -> None:
        """End step and run; without a call, the run failed before or while it worked."""
        status, reason = _ending(call)
        self._step.status = "completed" if status == "completed" else "failed"
        self._step.finished_at = iso_now()
        error = None if status != "failed" else _error(call)
        record = RunRecord(
            self._run_id, status, reason, output=(call or {}).get("summary"), error=error, step_count=1,
            finished_at=iso_now(),
        )  # fmt: skip
        ended = {"status": status, "stop_reason": reason, "error": error}
        self._record([self._step, record], [Event("step.finished", {"step": 0}), Event("run.finished", ended)])

    def _call(self, call: JsonObject) -> CallRecord:
        return CallRecord(self._run_id, 0, 0, call, self._idempotent)

    def _record(self, records: list[Record], events: list[Event], blob: str | None = None) -> None:
        with self._lock:
            with self._runtime.db.write_lastingly() as session:
                connection = session.connection()
                rows.write_all(connection, [(record, blob) for record in records], {})
                last = session.scalar(select(func.max(RunEvent.seq)).where(RunEvent.run_id == self._run_id)) or 0
                for number, event in enumerate(events, last + 1):
                    event.run_id, event.seq = self._run_id, number
                    event.data["run_id"] = self._run_id
                    event.text = rows.dumps(event.data)
                values = [{"run_id": e.run_id, "seq": e.seq, "type": e.type, "data": e.text} for e in events]
                session.execute(insert(RunEvent), values)
                session.execute(update(Run).where(Run.id == self._run_id).values(last_seq=last + len(events)))
            self._runtime.events.send_progress(events)
            for event in events:
                count_event(self._runtime.meters, event)


def _ending(call: JsonObject | None) -> tuple[RunStatus, str]:
    if call is not None and call["success"]:
        return "completed", "completed"
    if call is not None and call["status"] == "cancelled":
        return "cancelled", "cancelled"
    return "failed", "error"


def _error(call: JsonObject | None) -> JsonObject:
    if call is None:
        return {"code": "interrupted", "message": "The server stopped before the tool had finished.", "retryable": True}
    result = json.loads(call["result"])
    return {
        "code": result.get("code"),
        "message": str(result.get("error")),
        "retryable": bool(result.get("retryable")),
    }
