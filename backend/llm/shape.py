"""The body of a chat-completions request, in the form that a provider has taught us it takes."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..agent.types import JsonObject, ModelRequest
from .deltas import ID_CHARS
from .lessons import Lessons
from .reasoning import ECHOED

_MESSAGE_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "refusal", *ECHOED})
_CALL_KEYS = ("id", "type", "function")
_SCHEMA_KEYS = frozenset({"type", "description", "properties", "required", "items", "enum"})
NAME_CHARS = 64
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME_NOISE = re.compile(r"[^a-zA-Z0-9_-]+")
_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
_TOOL_LIKE = "[called {name} with {arguments}]"


def request_body(request: ModelRequest, known: Lessons, extra: Mapping[str, Any]) -> JsonObject:
    """Everything to send; `extra` are the provider's own parameters (they do not override ours)."""
    tools = bool(request.tools) and known.get("tools") is not False
    stream = request.stream and known.get("stream") is not False
    body: JsonObject = {**extra, "model": request.model, "messages": shape_messages(request.messages, known)}
    if tools:
        plain = known.get("schema") == "plain"
        body["tools"] = [_plain_tool(t) if plain else _whole_tool(t) for t in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body[known.get("max_tokens", "max_tokens")] = request.max_tokens
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    for name in known.get("drop", ()):
        body.pop(name, None)
    return body


def encode(body: JsonObject) -> bytes:
    """The body as UTF-8; a lone surrogate becomes a question mark, since a strict server would refuse it."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


# ---------------------------------------------------------------- messages
def shape_messages(messages: Sequence[JsonObject], known: Lessons) -> list[JsonObject]:
    """Messages as this server takes them; the given ones are not changed."""
    shaper = _Shaper(known)
    shaped = [shaper.message(message) for message in messages]
    if known.get("tools") is False:
        shaped = _without_tools(shaped)
    if known.get("system") == "user":
        shaped = _system_to_user(shaped)
    elif known.get("system") == "developer":
        shaped = [{**m, "role": "developer"} if m.get("role") == "system" else m for m in shaped]
    return _merged(shaped) if known.get("merge") else shaped


class _Shaper:
    """Goes through the messages in order; results take the names and ids of the calls before them."""

    def __init__(self, known: Lessons) -> None:
        self._known = known
        self._names: dict[str, str] = {}
        self._turn = 0  # counts messages with calls: ids are unique within one of them only

    def message(self, message: JsonObject) -> JsonObject:
        """The message in this server's form; the same object where nothing is to be changed."""
        role = message.get("role")
        if role == "tool":
            return self._result(message)
        if role != "assistant":
            return message
        out = message if message.keys() <= _MESSAGE_KEYS else {k: v for k, v in message.items() if k in _MESSAGE_KEYS}
        calls = out.get("tool_calls")
        out = _with_reasoning(out, bool(calls), self._known.get("reasoning"))
        if not calls:
            return {k: v for k, v in out.items() if k != "tool_calls"} if "tool_calls" in out else out
        self._turn += 1
        self._names = {str(call.get("id")): call["function"]["name"] for call in calls}
        if not out.get("content"):
            out = {**out, "content": "" if self._known.get("content") == "empty" else None}
        if self._known.get("plain") or self._known.get("ids") or not all(map(_NAME.fullmatch, self._names.values())):
            out = {**out, "tool_calls": [self._call(call) for call in calls]}
        return out

    def _call(self, call: JsonObject) -> JsonObject:
        out = {key: call[key] for key in _CALL_KEYS if key in call} if self._known.get("plain") else dict(call)
        out["id"] = self._id(str(call.get("id")))
        out["function"] = {**call["function"], "name": legal_name(call["function"]["name"])}
        return out

    def _result(self, message: JsonObject) -> JsonObject:
        out = dict(message)
        key = str(message.get("tool_call_id"))
        if self._known.get("plain"):
            out.pop("name", None)
        else:
            out["name"] = legal_name(str(out.get("name") or self._names.get(key) or "tool"))
        out["tool_call_id"] = self._id(key)
        if out.get("content") is None:
            out["content"] = ""
        return out

    def _id(self, key: str) -> str:
        form = self._known.get("ids")
        if form == "unique":
            return short_id(f"{self._turn} {key}")
        return short_id(key) if form == "nine" else key


def _with_reasoning(message: JsonObject, calls: bool, mode: str | None) -> JsonObject:
    """Reasoning goes back with calls, unless the server wants it always or never."""
    if mode == "needed":
        said = message.get("reasoning_content") or message.get("reasoning") or ""
        return message if "reasoning_content" in message else {**message, "reasoning_content": said}
    if (calls and mode != "refused") or not any(key in message for key in ECHOED):
        return message
    return {key: value for key, value in message.items() if key not in ECHOED}


def legal_name(name: str) -> str:
    """A tool name as every server takes it: a model may have made up one that none would take back."""
    return name if _NAME.fullmatch(name) else _NAME_NOISE.sub("_", name)[:NAME_CHARS] or "tool"


def short_id(key: str) -> str:
    """Nine letters and digits, the same for the same id."""
    if len(key) == ID_CHARS and key.isascii() and key.isalnum():
        return key
    digest = base64.b64encode(hashlib.sha256(key.encode("utf-8", "replace")).digest(), b"Aa").decode()
    return digest[:ID_CHARS]


def text_of(content: Any) -> str:
    """The text of a message's content, whatever its form."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(p.get("text", "")) for p in content if isinstance(p, dict) and p.get("type") == "text")
    return ""


def _without_tools(messages: list[JsonObject]) -> list[JsonObject]:
    """For a model that knows no tools: earlier calls and their results become part of the assistant's words."""
    out: list[JsonObject] = []
    for message in messages:
        if message.get("role") == "tool":
            said = f"[{message.get('name') or 'tool'} answered: {text_of(message.get('content'))}]"
        elif message.get("tool_calls"):
            said = "\n".join(_TOOL_LIKE.format(**call["function"]) for call in message["tool_calls"])
            said = f"{text_of(message.get('content'))}\n{said}".strip()
        else:
            out.append(message)
            continue
        if out and out[-1].get("role") == "assistant":
            out[-1] = {"role": "assistant", "content": f"{text_of(out[-1].get('content'))}\n{said}".strip()}
        else:
            out.append({"role": "assistant", "content": said})
    return out


def _system_to_user(messages: list[JsonObject]) -> list[JsonObject]:
    system = "\n\n".join(text_of(m.get("content")) for m in messages if m.get("role") in ("system", "developer"))
    rest = [m for m in messages if m.get("role") not in ("system", "developer")]
    if not system:
        return rest
    if rest and rest[0].get("role") == "user":
        return [{**rest[0], "content": _joined(system, rest[0].get("content"))}, *rest[1:]]
    return [{"role": "user", "content": system}, *rest]


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _merged(messages: list[JsonObject]) -> list[JsonObject]:
    out: list[JsonObject] = []
    for message in messages:
        last = out[-1] if out else None
        mergeable = (
            last is not None
            and last.get("role") == message.get("role")
            and message.get("role") in ("user", "assistant", "system")
        )
        if last is not None and mergeable and not last.get("tool_calls"):
            content = _joined(last.get("content"), message.get("content"))
            out[-1] = {**last, **message, "content": content}
        else:
            out.append(message)
    return out


# ---------------------------------------------------------------- tools
def _whole_tool(tool: JsonObject) -> JsonObject:
    """A tool without arguments still has a schema, and an object's schema has properties: some servers insist."""
    function = tool["function"]
    schema = function.get("parameters")
    if schema and "properties" in schema:
        return tool
    return {**tool, "function": {**function, "parameters": {**_NO_PARAMETERS, **(schema or {})}}}


def _plain_tool(tool: JsonObject) -> JsonObject:
    function = tool.get("function", {})
    return {**tool, "function": {**function, "parameters": _plain_schema(function.get("parameters") or {})}}


def _plain_schema(schema: Any) -> Any:
    """Only the keywords that every server knows."""
    if not isinstance(schema, dict):
        return schema
    out = {key: value for key, value in schema.items() if key in _SCHEMA_KEYS}
    if isinstance(out.get("type"), list):
        out["type"] = next((t for t in out["type"] if t != "null"), "string")
    if isinstance(out.get("properties"), dict):
        out["properties"] = {key: _plain_schema(value) for key, value in out["properties"].items()}
    if "items" in out:
        out["items"] = _plain_schema(out["items"])
    if "type" not in out and "enum" not in out:
        out["type"] = "object" if "properties" in out else "string"
    return out
