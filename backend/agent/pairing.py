"""Makes any list of messages obey the protocol: calls and results paired, roles in a legal order.

Pure functions: the input and its messages are never changed; a legal list comes back as it was.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .types import JsonObject, Message, ToolCallRequest

LEAD_NOTE = "(The conversation continues from an earlier part that is not shown.)"
TAIL_NOTE = "Please go on."
_BLANK = re.compile(r"[\s\u200b-\u200d\u2060\ufeff]*\Z")


def is_blank(text: str | None) -> bool:
    """True if a person would see nothing."""
    return not text or _BLANK.match(text) is not None


def repair(messages: Sequence[Message]) -> list[Message]:
    """System first, then a user message; every call answered once, directly after its message; a user or tool message last."""
    return _ordered(_paired(messages))


def unique_keys(messages: Sequence[Message]) -> list[Message]:
    """Every message with a key of its own, so that the frontier can remember it."""
    seen: dict[str, int] = {}
    out = []
    for position, message in enumerate(messages):
        key = wanted = message.key or f"@{position}"
        while key in seen:
            seen[wanted] += 1
            key = f"{wanted}#{seen[wanted]}"
        seen[key] = 1
        out.append(message if key == message.key else replace(message, key=key))
    return out


# ---------------------------------------------------------------- calls and results
def _paired(messages: Sequence[Message]) -> list[Message]:
    out: list[Message] = []
    at, end = 0, len(messages)
    while at < end:
        message = messages[at]
        at += 1
        if message.role == "tool":
            continue  # no assistant message before it asked for this
        if message.role != "assistant" or not message.tool_calls:
            if not _empty(message):
                out.append(message)
            continue
        stop = _next_with_calls(messages, at)
        window = messages[at:stop]
        out += _answered(message, [m for m in window if m.role == "tool"])
        out += [m for m in window if m.role != "tool" and not _empty(m)]
        at = stop
    return out


def _next_with_calls(messages: Sequence[Message], start: int) -> int:
    for at in range(start, len(messages)):
        if messages[at].tool_calls and messages[at].role == "assistant":
            return at
    return len(messages)


def _answered(message: Message, results: Iterable[Message]) -> list[Message]:
    """The message with its nameless calls left out, and one result per call in the order of the calls."""
    by_id: dict[str, list[Message]] = {}
    for result in results:
        if result.tool_call_id:
            by_id.setdefault(result.tool_call_id, []).append(result)
    calls: list[ToolCallRequest] = []
    answers: list[Message] = []
    ids: set[str] = set()
    for position, call in enumerate(message.tool_calls):
        if not isinstance(call.name, str) or is_blank(call.name):
            continue
        known = by_id.get(call.id) if call.id else None
        named = _with_unique_id(call, ids, f"{message.key or 'call'}_{position}")
        calls.append(named)
        answers.append(_result_for(named, known.pop(0) if known else None, message.key))
    if not calls:
        return [] if is_blank(text_of(message)) else [replace(message, tool_calls=(), tokens=None)]
    if all(a is b for a, b in zip(calls, message.tool_calls, strict=False)) and len(calls) == len(message.tool_calls):
        return [message, *answers]
    return [replace(message, tool_calls=tuple(calls), tokens=None), *answers]


def _with_unique_id(call: ToolCallRequest, taken: set[str], fallback: str) -> ToolCallRequest:
    wanted = call.id or fallback
    unique, number = wanted, 1
    while unique in taken:
        number += 1
        unique = f"{wanted}_{number}"
    taken.add(unique)
    return call if unique == call.id else replace(call, id=unique)


def _result_for(call: ToolCallRequest, result: Message | None, key: str) -> Message:
    if result is None:
        return Message("tool", unknown_outcome(call.name), tool_call_id=call.id, name=call.name, key=f"{key}/{call.id}")
    if result.tool_call_id == call.id and result.name == call.name:
        return result
    return replace(result, tool_call_id=call.id, name=call.name, tokens=None)


def unknown_outcome(tool: str) -> str:
    """The result of a call whose outcome nobody recorded, as JSON text."""
    result: JsonObject = {
        "success": False,
        "tool": tool,
        "status": "unknown",
        "code": "outcome_unknown",
        "error": "The call was interrupted and its outcome is unknown: it may or may not have taken effect.",
        "retryable": False,
        "suggestion": "Check the present state before you repeat it.",
    }
    return json.dumps(result)


# ---------------------------------------------------------------- roles
def _ordered(messages: Sequence[Message]) -> list[Message]:
    system = [m for m in messages if m.role == "system"]
    rest: list[Message] = []
    for message in messages:
        if message.role == "system":
            continue
        if rest and _may_join(rest[-1], message):
            rest[-1] = _joined(rest[-1], message)
        else:
            rest.append(message)
    if not rest or rest[0].role != "user":
        rest.insert(0, Message("user", LEAD_NOTE, key="@lead"))
    if rest[-1].role == "assistant":
        rest.append(Message("user", TAIL_NOTE, key="@tail"))
    return [*_one_system(system), *rest]


def _one_system(system: list[Message]) -> list[Message]:
    if len(system) < 2:
        return system
    text = "\n\n".join(t for m in system if (t := text_of(m)))
    return [replace(system[0], content=text, tokens=None)]


def _may_join(first: Message, second: Message) -> bool:
    """Neighbours of one role are one message to models that want roles to alternate."""
    if first.role != second.role or first.role == "tool":
        return False
    return first.role == "user" or not first.tool_calls


def _joined(first: Message, second: Message) -> Message:
    if isinstance(first.content, list) or isinstance(second.content, list):
        content: str | list[JsonObject] | None = _parts(first) + _parts(second)
    else:
        content = "\n\n".join(t for t in (first.content, second.content) if t) or None
    return replace(second, content=content, key=first.key, reasoning=second.reasoning or first.reasoning, tokens=None)


def _parts(message: Message) -> list[JsonObject]:
    if isinstance(message.content, list):
        return message.content
    return [{"type": "text", "text": message.content}] if message.content else []


def text_of(message: Message) -> str:
    """The text of a message; parts that are not text are left out."""
    if isinstance(message.content, list):
        return "\n".join(str(p["text"]) for p in message.content if p.get("text"))
    return message.content or ""


def _empty(message: Message) -> bool:
    if message.tool_calls or (isinstance(message.content, list) and message.content):
        return False
    return message.content is None or is_blank(text_of(message))
