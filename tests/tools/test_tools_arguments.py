"""Arguments: read tolerantly or strictly, cast where there is one reading, every problem told at once."""

import json
from typing import Any

import pytest

from backend.tools import ToolExecutor, ToolParam, ToolRegistry, tool
from backend.tools.factory import collecting

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "n": {"type": "integer", "minimum": 1},
        "x": {"type": "number"},
        "flag": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["red", "green"]},
        "meta": {
            "type": "object",
            "properties": {"tag": {"type": "string"}, "n": {"type": "integer"}},
            "required": ["tag"],
        },
        "flags": {"type": "array", "items": {"type": "boolean"}},
        "limit": {"type": "integer", "default": 10},
    },
}


@pytest.fixture
def prepare(executor: ToolExecutor, tools: Any) -> Any:
    """Runs a tool with SCHEMA on raw arguments; returns what the tool got, or the failed result."""
    tools.add("probe", lambda arguments: {"got": arguments}, parameters=SCHEMA, read_only=True, cacheable=False)
    tools.add("writer", lambda arguments: {"got": arguments}, parameters=SCHEMA)

    def run(raw: Any, name: str = "probe") -> Any:
        call = executor.process_tool_calls([{"id": "a", "function": {"name": name, "arguments": raw}}])[0]
        result = json.loads(call["result"])
        return result["data"]["got"] if result["success"] else result

    return run


def test_nb_arg_01_a_number_in_a_string_becomes_a_number(prepare: Any) -> None:
    assert prepare('{"n": "42"}')["n"] == 42
    assert prepare('{"n": "42.0"}')["n"] == 42
    assert prepare('{"x": " -1.5e3 "}')["x"] == -1500.0
    assert prepare('{"n": "042x"}')["code"] == "invalid_arguments"
    assert prepare('{"n": "4.5"}')["code"] == "invalid_arguments"


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("1", True), ("YES", True), ("false", False), ("0", False), ("No", False)]
)
def test_nb_arg_02_booleans_in_strings_are_cast(prepare: Any, text: str, value: bool) -> None:
    assert prepare(json.dumps({"flag": text}))["flag"] is value


def test_nb_arg_02_maybe_is_refused_and_not_guessed(prepare: Any) -> None:
    assert "flag" in prepare('{"flag": "maybe"}')["error"]


@pytest.mark.parametrize("field", ["n", "x"])
def test_nb_arg_03_true_is_not_a_number(prepare: Any, field: str) -> None:
    error = prepare(json.dumps({field: True}))["error"]
    assert field in error
    assert "integer" in error or "number" in error


@pytest.mark.parametrize("raw", ['{"x": NaN}', '{"x": Infinity}', '{"x": "-Infinity"}', '{"x": 1e400}', '{"x": "NaN"}'])
def test_nb_arg_04_numbers_must_be_finite(prepare: Any, raw: str) -> None:
    assert prepare(raw)["code"] == "invalid_arguments"


def test_nb_arg_04_a_number_that_is_not_finite_is_told_as_such(prepare: Any) -> None:
    error = prepare('{"x": NaN}')["error"]
    assert "must be a finite number" in error or "NaN is not JSON" in error


def test_nb_arg_05_all_problems_come_at_once_with_their_paths(executor: ToolExecutor, tools: Any) -> None:
    tools.add("strict", parameters={**SCHEMA, "required": ["x"]})
    raw = '{"n": 0, "path": "", "kind": "blue", "meta": {}, "flags": ["maybe"], "colour": 1}'
    call = executor.process_tool_calls([{"id": "a", "function": {"name": "strict", "arguments": raw}}])[0]
    error = json.loads(call["result"])["error"]
    for part in (
        "x: required",
        "n: ",
        "path: ",
        "kind: ",
        "meta.tag: required",
        "flags[0]: ",
        "colour: unknown argument",
    ):
        assert part in error
    assert "red, green" in error
    assert tools.log == []


def test_nb_arg_06_an_unknown_tool_is_answered_with_the_names(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("alpha")
    tools.add("beta")
    call = executor.process_tool_calls([ask("nope")])[0]
    assert json.loads(call["result"])["code"] == "unknown_tool"
    assert "alpha, beta" in call["result"]
    assert tools.log == []


@pytest.mark.parametrize("name", ["readFile", "ReadFile", "read-file", "file_read", "read_fil", "functions.read_file"])
def test_nb_arg_07_almost_the_right_name_is_suggested_and_not_executed(
    executor: ToolExecutor, tools: Any, ask: Any, name: str
) -> None:
    tools.add("read_file")
    tools.add("weather")
    call = executor.process_tool_calls([ask(name)])[0]
    assert "Did you mean 'read_file'?" in call["result"]
    assert call["function"]["name"] == name
    assert tools.log == []


def test_nb_arg_08_arguments_as_json_text_are_parsed(prepare: Any) -> None:
    assert prepare('{"path":"a"}')["path"] == "a"
    assert prepare('"{\\"path\\":\\"a\\"}"')["path"] == "a"
    assert prepare({"path": "a"})["path"] == "a"


@pytest.mark.parametrize("raw", ["[1]", "7", '"text"', "false", "half {", '{"path": "a'])
def test_nb_arg_09_arguments_that_are_no_object_are_refused_with_a_hint(prepare: Any, raw: str) -> None:
    refused = prepare(raw, "writer")
    assert refused["code"] == "invalid_arguments"
    assert "JSON" in refused["error"] + refused["suggestion"]


@pytest.mark.parametrize("raw", [None, "", "  ", "{}", "null"])
def test_nb_arg_10_no_arguments_run_with_an_empty_object(prepare: Any, raw: Any) -> None:
    assert prepare(raw) == {"limit": 10}


def test_nb_arg_11_members_are_cast_at_every_depth(prepare: Any) -> None:
    got = prepare('{"meta": {"tag": 5, "n": "7"}, "flags": ["yes", "0", true]}')
    assert got["meta"] == {"tag": "5", "n": 7}
    assert got["flags"] == [True, False, True]
    assert prepare('{"meta": "{\\"tag\\": \\"t\\"}", "flags": "[true]"}')["meta"] == {"tag": "t"}


def test_nb_arg_12_wrapped_arguments_are_unwrapped_once(prepare: Any) -> None:
    assert prepare('{"arguments": "{\\"path\\":\\"a\\"}"}')["path"] == "a"
    assert prepare('{"arguments": {"path": "a"}}')["path"] == "a"
    assert prepare('{"arguments": {"arguments": {"path": "a"}}}')["code"] == "invalid_arguments"


def test_nb_tmo_02_an_argument_the_tool_does_not_have_is_refused(prepare: Any) -> None:
    assert "timeout: unknown argument" in prepare('{"path": "a", "timeout": 100000}')["error"]


def test_broken_arguments_are_repaired_for_readers_and_never_for_writers(prepare: Any) -> None:
    for raw in ("{'path': 'a', 'flag': True}", '```json\n{"path": "a"}\n```', '{"path": "a",}', '{"path": "a"'):
        assert prepare(raw)["path"] == "a"
        assert prepare(raw, "writer")["code"] == "invalid_arguments"


@pytest.mark.parametrize(
    "raw",
    [
        "half {",
        "[1]",
        "",
        None,
        "\ud800",
        '{"path": "\ud800"}',
        "{'path': 'a'}",
        {"path": "\ud800"},
        "[" * 5000,
        "\x00",
        7,
    ],
)
@pytest.mark.parametrize("name", ["probe", "writer", "no\ud800pe"])
def test_what_is_stored_of_a_call_is_always_json_and_utf8(
    executor: ToolExecutor, prepare: Any, raw: Any, name: str
) -> None:
    call = executor.process_tool_calls([{"id": "i\udfff", "function": {"name": name, "arguments": raw}}])[0]
    json.dumps(call, ensure_ascii=False).encode()
    json.loads(call["result"])
    assert isinstance(json.loads(call["function"]["arguments"]), dict | str | list)


def test_repaired_arguments_are_stored_as_they_were_understood(executor: ToolExecutor, prepare: Any) -> None:
    call = executor.process_tool_calls([{"id": "a", "function": {"name": "probe", "arguments": "{'path': 'a'}"}}])[0]
    assert json.loads(call["function"]["arguments"]) == {"path": "a"}


def test_defaults_are_filled_in_and_lists_are_not_shared(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    def grow(arguments: dict[str, Any]) -> int:
        arguments["items"].append(1)
        return len(arguments["items"])

    tools.add("grow", grow, parameters={"type": "object", "properties": {"items": {"type": "array", "default": []}}})
    results = [json.loads(executor.process_tool_calls([ask("grow")])[0]["result"])["data"] for _ in range(2)]
    assert results == [1, 1]


def test_a_tool_that_declares_no_arguments_takes_any(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("open", lambda arguments: arguments["anything"], parameters=None)
    assert json.loads(executor.process_tool_calls([ask("open", anything=3)])[0]["result"])["data"] == 3


def test_injected_values_come_from_the_context_and_never_from_the_model(
    executor: ToolExecutor, tools: Any, ask: Any, registry: ToolRegistry
) -> None:
    tools.add(
        "peek", lambda a: a, needs=("project_id",),
        parameters={"type": "object", "properties": {"q": {"type": "string"}, "project_id": {"type": "string"}}, "required": ["q", "project_id"]},
    )  # fmt: skip
    call = executor.process_tool_calls([ask("peek", q="a", project_id="stolen")], {"project_id": "mine"})[0]
    result = json.loads(call["result"])
    assert result["data"] == {"q": "a", "project_id": "mine"}
    assert "project_id" in result["notice"][0]
    shown = registry.list_all()[0]["function"]["parameters"]
    assert "project_id" not in json.dumps(shown)


def test_needs_may_rename_and_call_id_is_the_call_s_own(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("who", lambda a: a, needs={"model": "_model", "call_id": "me"})
    call = executor.process_tool_calls([ask("who", "c1")], {"model": "m", "call_id": "other"})[0]
    assert json.loads(call["result"])["data"] == {"_model": "m", "me": "c1"}


def test_tool_params_make_a_schema() -> None:
    with collecting() as found:

        @tool("paint", "Paints.", [ToolParam("colour", "string", "Which", required=True, enum=["red"])])
        def paint(arguments: dict[str, Any]) -> dict[str, Any]:
            return arguments

    definition = found[0]
    assert definition.to_openai_schema()["function"]["parameters"]["required"] == ["colour"]
    assert definition.to_anthropic_schema()["input_schema"]["properties"]["colour"]["enum"] == ["red"]
    assert definition.to_openai_format() == definition.to_openai_schema()
    assert not definition.read_only
    assert not definition.cacheable


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "naïve", "a\n"])
def test_names_that_models_do_not_take_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="tool name"), collecting():
        tool(name, "d")(lambda arguments: None)


def test_an_unknown_option_of_a_tool_is_an_error() -> None:
    with pytest.raises(TypeError, match="readonly"), collecting():
        tool("a", "d", readonly=True)(lambda arguments: None)  # type: ignore[call-arg]


def test_a_tool_with_a_wrong_schema_disables_only_itself(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    tools.add("bad", parameters={"type": "object", "properties": {"a": {"type": "strnig"}}})
    tools.add("good")
    calls = executor.process_tool_calls_parallel([ask("bad", a=1), ask("good")])
    assert [json.loads(call["result"])["success"] for call in calls] == [False, True]
    assert json.loads(calls[0]["result"])["code"] == "tool_unavailable"
