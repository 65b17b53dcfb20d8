"""The `runs` service of the tools: child runs with rows and a trace of their own."""

from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import aliased

from ...agent.children import ChildRequest, ChildRunner
from ...agent.core import AgentCore
from ...agent.types import Event, JsonObject, Record, Resume, RunOutcome, RunRecord, RunSpec
from ...cancel import CancelToken
from ...errors import ToolUnavailable
from ...ids import iso_now, utc_now
from ...models import Project, Run
from ...stores.leases import of_living_terminal
from ...stores.sql import RunPlace, SqlRunStore
from ..runs import wanted_model
from . import resuming
from .assembly import token_budget
from .execution import Execution
from .proving import Scene, end_open

EPOCH = 1
INTERRUPTED: JsonObject = {
    "code": "interrupted",
    "message": "The server stopped before the child had finished.",
    "retryable": True,
}


class ChildRuns:
    """Runs the tasks of a `multi_agent` call as child runs of the calling run."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._runner = ChildRunner(self._start, self._create)

    def run_children(self, request: ChildRequest) -> list[JsonObject]:
        """One result per task, in order; see `ChildRunner.run`. Raises ToolUnavailable outside of a run."""
        if request.user_id is None:
            raise ToolUnavailable("Child runs need a run that belongs to a user.")
        return self._runner.run(self._as_a_message_would(request))

    def _as_a_message_would(self, request: ChildRequest) -> ChildRequest:
        """With the model that was chosen there: a command and a hand run have none themselves, their children need one."""
        with self._execution.runtime.db.read() as session:
            run = session.get(Run, request.run_id) if request.run_id else None
            project = session.get(Project, request.project_id) if request.project_id else None
            wanted = (wanted_model(run) if run else None) or (project.default_model if project else None)
        catalogue = self._execution.runtime.catalogue
        model = wanted or catalogue.default_model()
        return replace(request, model=model, token_budget=token_budget(catalogue.resolve(model)))

    def recover(self) -> None:
        """At start: children that a crash cut off are ended; their parents say what became of the call."""
        with self._execution.runtime.db.read() as session:
            parent = aliased(Run)
            lives = select(parent.id).where(parent.id == Run.parent_run_id, of_living_terminal(parent))
            query = select(Run).where(Run.kind == "child", Run.status == "running", ~lives.exists())
            cut_off = [(run, resuming.load(session, run)) for run in session.scalars(query)]
        for run, left in cut_off:
            self._end(run, left)

    def _end(self, run: Run, left: Resume) -> None:
        """Nothing in it stays open: calls are settled, the step that was under way has failed."""
        scene = Scene(run.id, run.project_id, run.owner_id)
        records: list[Record] = []
        events: list[Event] = []
        for call in end_open(self._execution.runtime, scene, left.calls):
            records.append(call)
            events.append(Event("tool_call.finished", {"call": call.call}))
        for step in left.steps:
            if step.status == "running":
                records.append(replace(step, status="failed", finished_at=iso_now()))
                events.append(Event("step.finished", {"step": step.index}))
        records.append(
            RunRecord(run.id, status="failed", stop_reason="error", error=INTERRUPTED, finished_at=iso_now())
        )
        events.append(Event("run.finished", {"status": "failed", "stop_reason": "error", "error": INTERRUPTED}))
        self._store(run.id, run.lease_epoch).record(records, events, self._execution.events.send_progress)

    def _create(self, request: ChildRequest, spec: RunSpec) -> None:
        with self._execution.runtime.db.write() as session:
            session.add(
                Run(
                    id=spec.run_id,
                    kind="child",
                    status="running",
                    owner_id=request.user_id,
                    project_id=spec.project_id,
                    parent_run_id=request.run_id,
                    parent_call_id=request.call_id,
                    model=self._execution.runtime.catalogue.resolve(spec.model).model,
                    input=str(spec.transcript[-1].content),
                    limits={"max_steps": spec.limits.max_steps},
                    lease_epoch=EPOCH,
                    started_at=utc_now(),
                )
            )

    def _start(self, spec: RunSpec, cancelled: CancelToken) -> RunOutcome:
        execution = self._execution
        resolved = execution.runtime.catalogue.resolve(spec.model or None)
        store = self._store(spec.run_id, EPOCH)
        core = AgentCore(resolved.provider, execution.runtime.executor, store, execution.events)
        return core.run(replace(spec, model=resolved.model), cancelled)

    def _store(self, run_id: str, epoch: int) -> SqlRunStore:
        place = RunPlace(run_id, epoch, None, self._execution.handover)
        return SqlRunStore(self._execution.runtime.db, self._execution.writer, place)
