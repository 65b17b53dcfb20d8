"""What became of calls that a crash cut short: proved by the files or the child runs where that can be checked, else unknown."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select

from ...agent.children import CHILD_TOOL
from ...agent.pairing import unknown_outcome
from ...agent.types import CallRecord, JsonObject
from ...errors import NanoClawError
from ...ids import iso_now
from ...models import FileChange, Run
from ...tools.builtin.file_ops import prove_call
from ...tools.builtin.file_ops.proof import WRITING_TOOLS
from ..changes import change_of
from ..runtime import Runtime


@dataclass(frozen=True, slots=True)
class Scene:
    """Where the calls belong: whose run, in which project."""

    run_id: str
    project_id: str | None
    user_id: str


def prove(runtime: Runtime, scene: Scene, records: Sequence[CallRecord]) -> tuple[CallRecord, ...]:
    """The calls, those found `executing` settled if that can be known.

    A call that did act becomes a success; one that certainly did not goes back to `pending`, so that it may be
    run. What cannot be known, and what is harmless to run again, is left as it is.
    """
    return tuple(_proved(runtime, scene, record) for record in records)


def end_open(runtime: Runtime, scene: Scene, records: Iterable[CallRecord]) -> list[CallRecord]:
    """The calls of a run that will not go on: what was executing is proved or unknown, what never began is cancelled."""
    ended = []
    for record in records:
        status = record.call["status"]
        if status == "executing":
            record = _proved(runtime, scene, record)
            if record.call["status"] == "executing":
                record = unknown(record)
        if record.call["status"] in ("pending", "waiting_approval"):
            record = replace(record, call=_settled(record.call, "cancelled", _interrupted(record.call)))
        if record.call["status"] != status:
            ended.append(record)
    return ended


def unknown(record: CallRecord) -> CallRecord:
    """A call whose outcome nobody can tell."""
    return replace(record, call=_settled(record.call, "unknown", unknown_outcome(record.call["function"]["name"])))


def done(record: CallRecord, data: JsonObject, summary: str) -> CallRecord:
    """A call that did take effect."""
    text = json.dumps({"success": True, "data": data}, ensure_ascii=False)
    return replace(record, call=_settled(record.call, "success", text) | {"summary": summary})


def not_done(record: CallRecord, why: str) -> CallRecord:
    """A call that did not take effect."""
    result = {
        "success": False,
        "tool": record.call["function"]["name"],
        "status": "error",
        "code": "not_done",
        "error": why,
        "retryable": True,
        "suggestion": "Call the tool again if it is still wanted.",
    }
    return replace(record, call=_settled(record.call, "error", json.dumps(result, ensure_ascii=False)))


def _settled(call: JsonObject, status: str, text: str) -> JsonObject:
    result = json.loads(text)
    return {
        **call, "status": status, "success": status == "success", "result": text, "result_size": len(text.encode()),
        "summary": result.get("error") or call.get("summary") or "", "finished_at": iso_now(),
    }  # fmt: skip


def _interrupted(call: JsonObject) -> str:
    result = {
        "success": False,
        "tool": call["function"]["name"],
        "status": "cancelled",
        "code": "interrupted",
        "error": "The run was interrupted before this call began; it did nothing.",
        "retryable": True,
        "suggestion": None,
    }
    return json.dumps(result)


# ---------------------------------------------------------------- proofs
def _proved(runtime: Runtime, scene: Scene, record: CallRecord) -> CallRecord:
    name = record.call["function"]["name"]
    if record.call["status"] != "executing" or record.idempotent:
        return record
    if name in WRITING_TOOLS:
        return _proved_by_files(runtime, scene, record)
    if name == CHILD_TOOL:
        return _proved_by_children(runtime, scene, record)
    return record


def _proved_by_files(runtime: Runtime, scene: Scene, record: CallRecord) -> CallRecord:
    arguments = _arguments(record) | {"project_id": scene.project_id, "_user_id": scene.user_id}
    query = (
        select(FileChange)
        .where(FileChange.run_id == scene.run_id, FileChange.call_id == record.call["id"])
        .order_by(FileChange.position)
    )
    with runtime.db.read() as session:
        changes = [change_of(row) for row in session.scalars(query)]
    try:
        outcome = prove_call(record.call["function"]["name"], arguments, changes)
    except (NanoClawError, OSError):
        return record  # the project is gone or cannot be read: nobody can tell
    if outcome.proof == "done" and outcome.result is not None:
        return done(record, outcome.result, "done before the interruption")
    return _pending(record) if outcome.proof == "not_done" else record


def _proved_by_children(runtime: Runtime, scene: Scene, record: CallRecord) -> CallRecord:
    """Children have rows of their own: once all of them have ended, the call's result is what they say."""
    with runtime.db.read() as session:
        query = select(Run).where(Run.parent_run_id == scene.run_id, Run.parent_call_id == record.call["id"])
        children = list(session.scalars(query.order_by(Run.created_at)))
    tasks = _arguments(record).get("tasks")
    if not isinstance(tasks, list) or any(child.finished_at is None for child in children):
        return record
    if not children:
        return _pending(record)
    results = [_child_result(task, children) for task in tasks]
    finished = sum(bool(result["success"]) for result in results)
    summary = f"{finished} of {len(results)} tasks done"
    if finished:
        return done(record, {"results": results, "total": len(results)}, summary)
    failed = not_done(record, "The server was interrupted before any task was done.")
    result = json.loads(failed.call["result"]) | {"results": results, "total": len(results), "code": "tasks_failed"}
    return replace(failed, call=_settled(failed.call, "error", json.dumps(result, ensure_ascii=False)))


def _child_result(task: JsonObject, children: list[Run]) -> JsonObject:
    child = next((c for c in children if c.input == task["instruction"]), None)
    if child is None:
        return {"task_name": task["name"], "success": False, "error": "The task was interrupted before it began."}
    children.remove(child)
    result: JsonObject = {"task_name": task["name"], "success": child.status == "completed"}
    if result["success"]:
        result["response"] = child.output or ""
    else:
        result["error"] = str((child.error or {}).get("message") or f"The child ended as {child.status}.")
    return {**result, "status": child.status, "child_run_id": child.id}


def _pending(record: CallRecord) -> CallRecord:
    return replace(record, call={**record.call, "status": "pending", "started_at": None})


def _arguments(record: CallRecord) -> JsonObject:
    try:
        found = json.loads(record.call["function"]["arguments"])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
