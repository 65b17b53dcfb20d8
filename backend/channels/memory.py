"""A listener that keeps what it was told, in order: for scripts, notebooks and tests."""

import threading
from collections.abc import Callable, Sequence

from ..agent.types import Event, RunOutcome


class MemoryChannel:
    """`events` as told; `outcomes` of the runs that ended."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.outcomes: list[RunOutcome] = []
        self._told = threading.Condition()

    def send_progress(self, events: Sequence[Event]) -> None:
        """Keep the events."""
        with self._told:
            self.events += events
            self._told.notify_all()

    def send_final(self, run_id: str, outcome: RunOutcome) -> None:
        """Keep the outcome."""
        with self._told:
            self.outcomes.append(outcome)
            self._told.notify_all()

    def wait_for(self, wanted: Callable[[Event], bool], timeout: float = 10.0) -> Event:
        """The first event that is `wanted`, now or later; TimeoutError after `timeout` seconds."""
        with self._told:
            found = self._told.wait_for(lambda: next((e for e in self.events if wanted(e)), None), timeout)
        if found is None:
            raise TimeoutError("no such event came")
        return found

    def types(self) -> list[str]:
        """The types of all events, in order."""
        return [e.type for e in self.events]
