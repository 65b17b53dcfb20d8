"""A provider that replays a script: for tests, demonstrations and teaching, with no model and no network.

A script is a JSON object (docs/providers.md):

    {"turns": [{"reasoning": "…", "text": "…", "tool_calls": [{"name": "calculator", "arguments": {"expression": "2+2"}}]},
               {"text": "It is 4.", "delay": 0.05}]}

`turns` are played in order, one a request. Or, so that every conversation gets the same answers, `scenes`:

    {"scenes": [{"when": "weather", "turns": [...]}, {"turns": [...]}]}

Then the last user message chooses the first scene whose pattern is found in it, and the turn follows from
how many answers have come since.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..agent.types import (
    Delta,
    DeltaKind,
    FinishReason,
    ModelReply,
    ModelRequest,
    OnDelta,
    ToolCallRequest,
    Usage,
)
from ..cancel import CancelToken
from ..errors import ModelCancelled, ModelError, ModelTransient
from .arguments import object_text, parse_arguments
from .deltas import make_id
from .shape import text_of

END_TEXT = "The script has ended."
Turn = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """Turns that are played when `when` is found in the user's message (None: always)."""

    turns: tuple[Turn, ...]
    when: re.Pattern[str] | None = None


class ScriptedProvider:
    """Plays a script. Give the object, its turns, or read it with `from_file`.

    A turn has `text` (a string, or pieces), `reasoning` (the same), `tool_calls` (each `name`, `arguments`,
    perhaps `id`), `delay` (seconds before each piece), `finish_reason`, `usage` ([prompt, completion]), or
    `error` (a message; with `"retryable": true` a transient one). A turn may also be a function of the request.
    """

    def __init__(self, script: Mapping[str, Any] | Sequence[Turn | Callable[[ModelRequest], Turn]]) -> None:
        self.requests: list[ModelRequest] = []
        self._lock = threading.Lock()
        whole: Mapping[str, Any] = script if isinstance(script, Mapping) else {"turns": script}
        self._turns: list[Any] = list(whole.get("turns", ()))
        self._scenes = [_scene(s) for s in whole.get("scenes", ())]
        self._end_text = str(whole.get("end", END_TEXT))
        self._played = 0

    @classmethod
    def from_file(cls, path: Path) -> "ScriptedProvider":
        """Read a script; ModelError if it is none."""
        try:
            script = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(script, dict | list):
                raise ValueError("not an object")
            return cls(script)
        except (OSError, ValueError, re.error) as e:
            raise ModelError(f"The script {path.name!r} cannot be read: {e}") from e

    def chat(self, request: ModelRequest, on_delta: OnDelta | None, cancelled: CancelToken) -> ModelReply:
        """Play the next turn."""
        turn = self._next(request)
        delay = float(turn.get("delay", 0))
        tell = on_delta or (lambda delta: None)
        said: dict[str, list[str]] = {"reasoning": [], "text": []}
        for kind, piece in _pieces(turn):
            if cancelled.wait(delay) if delay else cancelled.is_set():
                raise ModelCancelled("The request was cancelled.", partial_text="".join(said["text"]))
            said[kind].append(piece)
            tell(Delta(kind, piece))
        if turn.get("error"):
            kind_of = ModelTransient if turn.get("retryable") else ModelError
            raise kind_of(str(turn["error"]), partial_text="".join(said["text"]))
        return self._reply(turn, "".join(said["text"]), "".join(said["reasoning"]), request)

    def _next(self, request: ModelRequest) -> Turn:
        with self._lock:
            self.requests.append(request)
            if self._scenes:
                return _scene_turn(self._scenes, request) or {"text": self._end_text}
            number, self._played = self._played, self._played + 1
            turn = self._turns[number] if number < len(self._turns) else {"text": self._end_text}
        return cast(Turn, turn(request)) if callable(turn) else cast(Turn, turn)

    def _reply(self, turn: Turn, text: str, reasoning: str, request: ModelRequest) -> ModelReply:
        calls = tuple(_call(c) for c in turn.get("tool_calls", ()))
        reason = turn.get("finish_reason") or ("tool_calls" if calls else "stop")
        prompt, completion = turn.get("usage") or (_tokens(request), max(1, len(text) // 4))
        fields = turn.get("reasoning_fields")
        return ModelReply(
            text, reasoning, calls, cast(FinishReason, reason), Usage(int(prompt), int(completion)), request.model,
            dict(fields) if isinstance(fields, Mapping) else None,
        )  # fmt: skip


def _scene(raw: Mapping[str, Any]) -> Scene:
    when = raw.get("when")
    return Scene(tuple(raw.get("turns", ())), re.compile(when, re.IGNORECASE) if when else None)


def _scene_turn(scenes: Sequence[Scene], request: ModelRequest) -> Turn | None:
    since = 0
    for message in reversed(request.messages):
        if message.get("role") == "user":
            said = text_of(message.get("content"))
            scene = next((s for s in scenes if s.when is None or s.when.search(said)), None)
            return scene.turns[since] if scene and since < len(scene.turns) else None
        since += message.get("role") == "assistant"
    return None


def _pieces(turn: Turn) -> list[tuple[DeltaKind, str]]:
    out: list[tuple[DeltaKind, str]] = []
    for kind in cast(tuple[DeltaKind, ...], ("reasoning", "text")):
        value = turn.get(kind) or ""
        words = re.findall(r"\S+\s*|\s+", value) if isinstance(value, str) else [str(v) for v in value]
        out += [(kind, word) for word in words]
    return out


def _call(raw: Mapping[str, Any]) -> ToolCallRequest:
    arguments = raw.get("arguments", {})
    if isinstance(arguments, str):
        text, error = parse_arguments(arguments)
    else:
        text, error = object_text(dict(arguments)), None
    return ToolCallRequest(str(raw.get("id") or make_id()), str(raw["name"]), text, error=raw.get("error") or error)


def _tokens(request: ModelRequest) -> int:
    size = sum(len(text_of(m.get("content"))) for m in request.messages)
    return max(1, size // 4)
