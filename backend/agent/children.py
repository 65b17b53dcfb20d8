"""Child runs: the tasks of one `multi_agent` call, side by side, within what is left to their parent."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..cancel import CancelToken
from ..errors import NanoClawError
from ..ids import new_id
from .guardrails import GuardrailConfig
from .types import DEFAULT_TOKEN_BUDGET, JsonObject, Message, RunOutcome, RunSpec

CHILD_TOOL = "multi_agent"
MAX_TASKS = 5
MAX_CHILD_STEPS = 3
MAX_CHILD_TOKENS = 4_096  # for one model request
MAX_CHILDREN_AT_ONCE = 8  # in this process; more wait

CHILD_PROMPT = (
    "You work on one task for another agent. You have at most {steps} rounds of tool calls. "
    "Answer with the result itself, complete and brief; say plainly what you could not find out."
)


class Announce(Protocol):
    """Records an event in the parent's log."""

    def __call__(self, type_: str, **data: object) -> None: ...


@dataclass(frozen=True, slots=True)
class ChildTask:
    """One task; `tools` None means all that the parent has."""

    name: str
    instruction: str
    tools: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """What one `multi_agent` call asks for, with what its children inherit from the parent run.

    `token_budget` is the room for one request. `limits.run_timeout_seconds` is what is left of the parent's time. `run_id` and `call_id` name the
    parent's run and call (None when a person runs the tool by hand). `announce` writes `child.started` and
    `child.finished` into the parent's log.
    """

    tasks: tuple[ChildTask, ...]
    model: str = ""
    project_id: str | None = None
    user_id: str | None = None
    run_id: str | None = None
    call_id: str | None = None
    cancelled: CancelToken = field(default_factory=CancelToken)
    tools: tuple[str, ...] = ()
    policy: Mapping[str, str] = field(default_factory=dict)
    limits: GuardrailConfig = field(default_factory=GuardrailConfig)
    token_budget: int | None = None
    announce: Announce | None = None


class ChildSlots:
    """How many children run at once; who finds none free waits in line, and leaves it when cancelled."""

    def __init__(self, slots: int = MAX_CHILDREN_AT_ONCE) -> None:
        self._free = slots
        self._changed = threading.Condition()

    def enter(self, cancelled: CancelToken) -> bool:
        """Wait for a slot; False if `cancelled` was set first."""
        forget = cancelled.on_cancel(self._wake)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._free > 0 or cancelled.is_set())
                if cancelled.is_set():
                    return False
                self._free -= 1
                return True
        finally:
            forget()

    def leave(self) -> None:
        """Give the slot to the next in line."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


StartChild = Callable[[RunSpec, CancelToken], RunOutcome]
CreateChild = Callable[[ChildRequest, RunSpec], None]
_slots = ChildSlots()


class ChildRunner:
    """Runs the tasks of a request on threads.

    `start_child` runs one child to its end and ends soon after its token is set; `create_child` is called
    before that, to store the child before the parent's log names it.
    """

    def __init__(
        self, start_child: StartChild, create_child: CreateChild | None = None, slots: ChildSlots | None = None
    ) -> None:
        self._start = start_child
        self._create = create_child
        self._slots = slots or _slots

    def run(self, request: ChildRequest) -> list[JsonObject]:
        """One `{task_name, success, response | error, child_run_id, status}` per task, in the order asked.

        Raises ValueError for no task or more than 5. Cancelling `request.cancelled` ends all of them.
        """
        if not 1 <= len(request.tasks) <= MAX_TASKS:
            raise ValueError(f"multi_agent takes 1 to {MAX_TASKS} tasks, not {len(request.tasks)}")
        with ThreadPoolExecutor(len(request.tasks), thread_name_prefix="child") as threads:
            return list(threads.map(lambda task: self._one(request, task), request.tasks))

    def _one(self, request: ChildRequest, task: ChildTask) -> JsonObject:
        spec = child_spec(request, task)
        if not self._slots.enter(request.cancelled):
            return _result(task, RunOutcome(spec.run_id, "cancelled", "cancelled", ""))
        try:
            return _result(task, self._run_child(request, spec))
        finally:
            self._slots.leave()

    def _run_child(self, request: ChildRequest, spec: RunSpec) -> RunOutcome:
        if self._create is not None:
            self._create(request, spec)
        _announce(request, "child.started", spec)
        try:
            outcome = self._start(spec, request.cancelled)
        except NanoClawError as problem:
            error = {"code": problem.code, "message": problem.message}
            outcome = RunOutcome(spec.run_id, "failed", "error", "", error)
        _announce(request, "child.finished", spec)
        return outcome


def _announce(request: ChildRequest, type_: str, spec: RunSpec) -> None:
    if request.announce is not None:
        request.announce(type_, child_run_id=spec.run_id, call_id=request.call_id)


def child_spec(request: ChildRequest, task: ChildTask) -> RunSpec:
    """The child's run: the parent's model, project and policy, its tools but `multi_agent`, its remaining time."""
    steps = min(MAX_CHILD_STEPS, request.limits.max_steps)
    return RunSpec(
        run_id=new_id(),
        kind="child",
        transcript=(Message("user", task.instruction, key="task"),),
        system_prompt=CHILD_PROMPT.format(steps=steps),
        model=request.model,
        tools=_tools(request.tools, task.tools),
        limits=replace(request.limits, max_steps=steps),
        policy=dict(request.policy),
        user_id=request.user_id,
        project_id=request.project_id,
        max_tokens=MAX_CHILD_TOKENS,
        token_budget=request.token_budget or DEFAULT_TOKEN_BUDGET,
    )


def _tools(parent: Sequence[str], wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Never more than the parent has, and never children of children."""
    return tuple(name for name in parent if name != CHILD_TOOL and (wanted is None or name in wanted))


def _result(task: ChildTask, outcome: RunOutcome) -> JsonObject:
    """A child that did not complete is no success, whatever it said."""
    result: JsonObject = {"task_name": task.name, "success": outcome.status == "completed"}
    if result["success"]:
        result["response"] = outcome.output
    else:
        result["error"] = _why(outcome)
        if outcome.output:
            result["partial_response"] = outcome.output
    return {**result, "status": outcome.status, "child_run_id": outcome.run_id}


def _why(outcome: RunOutcome) -> str:
    if outcome.status == "max_steps":
        return "The child reached its limit of rounds before it was done."
    if outcome.status == "cancelled":
        return "The child was cancelled."
    return str((outcome.error or {}).get("message") or f"The child ended as {outcome.status} ({outcome.stop_reason}).")
