"""Arguments as models really send them, from the reply to the tool and back (NB-ARG), and the limits that a model cannot move."""

import json
import threading

import pytest
from agent_kit import asks, call, says


def schema(**properties):
    required = [name for name, declared in properties.items() if declared.get("required") is True]
    declared = {n: {k: v for k, v in d.items() if v is not True} for n, d in properties.items()}
    return {"type": "object", "properties": declared, "required": required}


def got(bench, arguments, **properties):
    """What the tool was given for these arguments, or the error that the model was told."""
    bench.executed.clear()
    bench.registry.replace_all([])
    bench.tool("t", parameters=schema(**properties))
    bench.run(asks(call("t", arguments)), says("done"), run_id=f"run{id(arguments)}")
    if bench.executed:
        return bench.executed[0][1]
    result = json.loads(list(bench.store.calls.values())[-1].call["result"])
    assert result["success"] is False
    assert result["code"] == "invalid_arguments"
    return result["error"]


def test_nb_arg_01_a_number_in_a_string_becomes_a_number(bench):
    assert got(bench, {"n": "42"}, n={"type": "integer"}) == {"n": 42}


def test_nb_arg_02_booleans_in_strings_are_read_and_never_guessed(bench):
    for text, value in {"true": True, "1": True, "YES": True, "false": False, "0": False, "No": False}.items():
        assert got(bench, {"b": text}, b={"type": "boolean"}) == {"b": value}
    assert "b" in got(bench, {"b": "maybe"}, b={"type": "boolean"})


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_nb_arg_03_true_is_not_a_number(bench, kind):
    error = got(bench, {"size": True}, size={"type": kind})
    assert "size" in error
    assert kind in error


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"-Infinity"', '"NaN"'])
def test_nb_arg_04_what_is_not_finite_is_refused(bench, value):
    assert isinstance(got(bench, '{"n": %s}' % value, n={"type": "number"}), str)  # noqa: UP031


def test_nb_arg_05_all_problems_come_in_one_message_each_with_its_path(bench):
    nested = {"type": "object", "properties": {"tag": {"type": "string", "minLength": 2}}, "required": ["tag"]}
    error = got(
        bench,
        {"size": 0, "mode": "odd", "meta": {}, "flags": ["x"]},
        name={"type": "string", "required": True},
        size={"type": "integer", "minimum": 1},
        mode={"type": "string", "enum": ["a", "b"]},
        meta=nested,
        flags={"type": "array", "items": {"type": "integer"}},
    )
    for path in ("name", "size", "mode", "meta.tag", "flags[0]"):
        assert path in error


def test_nb_arg_06_an_unknown_tool_is_answered_with_the_names_there_are(bench):
    bench.tool("first")
    bench.tool("second")
    assert bench.run(asks(call("nope")), says("done")).status == "completed"
    result = bench.store.calls["run", "call_1"].call["result"]
    assert "first" in result
    assert "second" in result
    assert bench.executed == []


def test_nb_arg_07_almost_the_right_name_is_suggested_and_not_executed(bench):
    bench.tool("read_file")
    bench.run(asks(call("readFile")), says("done"))
    assert "read_file" in bench.store.calls["run", "call_1"].call["result"]
    assert bench.executed == []
    assert bench.sent()[1]["tool_calls"][0]["function"]["name"] == "readFile"


def test_nb_arg_08_arguments_as_json_text(bench):
    assert got(bench, '{"path":"a"}', path={"type": "string"}) == {"path": "a"}


@pytest.mark.parametrize("text", ["[1]", "7", '"text"', "false"])
def test_nb_arg_09_arguments_that_are_no_object_are_refused_with_a_hint(bench, text):
    error = got(bench, text, path={"type": "string"})
    assert "object" in error


@pytest.mark.parametrize("text", ["null", "", "  "])
def test_nb_arg_10_no_arguments_are_an_empty_object(bench, text):
    assert got(bench, text, path={"type": "string"}) == {}


def test_nb_arg_11_casts_reach_every_depth(bench):
    inner = {
        "type": "object",
        "properties": {"on": {"type": "boolean"}, "sizes": {"type": "array", "items": {"type": "integer"}}},
    }
    assert got(bench, {"o": {"on": "true", "sizes": ["1", 2]}}, o=inner) == {"o": {"on": True, "sizes": [1, 2]}}


def test_nb_arg_12_wrapped_arguments_are_unwrapped_once(bench):
    assert got(bench, {"arguments": '{"path": "a"}'}, path={"type": "string", "required": True}) == {"path": "a"}


def test_nb_tmo_02_a_model_cannot_ask_for_more_time(bench):
    release = threading.Event()
    bench.tool("slow", lambda _: release.wait(20), timeout=0.2)
    try:
        bench.run(asks(call("slow", {"timeout": 100_000})), says("done"))
    finally:
        release.set()
    record = bench.store.calls["run", "call_1"].call
    assert record["status"] in ("timeout", "error")
    assert record["execution_time"] < 10


def test_values_for_injected_keys_are_discarded(bench):
    bench.tool("t", needs=("project_id",))
    bench.run(asks(call("t", {"project_id": "someone else's"})), says("done"), project_id="mine")
    assert bench.executed[0][1]["project_id"] == "mine"
