"""What one run records at one moment, on its way to the database."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..agent.ports import Tell
from ..agent.types import CallRecord, Event, Record
from ..errors import NanoClawError


@dataclass(slots=True)
class Batch:
    """Rows and events of one moment of one run, and who is told once they are committed.

    `awaited`: a caller waits for it. Without, it may be grouped with what comes within 50 ms. `kept_as` names
    its entry in the fallback log while the database does not take it.
    """

    run_id: str
    epoch: int
    rows: Sequence[Record]
    events: list[Event]
    tell: Tell
    awaited: bool
    due: float = 0.0
    submitted: float = field(default_factory=time.monotonic)
    blobs: dict[int, str] = field(default_factory=dict)
    done: bool = False
    error: NanoClawError | None = None
    kept_as: str | None = None
    deltas: bool = False  # a viewer sees text grow by it

    @property
    def must_survive_power_loss(self) -> bool:
        """True for what somebody waits for and for calls; that a step has begun may go with its first words."""
        return self.awaited or any(isinstance(row, CallRecord) for row in self.rows)


def not_begun(record: Record) -> Record:
    """The record of a call whose start could not be stored, so that it did not start; others as they are."""
    if isinstance(record, CallRecord) and record.call["status"] == "executing":
        return replace(record, call={**record.call, "status": "pending", "started_at": None})
    return record
