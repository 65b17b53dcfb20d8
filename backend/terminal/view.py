"""How the events of a run look in a terminal: the answer on one stream, everything else dimmed on the other."""

import json
from typing import Any, TextIO

from ..channels.log import LoggedEvent

DIM, RESET = "\033[2m", "\033[0m"


class TerminalView:
    """Prints events as they come; `status` is how the run ended."""

    def __init__(self, out: TextIO, aside: TextIO) -> None:
        self._out = out
        self._aside = aside
        self._colour = aside.isatty()
        self._shown: dict[int, int] = {}
        self._open_line = False
        self.status = "failed"

    def show(self, event: LoggedEvent) -> None:
        """Print one event."""
        data = json.loads(event.data)
        if event.type == "text.delta":
            self._text(data)
        elif event.type == "tool_call.finished":
            self._call(data["call"])
        elif event.type == "run.notice":
            self._say(f"({data['detail']})")
        elif event.type == "run.finished":
            self._end(data)

    def _text(self, data: dict[str, Any]) -> None:
        # A resumed step may send again what was shown: offsets say what is new.
        seen = self._shown.get(data["step"], 0)
        new = data["text"][max(0, seen - data["offset"]) :]
        if new:
            self._out.write(new)
            self._out.flush()
            self._shown[data["step"]] = data["offset"] + len(data["text"])
            self._open_line = not new.endswith("\n")

    def _call(self, call: dict[str, Any]) -> None:
        mark = "·" if call["success"] else "✗"
        self._say(f"{mark} {call['function']['name']}: {call['summary'] or call['status']}")

    def _end(self, data: dict[str, Any]) -> None:
        self.status = data["status"]
        if self._open_line:
            self._out.write("\n")
            self._out.flush()
        if data["status"] != "completed":
            error = data.get("error") or {}
            self._say(str(error.get("message") or f"The run ended: {data['stop_reason']}."))

    def _say(self, text: str) -> None:
        if self._open_line:
            self._out.write("\n")
            self._out.flush()
            self._open_line = False
        self._aside.write(f"{DIM}{text}{RESET}\n" if self._colour else f"{text}\n")
        self._aside.flush()
