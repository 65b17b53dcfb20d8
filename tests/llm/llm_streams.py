"""Streams of answers as tests make them, and what the reader makes of them."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from backend.agent.types import Delta, ModelReply
from backend.llm.wire import ReadOptions, ReplyReader

TOOLS = ("calculator", "get_weather", "file_list")
DONE = b"data: [DONE]\n\n"
SUM = '{"expression": "1+2"}'
OTHER = '{"expression": "3*4"}'


def ids() -> Callable[[], str]:
    """Made-up ids that are the same in every test."""
    numbers: Iterator[int] = count()
    return lambda: f"made{next(numbers):05d}"


def read(stream: bytes | list[bytes], cut: str = "", **options: Any) -> ModelReply:
    """The reply in a stream of bytes."""
    return told(stream, cut, **options)[0]


def told(stream: bytes | list[bytes], cut: str = "", **options: Any) -> tuple[ModelReply, list[Delta]]:
    """The reply, and what was shown on the way."""
    reader = ReplyReader(ReadOptions(**{"tool_names": TOOLS, "new_id": ids(), **options}))
    shown: list[Delta] = []
    for piece in [stream] if isinstance(stream, bytes) else stream:
        if reader.ended:
            break
        shown += reader.feed(piece)
    shown += reader.finish(cut)
    return reader.reply(), shown


def event(value: Any) -> bytes:
    try:
        return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
    except UnicodeEncodeError:
        return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **extra: Any) -> bytes:
    return event({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **extra})


def stream(*deltas: dict[str, Any], finish: str | None = "tool_calls") -> bytes:
    """A stream of deltas, its finish reason and the end marker."""
    return b"".join(chunk(d) for d in deltas) + chunk({}, finish) + DONE


def said(*texts: str, finish: str = "stop") -> bytes:
    return stream(*({"content": text} for text in texts), finish=finish)


def call(**entry: Any) -> dict[str, Any]:
    """A delta with one piece of a call: index, id, name, arguments as given."""
    function = {k: entry.pop(k) for k in ("name", "arguments") if k in entry}
    return {"tool_calls": [{**entry, "function": function}]}


def calls_of(reply: ModelReply) -> list[tuple[str, str]]:
    assert all(c.error is None for c in reply.tool_calls), reply.tool_calls
    assert len({c.id for c in reply.tool_calls}) == len(reply.tool_calls)
    assert all(c.id for c in reply.tool_calls)
    assert reply.finish_reason == "tool_calls"
    return [(c.name, json.dumps(json.loads(c.arguments), ensure_ascii=False)) for c in reply.tool_calls]
