"""A provider for Anthropic's own messages API: streaming, tools, images, thinking with its signatures."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..agent.types import Delta, FinishReason, JsonObject, ModelReply, ModelRequest, ToolCallRequest, Usage
from ..errors import ModelTransient
from .arguments import mend_surrogates, object_text, parse_arguments
from .deltas import CUT_CALL, make_id
from .faults import Complaint, complaint_in, error_for
from .lessons import Lessons
from .reading import AnswerReader, token_count
from .server import USER_AGENT, ServerProvider, ServerSettings, Shared
from .shape import text_of
from .sse import DONE

BASE_URL = "https://api.anthropic.com"
API_VERSION = "2023-06-01"
MOST_LISTED = 1000
DEFAULT_MAX_TOKENS = 8_192
THINKING_TOKENS = 4_096
LEAST_THINKING_TOKENS = 1_024
THINKING_FIELD = "anthropic_thinking"
_CACHED = {"cache_control": {"type": "ephemeral"}}
_STOP: dict[str, FinishReason] = {
    "end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "max_tokens": "length",
    "model_context_window_exceeded": "length", "tool_use": "tool_calls", "refusal": "refusal",
}  # fmt: skip
_DATA_URL = re.compile(r"data:([\w/+.-]+);base64,(.*)", re.DOTALL)
_MAX_OUTPUT = re.compile(r"max_tokens:?\s*\d+\s*>\s*(\d+)")


class Anthropic(ServerProvider):
    """Messages at `base_url` (default: Anthropic itself); see ServerProvider."""

    def __init__(self, settings: ServerSettings, shared: Shared | None = None) -> None:
        super().__init__(settings, shared)
        base = (settings.base_url or BASE_URL).strip().rstrip("/").removesuffix("/messages").removesuffix("/v1")
        self._endpoint = f"{base}/v1/messages"
        self._models = f"{base}/v1/models?limit={MOST_LISTED}"
        self._head = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
            "anthropic-version": API_VERSION,
            **settings.headers,
        }
        if settings.api_key:
            self._head[settings.key_header or "x-api-key"] = settings.api_key.strip()

    def _url(self) -> str:
        return self._endpoint

    def _models_url(self) -> str:
        return self._models

    def _headers(self) -> dict[str, str]:
        return self._head

    def _body(self, request: ModelRequest, known: Lessons) -> JsonObject:
        most = min(request.max_tokens or DEFAULT_MAX_TOKENS, known.get("max_output", 1_000_000))
        thinking = bool(request.thinking) and "thinking" not in known.get("drop", ()) and may_think(request.messages)
        system, messages = to_blocks(request.messages, thinking)
        body: JsonObject = {
            **self.settings.parameters,
            "model": request.model,
            "max_tokens": most,
            "messages": messages,
        }
        if thinking:
            budget = max(LEAST_THINKING_TOKENS, min(THINKING_TOKENS, most // 2))
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
            body["max_tokens"] = max(most, budget + LEAST_THINKING_TOKENS)
        elif request.temperature is not None and "temperature" not in known.get("drop", ()):
            body["temperature"] = min(1.0, request.temperature)
        if system:
            body["system"] = [{"type": "text", "text": system, **_CACHED}]
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.stream:
            body["stream"] = True
        return body

    def _lesson(self, complaint: Complaint, body: JsonObject, known: Lessons) -> Lessons | None:
        if complaint.status != 400:
            return None
        limit = _MAX_OUTPUT.search(complaint.message)
        if limit and known.get("max_output") != int(limit.group(1)):
            return {"max_output": int(limit.group(1))}
        dropped = set(known.get("drop", ()))
        for name in ("thinking", "temperature"):
            if name in body and name not in dropped and re.search(rf"\b{name}\b", complaint.message):
                return {"drop": sorted({*dropped, name})}
        return None

    def _reader(self, request: ModelRequest) -> "MessageReader":
        return MessageReader(self.settings.api_key)


# ---------------------------------------------------------------- the request
def _tool(tool: JsonObject) -> JsonObject:
    function = tool["function"]
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function["name"], "description": function.get("description", ""), "input_schema": schema}


def may_think(messages: Sequence[JsonObject]) -> bool:
    """Thinking may be asked for unless the turn under way has calls that were made without it."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return True
        if message.get("tool_calls") and not message.get(THINKING_FIELD):
            return False
    return True


def to_blocks(messages: Sequence[JsonObject], thinking: bool) -> tuple[str, list[JsonObject]]:
    """(system text, messages in this API's form): results in user turns, neighbours of one role joined."""
    system: list[str] = []
    out: list[JsonObject] = []
    for message in messages:
        role = message.get("role")
        if role in ("system", "developer"):
            system.append(text_of(message.get("content")))
            continue
        blocks = _blocks(message, thinking)
        role = "assistant" if role == "assistant" else "user"
        if not blocks:
            continue
        if out and out[-1]["role"] == role:
            out[-1]["content"] += blocks
        else:
            out.append({"role": role, "content": blocks})
    if out and out[-1]["role"] == "user":
        out[-1]["content"][-1] = {**out[-1]["content"][-1], **_CACHED}
    return "\n\n".join(part for part in system if part), out


def _blocks(message: JsonObject, thinking: bool) -> list[JsonObject]:
    if message.get("role") == "tool":
        text = text_of(message.get("content"))
        result = {"type": "tool_result", "tool_use_id": _legal_id(message.get("tool_call_id"))}
        return [{**result, "content": text} if text.strip() else result]
    blocks: list[JsonObject] = list(message.get(THINKING_FIELD) or ()) if thinking else []
    blocks += _content(message.get("content"))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        blocks.append(
            {
                "type": "tool_use",
                "id": _legal_id(call["id"]),
                "name": function["name"],
                "input": json.loads(function["arguments"]),
            }
        )
    return blocks


def _content(content: Any) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    blocks = []
    for part in content or ():
        if part.get("type") == "image_url":
            blocks.append(_image(part["image_url"]))
        elif str(part.get("text") or "").strip():
            blocks.append({"type": "text", "text": part["text"]})
    return blocks


def _image(image: Any) -> JsonObject:
    url = image.get("url", "") if isinstance(image, Mapping) else str(image)
    data = _DATA_URL.match(url)
    if data:
        return {"type": "image", "source": {"type": "base64", "media_type": data.group(1), "data": data.group(2)}}
    return {"type": "image", "source": {"type": "url", "url": url}}


def _legal_id(key: Any) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", str(key)) or "call"


# ---------------------------------------------------------------- the answer
class MessageReader(AnswerReader):
    """Reads one answer, streamed or whole."""

    def __init__(self, secret: str = "") -> None:
        super().__init__()
        self._secret = secret
        self._blocks: dict[int, JsonObject] = {}
        self._begun = False
        self._reasoning: list[str] = []
        self._usage: dict[str, int] = {}
        self._model = ""

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return "".join(self._reasoning)

    def finish(self, cut: str = "") -> list[Delta]:
        """The stream is over; ModelTransient if the answer is not whole."""
        self._take_rest()
        if not (self.ended or self.finish_reason):
            what = "was closed before the answer was complete: the stream is incomplete"
            raise self._error(
                ModelTransient(f"The connection {what}." if self._begun else "The model's server sent an empty answer.")
            )
        return self._taken()

    def _take(self, value: Any) -> None:
        if self.ended or value is DONE or not isinstance(value, dict):
            self.ended = self.ended or value is DONE
            return
        self.events += 1
        if (complaint := complaint_in(value)) is not None:
            raise self._error(error_for(complaint, {}, self._secret))
        kind = value.get("type")
        if kind == "message":
            self._take_whole(value)
        elif kind == "message_start":
            self._take_message(value.get("message") or {})
        elif kind == "content_block_start":
            self._start_block(int(value.get("index", 0)), value.get("content_block") or {})
        elif kind == "content_block_delta":
            self._add(int(value.get("index", 0)), value.get("delta") or {})
        elif kind == "message_delta":
            self._stop((value.get("delta") or {}).get("stop_reason"))
            self._count(value.get("usage"))
        elif kind == "message_stop":
            self.ended = True

    def _take_message(self, message: JsonObject) -> None:
        self._begun = True
        self._model = str(message.get("model") or "")
        self._count(message.get("usage"))

    def _take_whole(self, message: JsonObject) -> None:
        self._take_message(message)
        for index, block in enumerate(message.get("content") or ()):
            self._start_block(index, block)
        self._stop(message.get("stop_reason") or "end_turn")
        self.ended = True

    def _start_block(self, index: int, block: JsonObject) -> None:
        self._blocks[index] = dict(block)
        if block.get("type") == "text" and block.get("text"):
            self._say("text", block["text"])
        elif block.get("type") == "thinking" and block.get("thinking"):
            self._say("reasoning", block["thinking"])

    def _add(self, index: int, delta: JsonObject) -> None:
        block = self._blocks.setdefault(index, {"type": "text"})
        kind = delta.get("type")
        if kind == "text_delta":
            self._say("text", delta.get("text") or "")
        elif kind == "thinking_delta":
            block["thinking"] = block.get("thinking", "") + (delta.get("thinking") or "")
            self._say("reasoning", delta.get("thinking") or "")
        elif kind == "signature_delta":
            block["signature"] = block.get("signature", "") + (delta.get("signature") or "")
        elif kind == "input_json_delta":
            block.setdefault("pieces", []).append(delta.get("partial_json") or "")

    def _say(self, kind: Any, text: str) -> None:
        if text:
            text = mend_surrogates(text)
            (self._text if kind == "text" else self._reasoning).append(text)
            self._out.append(Delta(kind, text))

    def _stop(self, reason: Any) -> None:
        if isinstance(reason, str) and reason:
            self.finish_reason = _STOP.get(reason, "stop")

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage.update({k: token_count(v) for k, v in usage.items() if isinstance(v, int | float)})

    # ------------------------------------------------------------ the reply
    def reply(self) -> ModelReply:
        """The whole answer."""
        reason: FinishReason = self.finish_reason or "stop"
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = tuple(_call(b, reason == "length") for b in blocks if b.get("type") == "tool_use")
        if reason == "refusal":
            calls = ()
        elif reason != "length":
            reason = "tool_calls" if calls else "stop"
        thoughts = [_thought(b) for b in blocks if b.get("type") in ("thinking", "redacted_thinking")]
        return ModelReply(
            text=self.text,
            reasoning=self.reasoning,
            tool_calls=calls,
            finish_reason=reason,
            usage=self._counted(),
            model=self._model,
            reasoning_fields={THINKING_FIELD: thoughts} if thoughts else None,
        )

    def _counted(self) -> Usage:
        prompt = sum(
            self._usage.get(k, 0) for k in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        return Usage(prompt, self._usage.get("output_tokens", 0))


def _call(block: JsonObject, cut: bool) -> ToolCallRequest:
    pieces = "".join(block.get("pieces", ()))
    text, error = parse_arguments(pieces) if pieces.strip() else (object_text(block.get("input") or {}), None)
    return ToolCallRequest(
        str(block.get("id") or make_id()), str(block.get("name") or ""), text, error=CUT_CALL if cut else error
    )


def _thought(block: JsonObject) -> JsonObject:
    keys = ("type", "thinking", "signature") if block.get("type") == "thinking" else ("type", "data")
    return {key: block[key] for key in keys if key in block}
