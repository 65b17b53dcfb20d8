"""The only way to a request: turns any stored history into messages that every model accepts, within a budget."""

import re
from collections.abc import Sequence
from typing import Any

from ..errors import NanoClawError
from .fence import fence
from .pairing import repair, text_of, unique_keys
from .trimming import Frontier, fit
from .types import JsonObject, Message, is_json_object

MAX_NAME_CHARS = 64
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


class IllegalRequest(NanoClawError):
    """A request that breaks the protocol; it is never sent."""

    code = "illegal_request"


def prepare(
    transcript: Sequence[Message], budget: int, frontier: JsonObject | None = None
) -> tuple[list[Message], JsonObject]:
    """Messages for one request of at most `budget` tokens, and the frontier to pass next time.

    The outcome is legal whatever the transcript: system first, then a user message, every call answered
    once and directly, ids unique within their message, a user or tool message last. It is within budget,
    or the newest turn alone with its bulky parts cut. The transcript is never changed; preparing the
    outcome again gives the same.
    """
    known = Frontier.from_json(frontier)
    keyed = unique_keys(transcript)
    legal = repair(keyed)
    fitted = fit(legal, budget, known)
    if len(fitted) != len(legal):
        fitted = repair(fitted)
    return fitted, known.to_json({m.key for m in keyed})


def to_wire(messages: Sequence[Message]) -> list[JsonObject]:
    """The messages in OpenAI's form; what tools returned is fenced as data."""
    return [_wire(m) for m in messages]


def _wire(message: Message) -> JsonObject:
    if message.role == "tool":
        name = _wire_name(message.name or "tool")
        return {
            "role": "tool",
            "tool_call_id": message.tool_call_id,
            "name": name,
            "content": fence(text_of(message)),
        }
    wire: JsonObject = {"role": message.role, "content": message.content or None}
    if message.reasoning:
        wire.update(message.reasoning)
    if message.tool_calls:
        wire["tool_calls"] = calls = [c.to_openai_tool_call() for c in message.tool_calls]
        for call in calls:
            call["function"]["name"] = _wire_name(call["function"]["name"])
    return wire


def _wire_name(name: str) -> str:
    """A tool name as servers accept it; models sometimes call tools by names that they then refuse to read again."""
    return _NOT_IN_NAMES.sub("_", name)[:MAX_NAME_CHARS]


def check_legal(messages: Sequence[JsonObject]) -> None:
    """Raise IllegalRequest, naming the rule, unless these wire messages are a legal request."""
    first = next((m for m in messages if m["role"] != "system"), None)
    if first is None or first["role"] != "user":
        raise IllegalRequest("The first message after the system message must be the user's.")
    if messages[-1]["role"] not in ("user", "tool"):
        raise IllegalRequest("The last message must be the user's or a tool's.")
    open_ids: list[str] = []
    for position, message in enumerate(messages):
        if message["role"] == "tool":
            if not open_ids or message.get("tool_call_id") != open_ids.pop(0):
                raise IllegalRequest(f"Message {position} answers no open call.")
            continue
        if open_ids:
            raise IllegalRequest(f"Message {position} stands before the result of call {open_ids[0]!r}.")
        if message["role"] == "system" and position:
            raise IllegalRequest("A system message stands after the first place.")
        open_ids = _checked_ids(message, position)
    if open_ids:
        raise IllegalRequest(f"Call {open_ids[0]!r} has no result.")


def _checked_ids(message: JsonObject, position: int) -> list[str]:
    calls: list[dict[str, Any]] = message.get("tool_calls") or []
    if not calls and not message.get("content"):
        raise IllegalRequest(f"Message {position} is empty.")
    ids = [c["id"] for c in calls]
    if not all(ids) or len(set(ids)) != len(ids):
        raise IllegalRequest(f"Message {position} has calls with an empty or a repeated id.")
    for call in calls:
        if not call["function"]["name"] or not is_json_object(call["function"]["arguments"]):
            raise IllegalRequest(f"Message {position} has a call without a name or whose arguments are no JSON object.")
    return ids
