"""`run.py chat`: one agent turn in the terminal, streaming, recorded like any other run."""

import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from .app import Instance, build, prepare
from .cancel import CancelToken
from .channels.log import LoggedEvent
from .services.auth import ensure_owner
from .services.running.execution import Execution
from .services.runs import NewTask, RunRequest, start_task
from .settings import Settings
from .stores.leases import Leases
from .terminal_view import TerminalView

OWNER = "terminal"


@dataclass(slots=True)
class OneRun:
    """A queue for the run of this terminal alone: taken at once, so that a server beside it leaves it be."""

    execution: Execution
    leases: Leases
    cancelled: CancelToken = field(default_factory=CancelToken)
    thread: threading.Thread | None = None

    def submit(self, run_id: str) -> None:
        """Execute in a thread of its own."""
        lease = self.leases.claim(run_id)
        if lease is not None:
            self.thread = threading.Thread(target=self.execution.execute, args=(lease, self.cancelled), daemon=True)
            self.thread.start()

    def cancel(self, _run_id: str) -> dict[str, Any]:
        """Stop it."""
        self.cancelled.set()
        return {}


def chat(settings: Settings, question: str, project_id: str | None, model: str | None) -> int:
    """Ask one question and print the answer as it comes; 0 if the run completed."""
    instance = build(prepare(settings))
    try:
        return _ask(instance, NewTask(question, project_id, RunRequest(model=model)))
    finally:
        instance.writer.close()
        instance.runtime.db.close()


def _ask(instance: Instance, task: NewTask) -> int:
    runtime = instance.runtime
    queue = OneRun(instance.execution, Leases(runtime.db, OWNER))
    runtime.queue = queue
    run = start_task(runtime, ensure_owner(runtime.db), task)
    view = TerminalView(sys.stdout, sys.stderr)
    events = instance.events.subscribe(run["id"])
    try:
        status = _show(events, view)
    except KeyboardInterrupt:
        queue.cancel(run["id"])
        status = _show(events, view)
    if queue.thread is not None:
        queue.thread.join(timeout=5)
    return 0 if status == "completed" else 1


def _show(events: Any, view: TerminalView) -> str:
    event: LoggedEvent | None
    for event in events:
        if event is not None:
            view.show(event)
    return view.status
