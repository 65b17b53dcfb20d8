"""The shared cases of calculator, json_process and text_process, run through the executor."""

import json
import math
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "cases"
CASES = [
    case
    for name in ("data_cases.json", "more_data_cases.json")
    for case in json.loads((FOLDER / name).read_text(encoding="utf-8"))["cases"]
]
SUBJECT = {"json_process": "json_string", "text_process": "text"}
GIVEN = {"json_process": "input", "text_process": "text"}


def arguments_of(case: dict[str, Any]) -> dict[str, Any]:
    if "arguments" in case:
        return dict(case["arguments"])
    name = GIVEN[case["tool"]]
    text = case[name] if name in case else "".join(piece * times for piece, times in case[f"{name}_make"])
    return {SUBJECT[case["tool"]]: text, "operation": case["operation"], **case.get("args", {})}


def value_of(result: dict[str, Any]) -> Any:
    data = result["data"]
    return data["value"] if "expression" in data else data["result"]


def is_value(expect: dict[str, Any], result: dict[str, Any]) -> bool:
    data = result["data"]
    if expect.get("exact"):
        return data["text"] == expect["value"] and str(data["value"]) == expect["value"]
    return math.isclose(float(data["value"]), float(Decimal(expect["value"])), rel_tol=expect["rel_tol"])


def refuse(name: str) -> Any:
    raise AssertionError(f"a bare {name} in the result")


def same_json(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)


def meets(expect: dict[str, Any], result: dict[str, Any]) -> bool:
    kind = expect["kind"]
    if kind == "any_of":
        return any(meets(option, result) for option in expect["options"])
    if kind == "error":
        return result["success"] is False and len(result["error"]) > 10
    if not result["success"]:
        return False
    value = value_of(result)
    if kind == "value":
        return is_value(expect, result)
    if kind == "valid":
        return result["data"]["valid"] is expect["value"]
    if kind == "text":
        return bool(value == expect["value"])
    if kind == "json":
        return same_json(json.loads(value) if isinstance(value, str) and value[:1] in "{[" else value, expect["value"])
    if kind == "list":
        return bool(value == expect["value"])
    if kind == "list_any":
        return any(value == option for option in expect["options"])
    if kind == "fields":
        return all(value[name] == number for name, number in expect["value"].items())
    if kind == "contains":
        return expect["value"] in value
    raise AssertionError(f"unknown kind {kind}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_shared_data_case(case: dict[str, Any], builtin: Any) -> None:
    began = time.process_time()
    call = builtin.process_tool_calls(
        [{"id": "c", "function": {"name": case["tool"], "arguments": json.dumps(arguments_of(case))}}]
    )[0]
    took = time.process_time() - began
    result = json.loads(call["result"], parse_constant=refuse)
    assert meets(case["expect"], result), call["result"]
    assert took < case["max_seconds"]
    assert "Traceback" not in call["result"]
    for word in case.get("contains", []):
        assert word in call["result"]
    if "prefer" in case:
        assert value_of(result) == case["prefer"]
    for check in case.get("checks", []):
        text = value_of(result)
        assert "\n" in text if check == "multi_line" else text.index('"b"') < text.index('"a"')
