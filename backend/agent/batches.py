"""TOOL_CALL: runs the calls of one reply, each recorded as executing before its tool starts and as finished before anyone is told."""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace

from ..errors import NanoClawError
from ..ids import iso_now
from .history import MAX_NAME_CHARS
from .state import RunState, Step
from .streaming import clean
from .transcripts import result_message, step_message
from .types import CallRecord, JsonObject, Record, ToolCallRequest, is_json

OPEN_STATUSES = ("pending", "executing", "waiting_approval")


def act(run: RunState, step: Step, requests: Sequence[ToolCallRequest]) -> None:
    """Run the calls of a reply and put the model's message and the results into the transcript."""
    step.calls = [_pending(run, step, position, request) for position, request in enumerate(requests)]
    run_open_calls(run, step)


def run_open_calls(run: RunState, step: Step) -> None:
    """Run those calls of the step that are not finished yet; the batch of a step that is taken up again goes the same way."""
    watcher = BatchWatcher(run, step)
    for record in step.calls:
        if record.call["status"] in OPEN_STATUSES and record.request is not None and record.request.error:
            watcher.finish(record, _refused(record, record.request.error), None)
    open_calls = [r for r in step.calls if r.call["status"] in OPEN_STATUSES]
    if open_calls:
        run.observe("tools.before", step=step.record.index, calls=[r.call for r in open_calls])
        wire = [_for_executor(r) for r in open_calls]
        results = run.doors.executor.process_tool_calls_parallel(wire, _context(run, step), watcher=watcher)
        watcher.settle(results)
    run.transcript.append(step_message(step.record, step.calls))
    run.transcript += [result_message(r, read_only=_is_read_only(run, r)) for r in step.calls]


class BatchWatcher:
    """Keeps the records of a batch up to date and written, from whatever thread the executor tells."""

    def __init__(self, run: RunState, step: Step) -> None:
        self._run = run
        self._step = step
        self._records = {r.call["id"]: r for r in step.calls}
        self._lock = threading.Lock()
        self._written = False

    def calls_started(self, calls: list[JsonObject]) -> None:
        """Commit the group as executing; returns only when that is stored. The first time all others as pending."""
        # The executor got our ids and reports them as the model's; it may have given a call another one itself.
        records = [self._records[call["provider_id"]] for call in calls]
        before = [record.call for record in records]
        with self._lock:
            started = [self._update(record, call, None) for record, call in zip(records, calls, strict=True)]
            rows = self._rows(started)
        events = [self._run.recorder.event("tool_call.started", call=r.call) for r in started]
        try:
            self._run.recorder.write(rows, events)
        except NanoClawError:
            for record, call in zip(records, before, strict=True):
                record.call = call  # not stored, so it will not start
            raise
        for record in started:
            self._run.observe("tool.before", call=record.call)

    def call_finished(self, call: JsonObject, full_result: str | None) -> None:
        """Record the result; the step's own commit, or the next group's, makes it durable."""
        self.finish(self._records[call["provider_id"]], call, full_result)

    def finish(self, record: CallRecord, call: JsonObject, full_result: str | None) -> None:
        """The same for a record at hand."""
        with self._lock:
            self._update(record, call, full_result)
            rows = self._rows([record])
        event = self._run.recorder.event("tool_call.finished", call=record.call)
        self._run.recorder.write(rows, [event], wait=False)
        self._run.observe("tool.after", call=record.call)

    def notice(self, code: str, detail: str) -> None:
        """Pass a notice of the executor on."""
        self._run.recorder.notice(code, detail)

    def settle(self, results: Sequence[JsonObject]) -> None:
        """Results that the executor returned without telling are recorded like the others."""
        for call in results:
            record = self._records.get(call["provider_id"])
            if record is not None and record.call["status"] in OPEN_STATUSES:
                self.call_finished(call, None)

    def _update(self, record: CallRecord, call: JsonObject, full_result: str | None) -> CallRecord:
        own = {key: record.call[key] for key in ("id", "provider_id", "step")}
        record.call = {**call, **own}
        record.full_result = full_result
        return record

    def _rows(self, changed: list[CallRecord]) -> list[Record]:
        if self._written:
            return list(map(replace, changed))
        self._written = True
        return [replace(self._step.sync()), *map(replace, self._step.calls)]


# ---------------------------------------------------------------- the records of calls
def _pending(run: RunState, step: Step, position: int, request: ToolCallRequest) -> CallRecord:
    call_id = _unique_id(run, request.id or f"call_{step.record.index}_{position}")
    own = replace(request, id=call_id, name=clean(request.name)[:MAX_NAME_CHARS], arguments=clean(request.arguments))
    definition = run.doors.executor.registry.get(own.name)
    call = {
        "id": call_id,
        "type": "function",
        "function": {"name": own.name, "arguments": _json_text(own.arguments)},
        "result": None, "success": None, "skipped": False, "execution_time": None, "status": "pending",
        "cached": False, "duplicate_of": None, "cached_at": None, "expires_at": None, "attempts": 0,
        "degraded": None, "summary": None, "queued_ms": 0, "result_truncated": False, "result_size": 0,
        "provider_id": request.id or call_id, "step": step.record.index, "started_at": None, "finished_at": None,
    }  # fmt: skip
    return CallRecord(
        run.spec.run_id, step.record.index, position, call, definition is not None and definition.idempotent, own
    )


def _unique_id(run: RunState, wanted: str) -> str:
    unique, number = wanted, 1
    while unique in run.call_ids:
        number += 1
        unique = f"{wanted}_{number}"
    run.call_ids.add(unique)
    return unique


def _json_text(arguments: str) -> str:
    """Arguments as JSON text: what is none is kept readable as a JSON string."""
    return arguments if is_json(arguments) else json.dumps(arguments, ensure_ascii=False)


def _refused(record: CallRecord, why: str) -> JsonObject:
    name = record.call["function"]["name"]
    result = {
        "success": False,
        "tool": name,
        "status": "error",
        "code": "invalid_arguments",
        "error": f"The arguments are not a JSON object, so {name} was not run: {why}",
        "retryable": True,
        "suggestion": "Call the tool again with complete arguments as one JSON object.",
    }
    text = json.dumps(result, ensure_ascii=False)
    now = iso_now()
    return {
        **record.call, "status": "error", "success": False, "result": text, "result_size": len(text.encode()),
        "execution_time": 0.0, "summary": "Invalid arguments", "started_at": now, "finished_at": now,
    }  # fmt: skip


def _for_executor(record: CallRecord) -> JsonObject:
    arguments = record.request.arguments if record.request else record.call["function"]["arguments"]
    function = {"name": record.call["function"]["name"], "arguments": arguments}
    return {"id": record.call["id"], "type": "function", "function": function}


def _context(run: RunState, step: Step) -> JsonObject:
    """What tools may ask for. The limits carry what is left of the run's time."""
    spec = run.spec
    return {
        "project_id": spec.project_id,
        "user_id": spec.user_id,
        "conversation_id": spec.conversation_id,
        "run_id": spec.run_id,
        "model": spec.model,
        "cancelled": run.guard.token,
        "limits": replace(spec.limits, run_timeout_seconds=run.guard.remaining_seconds()),
        "tools": spec.tools,
        "policy": spec.policy,
        "step": step.record.index,
        "token_budget": spec.token_budget,
        "announce": run.recorder.emit,
    }


def _is_read_only(run: RunState, record: CallRecord) -> bool:
    definition = run.doors.executor.registry.get(record.call["function"]["name"])
    return definition is not None and definition.read_only
