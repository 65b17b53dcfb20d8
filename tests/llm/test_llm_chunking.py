"""However a stream of bytes is cut into reads, the reply is the same."""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.agent.types import Delta, ModelReply
from backend.errors import ModelError
from backend.llm.anthropic import MessageReader
from backend.llm.wire import ReadOptions, ReplyReader

EXAMPLES = 300
FULL_EXAMPLES = 10_000
Outcome = tuple[Any, ...]

FRAGMENTS = (
    "Hello ", "世界🌧", "\n", "\n\n", "<think>", "</think>", "<thi", "nk>", "thought ", "`", "```", "```json\n", "<tool_call>",
    '{"name": "calculator", "arguments": {"expression": "1+2"}}', "</tool_call>", "[TOOL_CALLS]", "{", "}", "[", '"name"', ": ",
    "<|im_end|>", "functools[", "<function=calculator>", "calculator(", "expression='1')", "<｜DSML｜", "< ", "print(", " ",
)  # fmt: skip
ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r", b"\n")


@st.composite
def deltas(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["text", "text", "text", "reasoning", "call"]))
    if kind == "text":
        return {"content": "".join(draw(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=3)))}
    if kind == "reasoning":
        return {"reasoning_content": draw(st.sampled_from(FRAGMENTS))}
    entry: dict[str, Any] = {"function": {"arguments": draw(st.sampled_from(["", '{"exp', 'ression": "1"}', "{}"]))}}
    if draw(st.booleans()):
        entry["index"] = draw(st.integers(0, 1))
    if draw(st.booleans()):
        entry["id"] = draw(st.sampled_from(["a", "b", ""]))
    if draw(st.booleans()):
        entry["function"]["name"] = draw(st.sampled_from(["calculator", "calcu", "file_list"]))
    return {"tool_calls": [entry]}


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A stream with any deltas, in any framing, with or without its end."""
    out = [draw(st.sampled_from([b"", b"\xef\xbb\xbf", b": hi\n\n"]))]
    end = draw(st.sampled_from(ENDS))
    for delta in draw(st.lists(deltas(), max_size=8)):
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        out.append(b"data: " + json.dumps(chunk, ensure_ascii=draw(st.booleans())).encode() + end)
    finish = draw(st.sampled_from(["stop", "tool_calls", "length", None]))
    if finish:
        out.append(
            b"data: " + json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}).encode() + end
        )
    out.append(draw(st.sampled_from([b"data: [DONE]\n\n", b"", b"data: [DONE]"])))
    return b"".join(out)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({p % (len(data) + 1) for p in places})
    return [data[a:b] for a, b in zip([0, *marks], [*marks, len(data)], strict=True)]


def outcome(pieces: list[bytes], in_thought: bool = False) -> Outcome:
    numbers = count()
    options = ReadOptions(("calculator", "file_list"), in_thought=in_thought, new_id=lambda: f"made{next(numbers)}")
    reader = ReplyReader(options)
    shown: list[Delta] = []
    try:
        for piece in pieces:
            if reader.ended:
                break
            shown += reader.feed(piece)
        shown += reader.finish()
    except ModelError as e:
        return (type(e), e.message, e.partial_text, e.partial_reasoning)
    reply = reader.reply()
    recalled = any(d.code == "text_was_reasoning" for d in shown)
    assert recalled or "".join(d.text for d in shown if d.kind == "text") == reply.text
    assert recalled or "".join(d.text for d in shown if d.kind == "reasoning") == reply.reasoning
    return (reply,)


def check_streams(data: bytes, places: list[int], in_thought: bool) -> None:
    whole = outcome([data], in_thought)
    assert outcome(cut(data, places), in_thought) == whole
    assert outcome([data[i : i + 1] for i in range(len(data))], in_thought) == whole


CUTS = st.lists(st.integers(0, 10_000), max_size=12)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(streams(), CUTS, st.booleans())
def test_any_cutting_of_a_stream_gives_the_same_reply(data: bytes, places: list[int], in_thought: bool) -> None:
    check_streams(data, places, in_thought)


@pytest.mark.full
@pytest.mark.timeout(900)
@settings(max_examples=FULL_EXAMPLES, deadline=None, derandomize=True)
@given(streams(), CUTS, st.booleans())
def test_any_cutting_of_many_more_streams(data: bytes, places: list[int], in_thought: bool) -> None:
    check_streams(data, places, in_thought)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(st.binary(max_size=200), CUTS)
def test_any_bytes_at_all_end_in_a_reply_or_a_model_error(data: bytes, places: list[int]) -> None:
    assert outcome(cut(data, places)) == outcome([data])


MESSAGE = b"".join(
    b"event: x\ndata: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
    for value in (
        {"type": "message_start", "message": {"model": "claude", "usage": {"input_tokens": 5}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "嗯"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "S"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi 🌧"}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ": 1}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    )
)  # fmt: skip


@settings(max_examples=100, deadline=None, derandomize=True)
@given(CUTS)
def test_any_cutting_of_a_message_stream_gives_the_same_reply(places: list[int]) -> None:
    def read(pieces: list[bytes]) -> ModelReply:
        reader = MessageReader()
        for piece in pieces:
            reader.feed(piece)
        reader.finish()
        return reader.reply()

    assert read(cut(MESSAGE, places)) == read([MESSAGE])
