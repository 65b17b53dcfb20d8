"""The one way in which a run writes: rows and events of one moment together, in order, from any thread."""

import threading
from collections.abc import Sequence

from .ports import OutputChannel, StateStore
from .types import Event, JsonObject, Record


class Recorder:
    """Writes the rows and events of one run; nothing is told before it is stored."""

    def __init__(self, run_id: str, store: StateStore, channel: OutputChannel) -> None:
        self._run_id = run_id
        self._store = store
        self._tell = channel.send_progress
        self._lock = threading.Lock()
        self._held: tuple[list[Record], list[Event]] = ([], [])
        self._closed = False

    def event(self, type_: str, **data: object) -> Event:
        """An event of this run."""
        return Event(type_, {"run_id": self._run_id, **data}, self._run_id)

    def emit(self, type_: str, **data: object) -> None:
        """Record one event that may be grouped with what follows."""
        self.write((), (self.event(type_, **data),), wait=False)

    def notice(self, code: str, detail: str, **more: object) -> None:
        """Record a `run.notice`; `more` says where, for those who can show it."""
        self.emit("run.notice", code=code, detail=detail, **more)

    def hold(self, rows: Sequence[Record], events: Sequence[Event]) -> None:
        """Keep rows and events for the next write, so that one commit serves both."""
        with self._lock:
            self._held[0].extend(rows)
            self._held[1].extend(events)

    def write(self, rows: Sequence[Record], events: Sequence[Event], *, wait: bool = True) -> None:
        """Commit; `wait=False` may return before the commit. Raises LeaseLost or StorageError.

        After `close` nothing is written: a tool that was given up may still speak when its run has ended.
        """
        with self._lock:
            if self._closed:
                return
            if not self._held[0] and not self._held[1]:
                self._store.record(rows, events, self._tell, wait=wait)
                return
            self._store.record([*self._held[0], *rows], [*self._held[1], *events], self._tell, wait=wait)
            self._held = ([], [])  # only now: what could not be written is tried again with the next write

    def close(self) -> None:
        """The run has ended here: whatever comes now is not recorded."""
        with self._lock:
            self._closed = True


def error_json(code: str, message: str, suggestion: str | None = None, *, retryable: bool = False) -> JsonObject:
    """An error as runs and messages carry it."""
    error: JsonObject = {"code": code, "message": message, "retryable": retryable}
    if suggestion:
        error["suggestion"] = suggestion
    return error
