"""A listener that writes the answer to a terminal as it comes, and what the tools do on lines of their own."""

import sys
from collections.abc import Sequence
from typing import TextIO

from ..agent.types import Event, RunOutcome


class ConsoleChannel:
    """Writes text as it streams; calls, notices and the reason of a bad end go in brackets."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._at_line_start = True

    def send_progress(self, events: Sequence[Event]) -> None:
        """Write what there is to see in these events."""
        for event in events:
            if event.type == "text.delta":
                self._write(event.data["text"])
            elif event.type == "tool_call.finished":
                self._line(_call_line(event.data["call"]))
            elif event.type == "run.notice":
                self._line(f"[{event.data['detail']}]")
        self._out.flush()

    def send_final(self, run_id: str, outcome: RunOutcome) -> None:
        """End the line; say why if the run did not complete."""
        if outcome.status != "completed":
            self._line(f"[{outcome.status}: {(outcome.error or {}).get('message', outcome.stop_reason)}]")
        elif not self._at_line_start:
            self._write("\n")
        self._out.flush()

    def _line(self, text: str) -> None:
        self._write(("" if self._at_line_start else "\n") + text + "\n")

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._at_line_start = text.endswith("\n")


def _call_line(call: dict[str, object]) -> str:
    function = call["function"]
    name = function["name"] if isinstance(function, dict) else "tool"
    return f"[{name}: {call.get('summary') or call['status']}]"
