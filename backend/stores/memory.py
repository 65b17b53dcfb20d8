"""The state of runs in memory: for scripts, notebooks and tests. It keeps the promises of the real one, but for durability."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..agent.ports import Tell
from ..agent.types import (
    CallRecord,
    Event,
    Injection,
    JsonObject,
    MessageRecord,
    Record,
    Resume,
    RunRecord,
    StepRecord,
    WaitingMessage,
)


class MemoryStore:
    """Rows by identity and events in order, for the runs of one conversation.

    `runs[id]`, `steps[run_id, index]`, `calls[run_id, call_id]`, `messages[id]` hold the last state of each
    row; `events` holds every event, `history` every write as (rows, events).
    """

    def __init__(self) -> None:
        self.runs: dict[str, RunRecord] = {}
        self.steps: dict[tuple[str, int], StepRecord] = {}
        self.calls: dict[tuple[str, str], CallRecord] = {}
        self.messages: dict[str, MessageRecord] = {}
        self.events: list[Event] = []
        self.history: list[tuple[list[Record], list[Event]]] = []
        self.task_state: JsonObject = {}
        self._waiting: list[WaitingMessage] = []
        self._lock = threading.RLock()
        self._seq: dict[str, int] = {}

    def record(self, rows: Sequence[Record], events: Sequence[Event], tell: Tell, *, wait: bool = True) -> None:
        """Keep rows and events together, then tell; `wait` makes no difference in memory."""
        with self._lock:
            for row in rows:
                self._keep(row)
            for event in events:
                event.seq = self._seq[event.run_id] = self._seq.get(event.run_id, 0) + 1
            self.events += events
            self.history.append((list(rows), list(events)))
            tell(events)

    def waiting_messages(self, limit: int) -> list[WaitingMessage]:
        """What was sent and is not injected yet, oldest first."""
        with self._lock:
            return self._waiting[:limit]

    def send_message(self, message: WaitingMessage) -> None:
        """A user message that arrives while a run goes on."""
        with self._lock:
            self._waiting.append(message)

    def get_task_state(self, key: str) -> Any:
        """The value kept under that key, or None."""
        return self.task_state.get(key)

    def set_task_state(self, key: str, value: Any) -> None:
        """Keep a value."""
        self.task_state[key] = value

    def resume(self, run_id: str) -> Resume:
        """What a run that broke off needs to be taken up again (`RunSpec.resume`)."""
        with self._lock:
            steps = sorted((s for (run, _), s in self.steps.items() if run == run_id), key=lambda s: s.index)
            calls = sorted(
                (c for (run, _), c in self.calls.items() if run == run_id), key=lambda c: (c.step, c.position)
            )
            injected: dict[int, list[WaitingMessage]] = {}
            for event in self.events:
                if event.type == "message.injected" and event.run_id == run_id:
                    message = event.data["message"]
                    waiting = WaitingMessage(message["id"], message["content"], tuple(message["attachments"]))
                    injected.setdefault(event.data["step"], []).append(waiting)
            injections = tuple(Injection(step, tuple(messages)) for step, messages in injected.items())
            return Resume(tuple(map(replace, steps)), tuple(map(replace, calls)), injections=injections)

    def _keep(self, row: Record) -> None:
        if isinstance(row, RunRecord):
            self._keep_run(row)
        elif isinstance(row, StepRecord):
            self.steps[row.run_id, row.index] = row
        elif isinstance(row, CallRecord):
            self.calls[row.run_id, row.call["id"]] = row
        else:
            self.messages[row.id] = row
            self._waiting = [m for m in self._waiting if m.id != row.id]

    def _keep_run(self, row: RunRecord) -> None:
        kept = self.runs.setdefault(row.id, RunRecord(row.id))
        for name in RunRecord.__slots__:
            if (value := getattr(row, name)) is not None:
                setattr(kept, name, value)
