"""The engine's three doors and its observer: what thinks, where it writes, whom it tells, who watches."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..cancel import CancelToken
from ..tools.core import ToolRegistry
from .types import Event, JsonObject, ModelReply, ModelRequest, OnDelta, Record, WaitingMessage

Tell = Callable[[Sequence[Event]], None]


class LLMProvider(Protocol):
    """Something that thinks."""

    def chat(self, request: ModelRequest, on_delta: OnDelta | None, cancelled: CancelToken) -> ModelReply:
        """Answer one request, handing pieces to `on_delta` as they arrive (in the caller's thread).

        Raises ModelError and its kinds; ModelCancelled soon after `cancelled` is set.
        """


class StateStore(Protocol):
    """Somewhere to write the state of one run."""

    def record(self, rows: Sequence[Record], events: Sequence[Event], tell: Tell, *, wait: bool = True) -> None:
        """Commit rows and events of one moment together, then call `tell` with the events, in order.

        `wait=False` (deltas) may return before the commit and be grouped with what comes next; order
        within the run is kept. Raises LeaseLost or StorageError.
        """

    def waiting_messages(self, limit: int) -> list[WaitingMessage]:
        """User messages that arrived during the run and are not injected yet, oldest first."""

    def get_task_state(self, key: str) -> Any:
        """A small JSON value kept for the conversation (or the run), or None."""

    def set_task_state(self, key: str, value: Any) -> None:
        """Keep a small JSON value."""


class CallWatcher(Protocol):
    """Hears of the calls of a batch; whatever it raises stops the batch."""

    def calls_started(self, calls: list[JsonObject]) -> None:
        """Called once per parallel group before any tool of it starts, with CALLs of status `executing`."""

    def call_finished(self, call: JsonObject, full_result: str | None) -> None:
        """Called as each call ends, from any thread; `full_result` is given when the model's view was cut."""

    def notice(self, code: str, detail: str) -> None:
        """Something a person should know: a retry, a degraded tool, a repeated violation."""


class CallExecutor(Protocol):
    """What runs the tools: `backend.tools.executor.ToolExecutor`."""

    @property
    def registry(self) -> ToolRegistry:
        """The tools there are."""

    def process_tool_calls_parallel(
        self,
        tool_calls: Sequence[JsonObject],
        context: JsonObject | None = None,
        max_workers: int = 16,
        *,
        watcher: CallWatcher | None = None,
    ) -> list[JsonObject]:
        """Run a batch; one CALL per call, in the order asked, `provider_id` being the id given here."""

    def forget_run(self, run_id: str) -> None:
        """The run has ended: drop what was kept for it."""


class OutputChannel(Protocol):
    """Someone to tell. Called only with what is recorded already."""

    def send_progress(self, events: Sequence[Event]) -> None:
        """Events of the run, in order."""

    def send_final(self, run_id: str, outcome: Any) -> None:
        """The run has ended; called once."""


class Observer(Protocol):
    """Watches a run; a failing observer never disturbs it."""

    def notify(self, moment: str, data: dict[str, Any]) -> None:
        """`moment`: run.before, step.before, tools.before, tool.before, tool.after, step.after, run.after, run.finally, model.delta."""
