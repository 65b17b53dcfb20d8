"""Runs the calls of one batch: neighbours that are safe together, the others alone, twins once."""

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

from ..errors import SsrfViolation, ToolCancelled, ToolDenied, ToolError, WorkspaceViolation
from .cache import Entry
from .calls import Call, request_parts, stamp
from .checks import check_allowed, check_call, find_plan, json_text
from .context import CallContext
from .core import JsonObject, RetryPolicy, ToolRegistry
from .failures import as_error, describe, failure
from .group import Group
from .memory import Memory
from .outcomes import outcome_of_failure, outcome_of_value
from .plans import Plan, Plans
from .pool import WorkerPool
from .results import Outcome
from .runstate import REPEATS_REFUSED, REPEATS_TOLD, VIOLATIONS_ESCALATED, RunStates

NEVER_DEGRADED = (SsrfViolation, WorkspaceViolation, ToolDenied, ToolCancelled)


class Watcher(Protocol):
    """Told of a batch as it goes; what it raises stops the batch."""

    def calls_started(self, calls: list[JsonObject]) -> None:
        """These CALLs are about to be executed; none of their tools has started."""

    def call_finished(self, call: JsonObject, full_result: str | None) -> None:
        """This CALL is settled; `full_result` is the whole text when the model's was cut."""

    def notice(self, code: str, detail: str) -> None:
        """Something worth showing: degraded, repeated_call, repeated_violation, tool_retry."""


@dataclass(frozen=True, slots=True)
class Kit:
    """What an executor owns and every batch uses."""

    registry: ToolRegistry
    plans: Plans
    pool: WorkerPool
    states: RunStates
    memory: Memory
    lifetime: float
    result_limit: int
    jitter: Callable[[], float] = field(default=random.random)


class Batch:
    """One list of calls of one model answer."""

    def __init__(self, kit: Kit, context: CallContext, watcher: Watcher | None, max_workers: int) -> None:
        self._kit = kit
        self._context = context
        self._watcher = watcher
        self._max_workers = max_workers
        self._leaders: dict[Hashable, Call] = {}  # since the last barrier
        self._twins: list[tuple[Call, Call]] = []
        self._compares = True  # whether equal calls are looked for at all

    def run(self, requests: Sequence[Any]) -> list[JsonObject]:
        """One CALL for each request, in the order asked."""
        self._compares = len(requests) > 1 or self._context.run_id is not None
        calls = [self._read(request) for request in requests]
        try:
            for group in self._groups(calls) if len(calls) > 1 else (calls,):
                self._run_group(group)
        except BaseException:
            for call in calls:
                self.release(call)  # nobody may wait for what will not come
            raise
        return [call.json for call in calls]

    # ------------------------------------------------------------ before execution
    def _read(self, request: Any) -> Call:
        provider_id, name, raw = request_parts(request)
        context = self._context
        call_id = provider_id if provider_id and not self._compares else context.state.unique_id(provider_id)
        call = Call(call_id, provider_id, name, context.step)
        try:
            check_call(call, raw, self._kit.plans, context)
        except ToolError as error:
            self._refuse(call, error)
        return call

    def _refuse(self, call: Call, error: ToolError) -> None:
        tool = call.plan.definition if call.plan else None
        told = describe(error, call.name, self._context.state)
        call.outcome = outcome_of_failure(told, tool, self._kit.result_limit)
        call.arguments_text = json_text(call.arguments_text)

    def _groups(self, calls: Sequence[Call]) -> Iterator[list[Call]]:
        """Neighbours that may run side by side; a call that is not safe, or not allowed to be, stands alone."""
        group: list[Call] = []
        for call in calls:
            safe = call.outcome is not None or call.plan is None or call.plan.safe
            if group and (not safe or self._max_workers == 1 or (not group[-1].outcome and not _safe(group[-1]))):
                yield group
                group = []
            group.append(call)
        if group:
            yield group

    def _run_group(self, group: list[Call]) -> None:
        ready = [call for call in group if self._prepare(call)]
        if ready:
            if self._watcher is not None:
                for call in ready:
                    call.started_at = stamp()
                self._watcher.calls_started([call.to_json() for call in ready])
            self._execute(ready)
        if self._twins:
            twins, self._twins = self._twins, []
            for twin, leader in twins:
                self._answer_twin(twin, leader)

    def _execute(self, ready: list[Call]) -> None:
        """Inline calls here when nothing runs beside them; all else in a group."""
        rest, later = ready, []
        for call in ready:
            if call.plan is None or not call.plan.inline:
                break
        else:
            rest = []
            for call in ready:
                wait = self._run_inline(call)
                if wait is not None:
                    later.append((wait, call))
        if rest or later:
            Group(self, self._context, self._kit.pool, self._max_workers).run(rest, later)

    def _run_inline(self, call: Call) -> float | None:
        """None when settled here, else after how many seconds a group is to start it."""
        plan, context = call.plan, self._context
        if (
            plan is None
            or plan.cancel_argument is not None
            or (context.cancelled is not None and context.is_cancelled())
        ):
            return 0.0
        if (plan.writes or plan.keeps) and not self.lead(call, None):
            return 0.0 if call.outcome is None else None
        call.attempts = 1
        call.started_at = call.started_at or stamp()
        value, failed = None, None
        began = perf_counter()
        try:
            value = plan.handler(plan.handed_over(call.arguments, call.id, context.values))
        except BaseException as fault:  # noqa: BLE001 - the tool boundary
            failed = as_error(fault)
        call.execution_time = perf_counter() - began
        return self.settle(call, value, failed)

    def _prepare(self, call: Call) -> bool:
        """True if the call has to be executed; else it is answered here, or waits for its twin."""
        plan = call.plan
        if call.outcome is not None or plan is None:
            self._finish(call)
            return False
        if not self._compares and not (plan.keeps and self._kit.memory.remembers):
            return True
        context = self._context
        call.key = plan.key(call.arguments, context.values, context.scope)
        if not self._compares:
            return not self._answer_from_memory(call, plan)
        leader = self._leaders.get(call.key)
        if leader is not None:
            self._twins.append((call, leader))
            return False
        if not plan.safe:
            self._leaders.clear()
        self._leaders[call.key] = call
        return self._may_repeat(call) and not self._answer_from_memory(call, plan)

    def _may_repeat(self, call: Call) -> bool:
        if self._context.run_id is None:
            return True
        count = self._context.state.count_call(call.key[:2])
        if count == REPEATS_TOLD:
            call.note(
                f"This is the {_ordinal(count)} time this run makes the same call with the same arguments. "
                "Use the result you have; the next equal call will be refused."
            )
            self._notice("repeated_call", f"{call.name}: the same call for the {_ordinal(count)} time")
        if count < REPEATS_REFUSED:
            return True
        told = failure(
            call.name,
            f"Not run: this run has made the same call with the same arguments {count - 1} times already.",
            code="repeated_call",
            suggestion="Use the results you have, change the arguments, or answer the user.",
        )
        call.outcome = outcome_of_failure(told, None, self._kit.result_limit)
        self._notice("repeated_call", f"{call.name}: refused, asked for the {_ordinal(count)} time")
        self._finish(call)
        return False

    def _answer_from_memory(self, call: Call, plan: Plan) -> bool:
        entry = self._kit.memory.recall(call, plan, self._context)
        if entry is None:
            return False
        self._use_entry(call, entry)
        return True

    def _use_entry(self, call: Call, entry: Entry) -> None:
        call.cached = True
        stored = int(entry.stored_at * 1000)
        call.cached_at = stamp(stored)
        call.expires_at = stamp(stored + int(entry.lifetime * 1000))
        call.outcome = entry.outcome
        self._finish(call)

    # ------------------------------------------------------------ what the group asks
    def lead(self, call: Call, waiter: Callable[[Outcome | None], None] | None) -> bool:
        """See Host: equal calls in flight are shared where results may be reused."""
        plan = call.plan
        if plan is None or plan.writes:
            self._wrote()
            return True
        memory = self._kit.memory
        if not plan.keeps or not memory.remembers:
            return True
        if not memory.join(call, plan, self._context, waiter):
            return False
        if call.flight is not None and self._answer_from_memory(call, plan):  # the one before us landed just now
            memory.land(call, call.outcome)
            return False
        return True

    def settle(self, call: Call, value: Any, error: Exception | None) -> float | None:
        """See Host: classify, then retry, degrade or finish."""
        plan = call.plan
        if plan is None:
            raise RuntimeError("a call without a plan was executed")
        if error is not None and plan.cancel_argument is not None and self._context.is_cancelled():
            error = ToolCancelled(f"The run was cancelled while {plan.definition.name!r} worked; it was stopped.")
        outcome = call.outcome = self._outcome(call, plan, value, error)
        if plan.writes and call.attempts:
            self._wrote()
            if outcome.success:
                self._context.state.wrote(call.key[:2])
        if not outcome.success and not isinstance(error, NEVER_DEGRADED):
            wait = self._after_failure(call, plan, outcome)
            if wait is not None:
                call.outcome = None
                return wait
        if call.attempts > 1:
            self._note_attempts(call, plan)
        if plan.keeps and self._kit.memory.remembers:
            self._kit.memory.keep(call, plan, self._context, self._kit.lifetime)
        self._finish(call)
        return None

    def _outcome(self, call: Call, plan: Plan, value: Any, error: Exception | None) -> Outcome:
        limit = plan.limit or self._kit.result_limit
        if error is None:
            try:
                return outcome_of_value(value, plan.definition, call.arguments, limit)
            except Exception as fault:  # noqa: BLE001 - a tool's own classes, which fail while they are written out
                error = ToolError(f"The tool's result cannot be written as JSON ({type(fault).__name__}).")
        return outcome_of_failure(self._described(call, plan, error), plan.definition, limit)

    def adopt(self, call: Call, outcome: Outcome) -> None:
        """See Host: an equal call elsewhere has ended."""
        call.outcome = outcome
        call.cached = outcome.success
        call.cached_at = stamp() if outcome.success else None
        self._finish(call)

    def release(self, call: Call) -> None:
        """The call will not be settled: let go of what others wait for."""
        self._kit.memory.land(call, None)

    def late_write(self) -> None:
        """See Host."""
        self._wrote()

    # ------------------------------------------------------------ after execution
    def _described(self, call: Call, plan: Plan, error: Exception) -> JsonObject:
        told = describe(error, plan.definition.name, self._context.state)
        if plan.writes and told["status"] == "timeout":
            told["retryable"] = False
        if told.get("violations", 0) >= VIOLATIONS_ESCALATED:
            self._notice("repeated_violation", f"{call.name}: {told['suggestion']}")
        return told

    def _after_failure(self, call: Call, plan: Plan, outcome: Outcome) -> float | None:
        """Seconds until the call runs again, or None when it has failed (or was answered otherwise) for good."""
        tool = plan.definition
        policy = tool.retry or (RetryPolicy() if tool.on_failure.kind == "RETRY_ONLY" else None)
        retries = min(policy.max_retries, self._context.max_retries) if policy else 0
        if policy and outcome.retryable and tool.idempotent and call.attempts <= retries:
            wait: float = policy.base_delay * 2 ** (call.attempts - 1) + self._kit.jitter()
            self._notice("tool_retry", f"{tool.name}: {outcome.error} Trying again in {wait:.1f} s.")
            return wait
        return self._degrade(call, plan, outcome) if call.degraded is None else None

    def _degrade(self, call: Call, plan: Plan, outcome: Outcome) -> float | None:
        kind = plan.definition.on_failure.kind
        if kind == "SKIP":
            note = f"The tool failed ({outcome.error}) and was skipped; go on without its result."
            value: Any = {"success": True, "data": None, "skipped_because": outcome.error}
            call.outcome = outcome_of_value(value, plan.definition, call.arguments, self._kit.result_limit)
            self._degraded(call, kind, note)
        elif kind == "CACHED_RESULT":
            self._degrade_to_cache(call, outcome)
        elif kind == "ALTERNATIVE_TOOL":
            return self._degrade_to_tool(call, plan, outcome)
        return None

    def _degrade_to_cache(self, call: Call, outcome: Outcome) -> None:
        entry = self._kit.memory.last_good(call)
        if entry is None:
            return
        call.outcome = entry.outcome
        call.cached = True
        call.cached_at = stamp(int(entry.stored_at * 1000))
        note = f"The tool failed now ({outcome.error}); this is an earlier result, from {call.cached_at}."
        self._degraded(call, "CACHED_RESULT", note)

    def _degrade_to_tool(self, call: Call, plan: Plan, outcome: Outcome) -> float | None:
        name = plan.definition.on_failure.tool or ""
        try:
            other = find_plan(name, self._kit.plans, self._context)
            arguments = other.schema.prepare(dict(call.arguments))
            check_allowed(other.definition, self._context)
        except ToolError as error:
            call.note(f"The alternative {name!r} could not be used: {error.message}")
            return None
        if plan.safe and not other.safe:
            call.note(f"The alternative {name!r} may not run beside other calls and was not used.")
            return None
        call.plan, call.arguments = other, arguments
        note = f"{plan.definition.name!r} failed ({outcome.error}); {name!r} was asked instead."
        self._degraded(call, "ALTERNATIVE_TOOL", note)
        return 0.0

    def _degraded(self, call: Call, kind: str, note: str) -> None:
        call.degraded = kind
        call.note(note)
        self._notice("degraded", f"{call.name}: {note}")

    def _note_attempts(self, call: Call, plan: Plan) -> None:
        if call.degraded is None and plan.definition.on_failure.kind == "RETRY_ONLY":
            call.degraded = "RETRY_ONLY"
            call.note(f"It took {call.attempts} attempts.")

    def _wrote(self) -> None:
        self._kit.memory.wrote(self._context.write_scope)

    def _answer_twin(self, twin: Call, leader: Call) -> None:
        twin.outcome = leader.outcome
        twin.skipped = True
        twin.duplicate_of = leader.id
        twin.cached, twin.cached_at, twin.expires_at = leader.cached, leader.cached_at, leader.expires_at
        twin.degraded = leader.degraded
        twin.notes = leader.notes
        if leader.plan is not None and leader.plan.writes:
            twin.note(f"The same call stands twice in this batch ({leader.id}); it was not run a second time.")
        self._finish(twin)

    def _finish(self, call: Call) -> None:
        call.finished_at = stamp()
        call.started_at = call.started_at or call.finished_at
        call.json = call.to_json()
        if self._watcher is not None:
            self._watcher.call_finished(call.json, call.outcome.full if call.outcome else None)

    def _notice(self, code: str, detail: str) -> None:
        if self._watcher is not None:
            self._watcher.notice(code, detail)


def _safe(call: Call) -> bool:
    return call.plan is None or call.plan.safe


def _ordinal(number: int) -> str:
    return {3: "third", 4: "fourth"}.get(number, f"{number}th")
