"""Calls that models write as text: which are read as calls, and which stay text."""

import json

import pytest
from llm_streams import OTHER, SUM, TOOLS, call, calls_of, chunk, read, said, stream, told

from backend.errors import ModelTransient
from backend.llm.wire import ReadOptions, ReplyReader

ONE = [("calculator", SUM)]
TWO = [("calculator", SUM), ("calculator", OTHER)]


TEXT_CALLS: dict[str, str] = {
    "hermes": f'Let me see.\n<tool_call>\n{{"name": "calculator", "arguments": {SUM}}}\n</tool_call>',
    "hermes, arguments as text": f'<tool_call>{{"name": "calculator", "arguments": {json.dumps(SUM)}}}</tool_call>',
    "hermes, never closed": f'<tool_call>\n{{"name": "calculator", "arguments": {SUM}}}',
    "hermes, parameters": f'<tool_call>{{"name": "calculator", "parameters": {SUM}}}</tool_call>',
    "hermes, function object": f'<tool_call>{{"type": "function", "function": {{"name": "calculator", "arguments": {SUM}}}}}</tool_call>',
    "hermes, fenced": f'<tool_call>\n```json\n{{"name": "calculator", "arguments": {SUM}}}\n```\n</tool_call>',
    "hermes, token": f'<|tool_call|>[{{"name": "calculator", "arguments": {SUM}}}]',
    "list in tags": f'<tool_calls>[{{"name": "calculator", "arguments": {SUM}}}]</tool_calls>',
    "functioncall": f'<functioncall> {{"name": "calculator", "arguments": {SUM}}} </functioncall>',
    "mistral": f'[TOOL_CALLS] [{{"name": "calculator", "arguments": {SUM}}}]',
    "mistral, new": f"[TOOL_CALLS]calculator[ARGS]{SUM}",
    "mistral, id": f"[TOOL_CALLS]calculator[CALL_ID]abc123XYZ[ARGS]{SUM}",
    "llama": f'<|python_tag|>{{"name": "calculator", "parameters": {SUM}}}<|eom_id|>',
    "llama, python": '<|python_tag|>calculator.call(expression="1+2")',
    "llama, function tag": f"<function=calculator>{SUM}</function>",
    "bare": f'{{"name": "calculator", "parameters": {SUM}}}',
    "bare, spaced": f'\n  {{\n "name": "calculator", "arguments": {SUM}}}\n',
    "bare, type first": f'{{"type": "function", "name": "calculator", "parameters": {SUM}}}',
    "bare list": f'[{{"name": "calculator", "arguments": {SUM}}}]',
    "bare, fenced": f'```json\n{{"name": "calculator", "arguments": {SUM}}}\n```',
    "bare python": '[calculator(expression="1+2")]',
    "tool_code": "```tool_code\nprint(default_api.calculator(expression='1+2'))\n```",
    "qwen coder": "<tool_call>\n<function=calculator>\n<parameter=expression>\n1+2\n</parameter>\n</function>\n</tool_call>",
    "qwen coder, bare": "<function=calculator>\n<parameter=expression>1+2</parameter>\n</function>",
    "invoke": '<function_calls>\n<invoke name="calculator">\n<parameter name="expression">1+2</parameter>\n</invoke>\n</function_calls>',
    "invoke, minimax": '<minimax:tool_call>\n<invoke name="calculator">\n<parameter name="expression">1+2</parameter>\n</invoke>\n</minimax:tool_call>',
    "invoke, dsml": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="calculator">\n<｜DSML｜parameter name="expression" string="true">1+2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "glm": "<tool_call>calculator\n<arg_key>expression</arg_key>\n<arg_value>1+2</arg_value>\n</tool_call>",
    "deepseek": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>calculator\n```json\n{SUM}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek, new": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>calculator<｜tool▁sep｜>{SUM}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.calculator:0<|tool_call_argument_begin|>{SUM}<|tool_call_end|><|tool_calls_section_end|>",
    "harmony": f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.calculator <|constrain|>json<|message|>{SUM}<|call|>",
    "functools": f'functools[{{"name": "calculator", "arguments": {SUM}}}]',
    "command": f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "calculator", "parameters": {SUM}}}]<|END_ACTION|>',
    "internlm": f'<|action_start|><|plugin|>{{"name": "calculator", "parameters": {SUM}}}<|action_end|>',
    "lm studio": f'[TOOL_REQUEST]{{"name": "calculator", "arguments": {SUM}}}[END_TOOL_REQUEST]',
    "qwen, old": f"✿FUNCTION✿: calculator\n✿ARGS✿: {SUM}\n✿RESULT✿",
    "gemma": '<|tool_call>call:calculator{expression:<|"|>1+2<|"|>}<tool_call|>',
}  # fmt: skip


@pytest.mark.parametrize("name", TEXT_CALLS)
def test_calls_written_as_text(name: str) -> None:
    text = TEXT_CALLS[name]
    for data in (said(text), said(*text)):
        reply, shown = told(data)
        assert calls_of(reply) == ONE
        assert reply.text.strip() in ("", "Let me see.")
        assert "".join(d.text for d in shown if d.kind == "text") == reply.text


def test_two_calls_written_as_text() -> None:
    one = f'<tool_call>\n{{"name": "calculator", "arguments": {SUM}}}\n</tool_call>\n'
    assert calls_of(read(said(one + one.replace("1+2", "3*4")))) == TWO
    glued = f'{{"name": "calculator", "parameters": {SUM}}}; {{"name": "calculator", "parameters": {OTHER}}}'
    assert calls_of(read(said(glued))) == TWO


NO_CALLS = [
    "Write <tool_call> and then the object.",
    "Hermes models write `<tool_call>{\"name\": \"calculator\", \"arguments\": {}}</tool_call>`.",
    "Like this:\n```\n<tool_call>\n{\"name\": \"calculator\", \"arguments\": {}}\n</tool_call>\n```",
    "{\"name\": \"Ada\", \"age\": 36}",
    "{\"name\": \"calculator\", \"price\": 12} is in the list.",
    "[1, 2, 3]",
    "```json\n{\"name\": \"Ada\"}\n```",
    "calculator is a tool.",
    "calculator(expression='1+2')",
    "```python\ncalculator(expression='1+2')\n```",
    "calculator(1 + 2) is what I would call.",
    "a <b> c [d] {e}",
    "functools[0] is wrong",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_CALLS)
def test_text_that_speaks_of_calls_stays_text(text: str) -> None:
    for data in (said(text), said(*text)):
        reply, shown = told(data)
        assert reply.tool_calls == ()
        assert reply.text == text
        assert "".join(d.text for d in shown) == text


def test_an_object_that_names_no_tool_streams_on() -> None:
    reader = ReplyReader(ReadOptions(TOOLS))
    shown = reader.feed(chunk({"content": '{"name": "Ada", '}))
    assert [d.text for d in shown] == ['{"name": "Ada", ']


def test_an_unknown_tool_in_call_markup_is_still_a_call() -> None:
    reply = read(said('<tool_call>{"name": "no_such_tool", "arguments": {}}</tool_call>'))
    assert [(c.name, c.error) for c in reply.tool_calls] == [("no_such_tool", None)]


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_call_written_as_text_that_is_cut_is_never_run(finish: str) -> None:
    reply = read(said('I will.\n<tool_call>{"name": "calculator", "arguments": {"expr', finish=finish))
    assert [c.error is not None for c in reply.tool_calls] == [True]
    assert "<tool_call>" not in reply.text


def test_structured_calls_win_over_markup() -> None:
    markup = f'Hm. <tool_call>{{"name": "calculator", "arguments": {OTHER}}}</tool_call>'
    reply = read(stream({"content": markup}, call(index=0, id="a", name="calculator", arguments=SUM)))
    assert calls_of(reply) == ONE
    assert reply.text.strip() == "Hm."


@pytest.mark.parametrize(
    "residue",
    [
        "</tool_call>",
        "<｜DSML｜function_calls",
        "<|im_end|>",
        "<|tool_calls_section_begin|>",
        "<tool_call>",
        "[TOOL_CALLS]",
    ],
)
def test_residue_beside_structured_calls_is_not_shown(residue: str) -> None:
    reply, shown = told(
        stream(
            {"content": "Computing.\n"}, {"content": residue}, call(index=0, id="a", name="calculator", arguments=SUM)
        )
    )
    assert reply.text.strip() == "Computing."
    assert residue not in "".join(d.text for d in shown)


def test_without_any_tools_markup_is_plain_text() -> None:
    text = TEXT_CALLS["hermes"]
    assert read(said(text), tool_names=()).text == text


def test_harmony_channels() -> None:
    reply = read(
        said("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>")
    )
    assert (reply.reasoning, reply.text) == ("hm", "Hello")


def test_a_fault_keeps_the_text_that_was_still_held_back() -> None:
    with pytest.raises(ModelTransient) as caught:
        read(chunk({"content": "the result <"}))
    assert caught.value.partial_text == "the result <"


LONG = 50_000
ENDLESS = {
    "digits": "1" * LONG + "x",
    "blanks in arguments": None,
    "openers": "<function=calculator>" * 5_000,
    "parameters": "<function=calculator>" + "<parameter=expression>" * 5_000,
    "glm, cut": "<tool_call>calculator\n" + "<arg_key>a</arg_key><arg_value>b</arg_value>\n" * 60,
    "deepseek": "<｜tool▁calls▁begin｜>" + "<｜tool▁call▁begin｜>" * 5_000,
    "kimi": "<|tool_call_begin|>functions.calculator" * 5_000,
    "channels": "<|channel|>final" * 5_000,
    "think": "<think>" * 5_000,
    "ticks": "`" * LONG,
    "brackets": "[" * LONG,
    "braces": "{" * LONG,
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", ENDLESS)
def test_no_text_takes_for_ever_to_read(name: str) -> None:
    text = ENDLESS[name]
    if text is None:
        reply = read(stream(call(index=0, id="a", name="calculator", arguments='{"x": ' + " " * LONG + "y")))
        assert reply.tool_calls[0].error
    else:
        read(said(text))
