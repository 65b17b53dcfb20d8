"""Reading answers: what servers do with framing, calls, reasoning and text, case by case."""

import json
from typing import Any

import pytest
from llm_streams import DONE, OTHER, SUM, call, calls_of, chunk, event, read, said, stream, told

from backend.errors import ContentFiltered, ModelError, ModelQuotaExceeded, ModelRateLimited, ModelTransient
from backend.llm.wire import ReadOptions, ReplyReader

ONE = [("calculator", SUM)]
TWO = [("calculator", SUM), ("calculator", OTHER)]
A, B = SUM[:9], SUM[9:]
C, D = OTHER[:9], OTHER[9:]

DELTAS: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "two calls without index": (
        stream(call(id="a", name="calculator", arguments=A), call(arguments=B), call(id="b", name="calculator", arguments=C), call(arguments=D)),
        TWO,
    ),
    "index as text": (stream(call(index="0", id="a", name="calculator", arguments=A), call(index="0", arguments=B)), ONE),
    "index from one": (
        stream(call(index=1, id="a", name="calculator", arguments=SUM), call(index=2, id="b", name="calculator", arguments=OTHER)),
        TWO,
    ),
    "one index, no ids, two calls": (
        stream(call(index=0, name="calculator", arguments=SUM), call(index=0, name="calculator", arguments=OTHER)),
        TWO,
    ),
    "no index, no ids, two calls": (stream(call(name="calculator", arguments=SUM), call(name="calculator", arguments=OTHER)), TWO),
    "no keys at all on the continuation": (stream(call(name="calculator", arguments=""), call(arguments=A), call(arguments=B)), ONE),
    "both calls in one delta": (
        stream({"tool_calls": [
            {"index": 0, "id": "a", "function": {"name": "calculator", "arguments": SUM}},
            {"index": 1, "id": "b", "function": {"name": "calculator", "arguments": OTHER}},
        ]}),
        TWO,
    ),
    "both calls in one delta without index": (
        stream({"tool_calls": [
            {"id": "a", "function": {"name": "calculator", "arguments": SUM}},
            {"id": "b", "function": {"name": "calculator", "arguments": OTHER}},
        ]}),
        TWO,
    ),
    "a new id with every delta": (
        stream(call(index=0, id="a", name="calculator", arguments=""), call(index=0, id="b", arguments=A), call(index=0, id="c", arguments=B)),
        ONE,
    ),
    "a new id and the name with every delta": (
        stream(
            call(index=0, id="a", name="calculator", arguments=A),
            call(index=0, id="b", name="calculator", arguments=B),
        ),
        ONE,
    ),
    "the id comes late": (stream(call(index=0, name="calculator", arguments=A), call(index=0, id="late", arguments=B)), ONE),
    "the id is null": (stream(call(index=0, id=None, name="calculator", arguments=A), call(index=0, id=None, arguments=B)), ONE),
    "the id is a number": (stream(call(index=0, id=7, name="calculator", arguments=SUM)), ONE),
    "one id for two calls": (
        stream(call(index=0, id="dup", name="calculator", arguments=SUM), call(index=1, id="dup", name="calculator", arguments=OTHER)),
        TWO,
    ),
    "one id for two calls without index": (
        stream(call(id="dup", name="calculator", arguments=SUM), call(id="dup", name="calculator", arguments=OTHER)),
        TWO,
    ),
    "one index, two ids, headers first": (
        stream(
            call(index=0, id="a", name="calculator", arguments=""), call(index=0, id="a", arguments=SUM),
            call(index=0, id="b", name="calculator", arguments=""), call(index=0, id="b", arguments=OTHER),
        ),
        TWO,
    ),
    "fragments of two calls in one delta without keys": (
        stream(
            call(index=0, id="a", name="calculator", arguments=""), call(index=1, id="b", name="calculator", arguments=""),
            {"tool_calls": [{"function": {"arguments": SUM}}, {"function": {"arguments": OTHER}}]},
        ),
        TWO,
    ),
    "the name in parts": (
        stream(call(index=0, id="a", name="calcu"), call(index=0, name="lator"), call(index=0, arguments=SUM)),
        ONE,
    ),
    "the name grows": (
        stream(call(index=0, id="a", name="calc"), call(index=0, name="calculator"), call(index=0, arguments=SUM)),
        ONE,
    ),
    "the name comes after the arguments": (stream(call(index=0, id="a", arguments=SUM), call(index=0, name="calculator")), ONE),
    "the name has spaces": (stream(call(index=0, id="a", name=" calculator\n", arguments=SUM)), ONE),
    "the name has a namespace": (stream(call(index=0, id="a", name="functions.calculator", arguments=SUM)), ONE),
    "the name has a token on it": (stream(call(index=0, id="a", name="calculator<|channel|>commentary", arguments=SUM)), ONE),
    "the name in other letters": (stream(call(index=0, id="a", name="Calculator", arguments=SUM)), ONE),
    "an empty name repeated": (stream(call(index=0, id="a", name="calculator", arguments=A), call(index=0, name="", arguments=B)), ONE),
    "null name and arguments": (
        stream(call(index=0, id="a", name="calculator", arguments=None), call(index=0, name=None, arguments=SUM)),
        ONE,
    ),
    "the call without a function object": (stream({"tool_calls": [{"id": "a", "name": "calculator", "arguments": SUM}]}), ONE),
    "tool_calls is one object": (stream({"tool_calls": {"id": "a", "function": {"name": "calculator", "arguments": SUM}}}), ONE),
    "tool_calls holds null": (stream({"tool_calls": [None]}, {"tool_calls": None}, call(index=0, id="a", name="calculator", arguments=SUM)), ONE),
    "arguments as an object in every delta": (
        stream(call(index=0, id="a", name="calculator", arguments={}), call(index=0, arguments=json.loads(SUM))),
        ONE,
    ),
    "arguments grow": (
        stream(*(call(index=0, id="a", name="calculator", arguments=SUM[:n]) for n in (4, 9, 15, len(SUM)))),
        ONE,
    ),
    "arguments twice with name and id": (
        stream(call(index=0, id="a", name="calculator", arguments=A), call(index=0, arguments=B), call(index=0, id="a", name="calculator", arguments=SUM)),
        ONE,
    ),
    "the whole message once more at the end": (
        chunk(call(index=0, id="a", name="calculator", arguments=SUM))
        + event({"choices": [{"index": 0, "finish_reason": "tool_calls",
                              "message": {"content": None, "tool_calls": [{"id": "a", "function": {"name": "calculator", "arguments": SUM}}]}}]})
        + DONE,
        ONE,
    ),
    "a message instead of a delta": (
        event({"choices": [{"index": 0, "finish_reason": "tool_calls",
                            "message": {"tool_calls": [{"id": "a", "function": {"name": "calculator", "arguments": SUM}}]}}]}) + DONE,
        ONE,
    ),
    "legacy function_call at once": (stream({"function_call": {"name": "calculator", "arguments": SUM}}, finish="function_call"), ONE),
    "two calls without arguments": (
        stream(call(index=0, id="a", name="file_list", arguments=""), call(index=0, id="b", name="file_list", arguments="")),
        [("file_list", "{}"), ("file_list", "{}")],
    ),
    "finish reason first, call later": (chunk({}, "tool_calls") + chunk(call(index=0, id="a", name="calculator", arguments=SUM)) + DONE, ONE),
    "a choice with another index": (
        event({"choices": [{"index": 1, "delta": call(index=0, id="a", name="calculator", arguments=SUM), "finish_reason": "tool_calls"}]}) + DONE,
        ONE,
    ),
    "a second choice": (
        event({"choices": [{"index": 0, "delta": call(index=0, id="a", name="calculator", arguments=SUM)},
                           {"index": 1, "delta": call(index=0, id="z", name="calculator", arguments=OTHER)}]}) + chunk({}, "tool_calls") + DONE,
        ONE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DELTAS)
def test_calls_are_put_together(name: str) -> None:
    data, expected = DELTAS[name]
    assert calls_of(read(data)) == expected


ARGUMENTS: dict[str, tuple[Any, Any]] = {
    "null": (None, {}),
    "the word null": ("null", {}),
    "None": ("None", {}),
    "blanks": ("  \n", {}),
    "empty list": ([], {}),
    "empty text in quotes": ('""', {}),
    "trailing token": (SUM + "<|im_end|>", json.loads(SUM)),
    "trailing brace": (SUM + "}", json.loads(SUM)),
    "trailing tag": (SUM + "\n</tool_call>", json.loads(SUM)),
    "two different objects": (SUM + OTHER, json.loads(SUM)),
    "an empty object first": ("{}" + SUM, json.loads(SUM)),
    "twice": (SUM + SUM, json.loads(SUM)),
    "three times encoded": (json.dumps(json.dumps(SUM)), json.loads(SUM)),
    "fenced": (f"```json\n{SUM}\n```", json.loads(SUM)),
    "raw line end": ('{"expression": "1\n+2"}', {"expression": "1\n+2"}),
    "raw tab": ('{"expression": "1\t+2"}', {"expression": "1\t+2"}),
    "single quotes": ("{'expression': '1+2'}", json.loads(SUM)),
    "python words": ("{'expression': None, 'deep': True}", {"expression": None, "deep": True}),
    "mixed words": ("{'expression': null, 'deep': true}", {"expression": None, "deep": True}),
    "trailing comma": ('{"expression": "1+2",}', json.loads(SUM)),
    "apostrophe inside": ("{'expression': \"it's\"}", {"expression": "it's"}),
    "byte order mark": ("\ufeff" + SUM, json.loads(SUM)),
    "list of one": (f"[{SUM}]", json.loads(SUM)),
    "half an escape": ('{"expression": "a\\ud83c"}', {"expression": "a\ufffd"}),
    "a pair of escapes": ('{"expression": "\\ud83c\\udf27"}', {"expression": "🌧"}),
    "half pairs": ('{"expression": "\ud83c\udf27"}', {"expression": "🌧"}),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_understood(name: str) -> None:
    raw, expected = ARGUMENTS[name]
    reply = read(stream(call(index=0, id="a", name="calculator", arguments=raw)))
    assert reply.tool_calls[0].error is None
    assert json.loads(reply.tool_calls[0].arguments) == expected


@pytest.mark.parametrize(
    "raw",
    [
        "??? not json",
        SUM[:-5],
        '{"a": {"b": 1}',
        "expression=1+2",
        "{} {",
        "[1, 2]",
        "12",
        "{'a': f()}",
        '{"a": 1 "b"}',
    ],
)
def test_unreadable_arguments_are_an_error_and_are_echoed_as_an_object(raw: str) -> None:
    made = read(stream(call(index=0, id="a", name="calculator", arguments=raw))).tool_calls[0]
    assert made.error
    assert json.loads(made.to_openai_tool_call()["function"]["arguments"]) == {}


def test_a_call_without_a_name_carries_an_error() -> None:
    assert read(stream(call(index=0, id="a", arguments=SUM))).tool_calls[0].error


def test_an_entry_without_anything_is_no_call() -> None:
    reply = read(stream({"content": "hi"}, {"tool_calls": [{"index": 0, "function": {}}]}, finish="stop"))
    assert reply.tool_calls == ()
    assert reply.finish_reason == "stop"


def test_unknown_keys_of_a_call_are_echoed() -> None:
    delta = call(
        index=0,
        id="a",
        name="calculator",
        arguments=SUM,
        extra_content={"google": {"thought_signature": "S"}},
        signature="t",
    )
    echoed = read(stream(delta)).tool_calls[0].to_openai_tool_call()
    assert echoed["extra_content"] == {"google": {"thought_signature": "S"}}
    assert echoed["signature"] == "t"


# ---------------------------------------------------------------- finish reasons
def test_calls_in_a_cut_answer_are_never_run() -> None:
    reply = read(stream(call(index=0, id="a", name="calculator", arguments=SUM), finish="length"))
    assert reply.finish_reason == "length"
    assert [c.error is not None for c in reply.tool_calls] == [True]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("content_filter", "content_filter"),
        ("refusal", "refusal"),
        ("SAFETY", "content_filter"),
        ("sensitive", "content_filter"),
    ],
)
def test_a_blocking_finish_reason_takes_the_calls_away(raw: str, reason: str) -> None:
    reply = read(stream({"content": "No."}, call(index=0, id="a", name="calculator", arguments=SUM), finish=raw))
    assert reply.finish_reason == reason
    assert reply.tool_calls == ()
    assert reply.text == "No."


def test_a_refusal_is_the_text() -> None:
    reply = read(stream({"refusal": "I can't "}, {"refusal": "do that."}, finish="stop"))
    assert (reply.text, reply.finish_reason) == ("I can't do that.", "refusal")


def test_the_finish_reason_error_is_an_error() -> None:
    with pytest.raises(ModelTransient) as caught:
        read(said("half", finish="error"))
    assert caught.value.partial_text == "half"


def test_tool_calls_as_reason_without_calls_is_a_stop() -> None:
    assert read(said("hi", finish="tool_calls")).finish_reason == "stop"


def test_a_finish_reason_in_every_chunk_ends_nothing() -> None:
    assert read(chunk({"content": "a"}, "stop") + chunk({"content": "b"}, "stop") + DONE).text == "ab"
    reader = ReplyReader(ReadOptions())
    reader.feed(chunk({"content": "a"}, "stop"))
    assert not reader.went_on
    reader.feed(chunk({"content": "b"}, "stop"))
    assert reader.went_on


@pytest.mark.parametrize("finish", [None, ""])
def test_the_end_marker_is_enough(finish: str | None) -> None:
    assert read(chunk({"content": "hi"}) + chunk({}, finish) + DONE).text == "hi"


@pytest.mark.parametrize("cut", ["", "ConnectionResetError"])
def test_a_finish_reason_makes_an_answer_whole_however_the_stream_ends(cut: str) -> None:
    assert read(chunk({"content": "hi"}) + chunk({}, "stop"), cut).text == "hi"


@pytest.mark.parametrize(
    "data",
    [chunk({"content": "hi"}), chunk(call(index=0, id="a", name="calculator", arguments=SUM)), b"", b": ping\n\n"],
)
def test_an_answer_without_an_end_is_an_error(data: bytes) -> None:
    with pytest.raises(ModelTransient):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        event({"choices": []}) + DONE,
        json.dumps({"id": "x", "choices": []}).encode(),
        json.dumps({"id": "x", "choices": None}).encode(),
        DONE,
    ],
)
def test_no_choice_at_all_is_an_error_not_a_blank_answer(data: bytes) -> None:
    with pytest.raises(ModelTransient):
        read(data)


def test_a_blank_answer_is_no_error() -> None:
    assert read(said("")).text == ""


# ---------------------------------------------------------------- usage
def test_running_totals_of_usage_count_once() -> None:
    usages = [{"prompt_tokens": 10, "completion_tokens": n} for n in (1, 2, 3)]
    data = b"".join(chunk({"content": "a"}, usage=u) for u in usages) + chunk({}, "stop") + DONE
    assert read(data).usage.to_json()["total_tokens"] == 13


@pytest.mark.parametrize("where", ["choice", "x_groq", "names", "zero"])
def test_usage_in_other_places(where: str) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    last: dict[str, bytes] = {
        "choice": event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}),
        "x_groq": chunk({}, "stop", x_groq={"usage": usage}),
        "names": chunk({}, "stop", usage={"input_tokens": 10, "output_tokens": 3}),
        "zero": chunk({}, "stop", usage=usage)
        + event({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}),
    }
    reply = read(chunk({"content": "hi"}) + last[where] + DONE)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (10, 3)


@pytest.mark.parametrize("count", ["1e30", "1e400", "NaN", "-1e400", "-3", "true", "1" + "0" * 400])
def test_a_count_that_cannot_be_is_not_taken(count: str) -> None:
    data = chunk({"content": "hi"}) + chunk({}, "stop", usage={"prompt_tokens": 0, "completion_tokens": 3}) + DONE
    reply = read(data.replace(b'"prompt_tokens": 0', b'"prompt_tokens": ' + count.encode()))
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (0, 3)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "bad \ud800 half \x00"},
        {"message": "bad", "code": "²"},
        {"message": "bad", "code": "9" * 5000},
        {"message": "bad", "details": 5},
        {"message": "bad", "details": "text"},
    ],
)
def test_a_complaint_in_odd_values_is_one_that_can_be_stored(error: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="bad") as told_to:
        read(event({"error": error}))
    assert "\x00" not in str(told_to.value)
    str(told_to.value).encode()


# ---------------------------------------------------------------- framing
PLAIN = said("Hello, ", "world 🌧")
FRAMINGS: dict[str, bytes] = {
    "crlf": PLAIN.replace(b"\n", b"\r\n"),
    "cr": PLAIN.replace(b"\n", b"\r"),
    "no space": PLAIN.replace(b"data: ", b"data:"),
    "one line end only": PLAIN.replace(b"\n\n", b"\n"),
    "many blank lines": PLAIN.replace(b"\n\n", b"\n\n\n\n"),
    "no line end at the end": PLAIN.rstrip(b"\n"),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "leading blank lines": b"\n\n" + PLAIN,
    "comments": b": hi\n\n" + PLAIN.replace(b"data:", b": ping\ndata:"),
    "other fields": PLAIN.replace(b"data: ", b"event: message\nid: 7\nretry: 100\ndata: "),
    "data data": PLAIN.replace(b"data: ", b"data: data: "),
    "end marker without field": PLAIN.replace(b"data: [DONE]", b"[DONE]"),
    "end marker with blanks": PLAIN.replace(b"[DONE]", b" [DONE]  "),
    "json lines": PLAIN.replace(b"data: {", b"{").replace(b"\n\n", b"\n"),
    "garbage lines": PLAIN.replace(b"data: {", b"nonsense\ndata: {", 1),
    "an event over two lines": PLAIN.replace(b'"choices":', b'\ndata: "choices":'),
    "something that is no object": b"data: 1\n\ndata: null\n\ndata: \"x\"\n\n" + PLAIN,
    "event over a list": PLAIN.replace(b"data: {", b"data: [{").replace(b"}\n\n", b"}]\n\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMINGS)
def test_framing(name: str) -> None:
    assert read(FRAMINGS[name]).text == "Hello, world 🌧"
    assert read([FRAMINGS[name][i : i + 1] for i in range(len(FRAMINGS[name]))]).text == "Hello, world 🌧"


def test_separators_inside_strings_split_nothing() -> None:
    assert read(said("a\u2028b\u2029c\x85d\x0be")).text == "a\u2028b\u2029c\x85d\x0be"


def test_broken_utf8_is_replaced() -> None:
    assert read(PLAIN.replace("🌧".encode(), b"\xff")).text == "Hello, world \ufffd"


def test_raw_control_characters_in_an_event() -> None:
    assert read(PLAIN.replace(b"Hello, ", b"Hello,\t")).text == "Hello,\tworld 🌧"


def test_a_character_in_two_halves() -> None:
    halves = b"".join(
        b'data: {"choices": [{"index": 0, "delta": {"content": "%b"}}]}\n\n' % half
        for half in (b"a\\ud83c", b"\\udf27b")
    )
    reply, shown = told(halves + chunk({}, "stop") + DONE)
    assert reply.text == "a🌧b"
    assert "".join(d.text for d in shown) == "a🌧b"


def test_a_lone_half_is_replaced() -> None:
    assert (
        read(
            b'data: {"choices": [{"index": 0, "delta": {"content": "a\\ud83c"}, "finish_reason": "stop"}]}\n\n' + DONE
        ).text
        == "a\ufffd"
    )


@pytest.mark.parametrize("indent", [None, 2])
def test_one_json_document(indent: int | None) -> None:
    message = {
        "role": "assistant",
        "content": "hi",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "calculator", "arguments": SUM}}],
    }
    body = json.dumps(
        {"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": None}]}, indent=indent
    ).encode()
    reply = read([body[:20], body[20:]])
    assert reply.text == "hi"
    assert calls_of(reply) == ONE


def test_one_json_document_that_is_cut_is_an_error() -> None:
    with pytest.raises(ModelTransient):
        read(b'{"id": "x", "choices": [{"index": 0, "message": {"content": "hi')


def test_a_web_page_is_an_error_that_does_not_show_it() -> None:
    with pytest.raises(ModelTransient) as caught:
        read(b"<!DOCTYPE html><html><body>Welcome</body></html>")
    assert "<" not in caught.value.message


# ---------------------------------------------------------------- errors in a 200
ERRORS: dict[str, tuple[Any, type[ModelError]]] = {
    "text": ({"error": "overloaded"}, ModelTransient),
    "code 429": ({"error": {"message": "slow down", "code": 429}}, ModelRateLimited),
    "code as text": ({"error": {"message": "bad gateway", "code": "502"}}, ModelTransient),
    "quota": ({"error": {"message": "no money", "code": "insufficient_quota"}}, ModelQuotaExceeded),
    "in the choice": ({"choices": [{"error": {"message": "upstream", "code": 502}, "finish_reason": "error"}]}, ModelTransient),
    "object error": ({"object": "error", "message": "engine is dead", "code": 500}, ModelTransient),
    "type error": ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, ModelTransient),
    "code and message": ({"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded"}, ModelRateLimited),
    "errors list": ({"success": False, "errors": [{"code": 500, "message": "AiError"}]}, ModelTransient),
    "base_resp": ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, ModelQuotaExceeded),
    "filter": ({"error": {"message": "Input data may contain inappropriate content.", "code": "data_inspection_failed"}}, ContentFiltered),
    "error in a list": ([{"error": {"code": 503, "message": "The model is overloaded."}}], ModelTransient),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("form", ["event", "document", "late"])
def test_errors_inside_a_200(name: str, form: str) -> None:
    value, kind = ERRORS[name]
    forms = {
        "event": event(value),
        "document": json.dumps(value).encode(),
        "late": chunk({"content": "so far"}) + event(value),
    }
    with pytest.raises(kind) as caught:
        read(forms[form])
    assert "{" not in caught.value.message
    assert caught.value.partial_text == ("so far" if form == "late" else "")


@pytest.mark.parametrize(
    "data",
    [
        b"the engine died",
        b'{"message": "the engine died", "code": 500}',
        b'{"error": {"message": "the engine died"}}',
        b'"the engine died"',
    ],
)
def test_an_event_named_error(data: bytes) -> None:
    with pytest.raises(ModelTransient, match="the engine died"):
        read(chunk({"content": "hi"}) + b"event: error\ndata: " + data + b"\n\n" + DONE)


def test_null_error_fields_are_no_error() -> None:
    assert (
        read(chunk({"content": "hi"}, error=None, errors=[], message="x") + chunk({}, "stop", error={}) + DONE).text
        == "hi"
    )


# ---------------------------------------------------------------- content and reasoning
def test_content_as_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "a"},
        {"text": "b"},
        "c",
        {"type": "image_url", "image_url": {}},
    ]
    reply = read(stream({"content": parts}, {"content": {"type": "text", "text": "d"}}, finish="stop"))
    assert (reply.text, reply.reasoning) == ("abcd", "hm")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking", "reasoning_text", "thought"])
def test_reasoning_fields(field: str) -> None:
    reply = read(stream({field: "a "}, {field: "b", "content": ""}, {"content": "c"}, finish="stop"))
    assert (reply.reasoning, reply.text) == ("a b", "c")


def test_two_reasoning_fields_say_it_once_and_both_are_echoed() -> None:
    reply = read(stream({"reasoning": "hm", "reasoning_content": "hm"}, {"content": "c"}, finish="stop"))
    assert reply.reasoning == "hm"
    assert reply.reasoning_fields == {"reasoning": "hm", "reasoning_content": "hm"}


def test_reasoning_details_are_joined_and_keep_their_signature() -> None:
    details = [
        [{"type": "reasoning.text", "index": 0, "text": "a"}],
        [{"type": "reasoning.text", "index": 0, "text": "b"}],
        [{"type": "reasoning.text", "index": 0, "signature": "S"}],
        [{"type": "reasoning.encrypted", "index": 1, "data": "E"}],
    ]
    reply = read(stream(*({"reasoning_details": d} for d in details), {"content": "c"}, finish="stop"))
    assert reply.reasoning == "ab"
    assert reply.reasoning_fields == {"reasoning_details": [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "S"},
        {"type": "reasoning.encrypted", "index": 1, "data": "E"},
    ]}  # fmt: skip


def test_reasoning_that_comes_again_with_the_whole_message_is_shown_once() -> None:
    final = {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "ab", "reasoning_content": "hm"}}]
    }
    reply, shown = told(chunk({"reasoning_content": "hm"}) + chunk({"content": "ab"}) + event(final) + DONE)
    assert (reply.reasoning, reply.text) == ("hm", "ab")
    assert [d.text for d in shown if d.kind == "reasoning"] == ["hm"]


THOUGHTS: dict[str, tuple[str, str, str]] = {
    "plain": ("<think>x</think>y", "x", "y"),
    "with lines": ("<think>\nx\n</think>\n\ny", "\nx\n", "y"),
    "after blanks": ("\n <think>x</think>y", "x", "\n y"),
    "empty": ("<think>\n\n</think>\n\ny", "\n\n", "y"),
    "twice": ("<think>a</think>b\n<think>c</think>d", "ac", "b\nd"),
    "other tag": ("<thinking>x</thinking>y", "x", "y"),
    "brackets": ("[THINK]x[/THINK]y", "x", "y"),
    "never closed": ("<think>x", "x", ""),
    "in the middle of a line": ("Use the <think> tag.", "", "Use the <think> tag."),
    "in code": ("```\n<think>x</think>\n```", "", "```\n<think>x</think>\n```"),
    "in quotes": ("The tag `</think>` closes.", "", "The tag `</think>` closes."),
    "only the end": ("x y</think>\n\nz", "x y", "z"),
    "like a tag": ("a < b and c <thin> d", "", "a < b and c <thin> d"),
}


@pytest.mark.parametrize("name", THOUGHTS)
def test_thoughts_in_the_text(name: str) -> None:
    text, reasoning, answer = THOUGHTS[name]
    for data in (said(text), said(*text)):
        reply, shown = told(data)
        assert (reply.reasoning, reply.text) == (reasoning, answer)
        visible = "".join(d.text for d in shown if d.kind == "text")
        assert visible == answer or any(d.code == "text_was_reasoning" for d in shown)


def test_a_model_known_to_begin_in_thought() -> None:
    reply, shown = told(said("a long thought ", "of it</think>", "answer"), in_thought=True)
    assert (reply.reasoning, reply.text) == ("a long thought of it", "answer")
    assert "thought" not in "".join(d.text for d in shown if d.kind == "text")


def test_a_model_known_to_begin_in_thought_that_does_not() -> None:
    reply, shown = told(said("just ", "the answer"), in_thought=True)
    assert reply.text == "just the answer"
    assert "".join(d.text for d in shown if d.kind == "text") == "just the answer"
    assert (
        told(stream({"content": "thought"}, call(index=0, id="a", name="calculator", arguments=SUM)), in_thought=True)[
            0
        ].text
        == ""
    )
