"""What one running instance is made of; services take it, or parts of it, as an argument."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..agent.types import JsonObject
from ..cancel import CancelToken
from ..channels.log import EventLog, TabEvents
from ..extensions import Database
from ..meters import Meters
from ..settings import Settings
from ..tools.core import ToolRegistry
from ..tools.loader import LoadReport

if TYPE_CHECKING:
    from ..llm.catalogue import Catalogue
    from ..tools.executor import ToolExecutor
    from ..workspace import BlobStore


class RunQueue(Protocol):
    """Where runs wait for a worker."""

    def submit(self, run_id: str) -> None:
        """Hand over a run whose row is committed with status `queued`."""

    def cancel(self, run_id: str) -> JsonObject:
        """Stop a run; idempotent. Answers `{stopped, finished, abandoned, usage}`."""

    def look_again(self) -> None:
        """Soon start what waits although no run is under way: what hid it is gone."""


@dataclass(slots=True)
class Runtime:
    """The parts of one instance.

    `reload_models` rebuilds the catalogue after providers were changed; `tool_errors` is the last report of
    loading tools; `by_hand` holds the runs of tools that people run by hand right now; `owner_id` is looked up
    once, for an owner is never removed.
    """

    settings: Settings
    db: Database
    blobs: "BlobStore"
    queue: RunQueue
    events: EventLog
    tabs: TabEvents
    catalogue: "Catalogue"
    executor: "ToolExecutor"
    registry: ToolRegistry
    reload_models: Callable[[], None] = lambda: None
    readiness: Callable[[], JsonObject] = dict
    tool_errors: LoadReport = field(default_factory=LoadReport)
    by_hand: dict[str, CancelToken] = field(default_factory=dict)
    meters: Meters = field(default_factory=Meters)
    owner_id: str = ""

    @property
    def secret_key(self) -> str:
        """The instance's key; RuntimeError if the application was built without one."""
        if not self.settings.secret_key:
            raise RuntimeError("the instance has no secret key")
        return self.settings.secret_key
