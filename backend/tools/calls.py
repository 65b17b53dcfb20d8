"""One tool call on its way: what was asked, what became of it, and the contract's CALL."""

import time
from collections.abc import Hashable
from typing import Any

from .core import JsonObject
from .plans import Key, Plan
from .results import Outcome, clean_text, with_notes

_MILLISECONDS = 1_000_000
_last: tuple[int, str] = (-1, "")


def stamp(milliseconds: int | None = None) -> str:
    """A moment in ISO 8601 UTC with milliseconds, now by default; cheap, since each is formatted once."""
    global _last
    if milliseconds is None:
        milliseconds = time.time_ns() // _MILLISECONDS
    known, text = _last
    if known != milliseconds:
        seconds, rest = divmod(milliseconds, 1000)
        text = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"
        _last = (milliseconds, text)
    return text


class Call:
    """The state of one call. `outcome` is None until it is settled; `notes` are for the model."""

    arguments_text = "{}"
    arguments: JsonObject
    plan: Plan | None = None
    key: Key = (0, "", "", None)
    flight: Hashable = None  # the key under which this call leads equal ones
    generation = 0
    notes: tuple[str, ...] = ()
    outcome: Outcome | None = None
    skipped = False
    cached = False
    duplicate_of: str | None = None
    cached_at: str | None = None
    expires_at: str | None = None
    attempts = 0
    degraded: str | None = None
    execution_time = 0.0
    queued_ms = 0
    started_at: str | None = None
    finished_at: str | None = None
    json: JsonObject

    def __init__(self, call_id: str, provider_id: str, name: str, step: int) -> None:
        self.id = call_id
        self.provider_id = provider_id
        self.name = name
        self.step = step

    def note(self, text: str) -> None:
        """Something the model is told beside the result."""
        self.notes = (*self.notes, text)

    def to_json(self, status: str = "executing") -> JsonObject:
        """The contract's CALL; `status` is used until there is an outcome."""
        outcome = self.outcome
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments_text},
            "result": (with_notes(outcome.text, self.notes) if self.notes else outcome.text) if outcome else None,
            "success": outcome.status == "success" if outcome else None,
            "skipped": self.skipped,
            "execution_time": self.execution_time,
            "status": outcome.status if outcome else status,
            "cached": self.cached,
            "duplicate_of": self.duplicate_of,
            "cached_at": self.cached_at,
            "expires_at": self.expires_at,
            "attempts": self.attempts,
            "degraded": self.degraded,
            "summary": outcome.summary if outcome else "",
            "queued_ms": self.queued_ms,
            "result_truncated": outcome.full is not None if outcome else False,
            "result_size": outcome.size if outcome else 0,
            "provider_id": self.provider_id,
            "step": self.step,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
        }


def request_parts(request: Any) -> tuple[str, str, Any]:
    """Id, name and raw arguments of a model's call, whatever is missing."""
    if not isinstance(request, dict):
        return "", "", request
    function = request.get("function", request)
    if not isinstance(function, dict):
        function = request
    return _text(request.get("id")), _text(function.get("name")), function.get("arguments")


def _text(value: Any) -> str:
    if value.__class__ is not str:
        return ""
    return value if value.isascii() else clean_text(value)
