"""Running tasks in this process and following their events, beside a server or without one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..app import Instance, build, prepare
from ..cancel import CancelToken
from ..channels.log import LoggedEvent
from ..services.auth import ensure_owner
from ..services.project_names import project_called
from ..services.running.execution import Execution
from ..services.runs import NewTask, start_task
from ..settings import Settings
from ..stores.leases import Leases

OWNER = "terminal"
LAST_RECORDS_SECONDS = 5.0


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


@contextmanager
def opened(settings: Settings) -> Iterator[Instance]:
    """An instance whose queue is not started: only what this terminal asks for runs here."""
    instance = build(prepare(settings))
    try:
        yield instance
    finally:
        instance.close()


def project_id(instance: Instance, called: str | None) -> str | None:
    """The id of the owner's project that is called so. Raises NotFound, InvalidInput."""
    runtime = instance.runtime
    return None if called is None else project_called(runtime, ensure_owner(runtime.db), called)


def follow(instance: Instance, task: NewTask, show: Callable[[LoggedEvent], None]) -> str:
    """Run a task and hand its events on as they come; its run id. Ctrl-C cancels the run, not the program."""
    runtime = instance.runtime
    queue = OneRun(instance.execution, Leases(runtime.db, OWNER))
    runtime.queue = queue
    run_id = str(start_task(runtime, ensure_owner(runtime.db), task)["id"])
    events = instance.events.subscribe(run_id)
    try:
        _pass_on(events, show)
    except KeyboardInterrupt:
        queue.cancel(run_id)
        _pass_on(events, show)
    if queue.thread is not None:
        queue.thread.join(LAST_RECORDS_SECONDS)
    return run_id


def _pass_on(events: Iterator[LoggedEvent | None], show: Callable[[LoggedEvent], None]) -> None:
    for event in events:
        if event is not None:
            show(event)
