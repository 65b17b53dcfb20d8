"""Running tasks in this process and following their events, beside a server or without one."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from ..app import Instance, build, prepare
from ..cancel import CancelToken
from ..channels.log import LoggedEvent, RunFeed
from ..errors import LeaseLost, NanoClawError, Unavailable
from ..services.auth import ensure_owner
from ..services.project_names import project_called
from ..services.running import receipts
from ..services.running.execution import Execution
from ..services.runs import NewTask, start_task
from ..settings import Settings
from ..stores.leases import HEARTBEAT_SECONDS, TERMINAL, Lease, Leases

LAST_RECORDS_SECONDS = 5.0
LOOK_SECONDS = 0.5
log = logging.getLogger(__name__)


@dataclass(slots=True)
class OneRun:
    """A queue for the run of this terminal alone: taken at once and kept by heartbeats, so that a server leaves it be."""

    execution: Execution
    leases: Leases
    cancelled: CancelToken = field(default_factory=CancelToken)
    thread: threading.Thread | None = None
    fault: NanoClawError | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    def submit(self, run_id: str) -> None:
        """Execute in a thread of its own."""
        lease = self.leases.claim(run_id)
        if lease is not None:
            self.thread = threading.Thread(target=self._execute, args=(lease,), daemon=True)
            self.thread.start()
            threading.Thread(target=self._keep, args=(lease,), daemon=True).start()

    def cancel(self, _run_id: str) -> dict[str, Any]:
        """Stop it."""
        self.cancelled.set()
        return {}

    def look_again(self) -> None:
        """Messages are not this terminal's."""

    def over(self) -> bool:
        """Whether nothing more is done here."""
        return self.thread is None or not self.thread.is_alive()

    def _execute(self, lease: Lease) -> None:
        try:
            self.execution.execute(lease, self.cancelled)
        except NanoClawError as error:
            self.fault = error
        except Exception:
            log.exception("the run ended in an unexpected error")
            self.fault = NanoClawError("The run ended in an unexpected error.")
        finally:
            self._ended.set()

    def _keep(self, lease: Lease) -> None:
        """Extend the lease; stop when it is lost, or when somebody asks for it elsewhere."""
        while not self._ended.wait(HEARTBEAT_SECONDS):
            try:
                wanted = receipts.cancel_requested(self.execution.runtime, lease.run_id)
                if self.leases.heartbeat([lease]) or wanted:
                    self.cancelled.set()
            except SQLAlchemyError as fault:
                log.error("the lease could not be kept: %s", type(fault).__name__)


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
    """Run a task and hand its events on as they come; its run id. Ctrl-C cancels the run, not the program.

    Raises Unavailable when another process has taken the run over, StorageError when its end cannot be stored.
    """
    runtime = instance.runtime
    queue = OneRun(instance.execution, Leases(runtime.db, TERMINAL))
    runtime.queue = queue
    run_id = str(start_task(runtime, ensure_owner(runtime.db), task)["id"])
    feed = instance.events.feed(run_id)
    try:
        _pass_on(feed, queue, show)
    except KeyboardInterrupt:
        queue.cancel(run_id)
        _pass_on(feed, queue, show)
    finally:
        feed.close()
    if queue.thread is not None:
        queue.thread.join(LAST_RECORDS_SECONDS)
    return run_id


def _pass_on(feed: RunFeed, queue: OneRun, show: Callable[[LoggedEvent], None]) -> None:
    while not feed.ended:
        over = queue.over()  # asked first: what was told before its end is taken below
        events = feed.page() if feed.behind else feed.take(LOOK_SECONDS)
        for event in events:
            show(event)
        if over and not events and not feed.behind and not feed.ended:
            raise _why(queue)


def _why(queue: OneRun) -> NanoClawError:
    """Why no end of the run has come."""
    if queue.fault is None or isinstance(queue.fault, LeaseLost):
        return Unavailable(
            "Another process of NanoClaw has taken this run over, and goes on with it.",
            suggestion="Look at it in the web app, under Runs.",
        )
    return queue.fault
