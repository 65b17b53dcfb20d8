"""Results: whole for the user, short for the model, always valid JSON and UTF-8."""

import dataclasses
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.tools import ToolExecutor
from backend.tools.limits import cut_result, cut_text
from backend.tools.results import to_text

LIMIT = 16_000


def run(executor: ToolExecutor, tools: Any, ask: Any, value: Any, watch: Any = None, **options: Any) -> dict[str, Any]:
    tools.add("t", lambda _: value, cacheable=False, **options)
    return executor.process_tool_calls([ask("t")], watcher=watch)[0]


def test_a_boolean_success_is_taken_as_it_is_and_all_else_becomes_data(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    own = {"success": True, "data": [1], "more": 2}
    assert json.loads(run(executor, tools, ask, own)["result"]) == own
    for value in ({"success": "yes"}, {"a": 1}, [], "", None, 0, False, "中文"):
        assert json.loads(run(executor, tools, ask, value)["result"]) == {"success": True, "data": value}


def test_nb_per_01_a_large_result_is_cut_and_the_whole_is_handed_over(
    executor: ToolExecutor, tools: Any, ask: Any, watch: Any
) -> None:
    text = "".join(f"line {number}\n" for number in range(40_000))
    call = run(executor, tools, ask, {"content": text, "path": "a.txt"}, watch)
    assert (call["result_truncated"], len(call["result"]) <= LIMIT) == (True, True)
    told = json.loads(call["result"])
    assert told["data"]["path"] == "a.txt"
    assert told["data"]["content"].startswith("line 0\n")
    assert told["data"]["content"].endswith("line 39999\n")
    assert "characters left out" in told["data"]["content"]
    assert "download" in told["rest"]
    whole = next(data[1] for kind, data in watch.told if kind == "finished")
    assert json.loads(whole)["data"]["content"] == text
    assert call["result_size"] == len(whole.encode())


def test_the_hint_names_the_arguments_that_page(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    schema = {"type": "object", "properties": {"offset": {"type": "integer"}, "limit": {"type": "integer"}}}
    call = run(executor, tools, ask, "x" * 50_000, parameters=schema)
    assert "offset, limit" in json.loads(call["result"])["rest"]


def test_nb_ctx_02_a_tool_that_pages_its_results_may_have_its_own_limit(
    executor: ToolExecutor, tools: Any, ask: Any
) -> None:
    assert not run(executor, tools, ask, "x" * 30_000, result_limit=40_000)["result_truncated"]
    assert run(executor, tools, ask, "x" * 3_000, result_limit=2_000)["result_truncated"]


def test_a_result_of_50_mb_leaves_a_usable_call(executor: ToolExecutor, tools: Any, ask: Any, watch: Any) -> None:
    call = run(executor, tools, ask, "y" * 50_000_000, watch)
    assert len(json.dumps(call)) < 20_000
    assert call["result_size"] > 50_000_000


def test_a_list_of_many_small_items_is_cut_as_text(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    call = run(executor, tools, ask, [{"n": number} for number in range(100_000)])
    told = json.loads(call["result"])
    assert len(call["result"]) <= LIMIT
    assert told["data"].startswith('[{"n": 0}')
    assert told["data"].endswith('{"n": 99999}]')


def test_a_long_error_is_cut_too(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    call = run(executor, tools, ask, {"success": False, "error": "e" * 100_000})
    told = json.loads(call["result"])
    assert (call["status"], told["success"], len(call["result"]) <= LIMIT) == ("error", False, True)


def test_what_a_cached_call_hands_over_is_whole_again(executor: ToolExecutor, tools: Any, ask: Any, watch: Any) -> None:
    tools.add("big", lambda _: "z" * 20_000, read_only=True)
    for _ in range(2):
        call = executor.process_tool_calls([ask("big")], watcher=watch)[0]
    assert call["cached"]
    assert call["result_truncated"]
    wholes = [data[1] for kind, data in watch.told if kind == "finished"]
    assert wholes[0] == wholes[1]


@pytest.mark.parametrize("value", ["a\x00b", "lone \ud800 half", {"\ud800": 1}, ["\udfff"], {"deep": {"x": "\x00"}}])
def test_texts_leave_as_valid_utf8_without_nul(executor: ToolExecutor, tools: Any, ask: Any, value: Any) -> None:
    text = run(executor, tools, ask, value)["result"]
    text.encode()
    assert "\\u0000" not in text
    assert "\ufffd" in text


def test_halves_of_a_pair_are_joined(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    assert json.loads(run(executor, tools, ask, "\ud83d\ude00 \ud800")["result"])["data"] == "😀 \ufffd"


@dataclasses.dataclass
class Point:
    x: int
    when: datetime


def test_values_that_json_cannot_carry_become_text(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    ring: list[Any] = []
    ring.append(ring)
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    value = {
        "nan": float("nan"), "inf": float("-inf"), "bytes": b"ab", "raw": b"\xff", "set": {1}, "none": {None: 1, True: 2, 3: 4},
        "point": Point(1, datetime(2026, 1, 2, tzinfo=UTC)), "money": Decimal("1.10"), "tuple": (1, 2), "ring": ring,
        "deep": deep, "big": 10**5000, "object": {(1, 2): 3},
    }  # fmt: skip
    told = json.loads(run(executor, tools, ask, value)["result"], parse_constant=pytest.fail)["data"]
    assert (told["nan"], told["inf"], told["bytes"], told["raw"]) == ("nan", "-inf", "ab", "/w==")
    assert told["point"] == {"x": 1, "when": "2026-01-02T00:00:00+00:00"}
    assert (told["money"], told["tuple"], told["ring"]) == ("1.10", [1, 2], ["(refers to itself)"])
    assert told["none"] == {"null": 1, "true": 2, "3": 4}
    assert "bits" in told["big"]
    assert told["object"] == {"(1, 2)": 3}
    assert "nested too deeply" in json.dumps(told["deep"])


def test_nb_ctx_11_an_empty_result_is_never_empty_text(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    for value in ("", None, [], "  "):
        assert run(executor, tools, ask, value)["result"].startswith('{"success": true')


def test_the_card_s_line_is_the_tool_s_or_made_from_the_data(executor: ToolExecutor, tools: Any, ask: Any) -> None:
    assert run(executor, tools, ask, {"a": 1, "b": [1, 2]})["summary"] == "a: 1, b (2)"
    assert run(executor, tools, ask, [1])["summary"] == "1 item"
    assert run(executor, tools, ask, "two\nlines")["summary"] == "two lines"
    assert run(executor, tools, ask, 5, summarize=lambda a, d: f"five is {d}")["summary"] == "five is 5"
    assert run(executor, tools, ask, 5, summarize=lambda a, d: d["x"])["summary"] == "5"
    assert len(run(executor, tools, ask, "x" * 5_000)["summary"]) <= 160


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=200),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON, st.integers(1_000, 3_000))
def test_any_result_is_valid_json_within_its_limit(value: Any, limit: int) -> None:
    text, size, result = to_text({"success": True, "data": value})
    assert len(text.encode()) == size
    json.loads(text, parse_constant=pytest.fail)
    cut = cut_result(result, text, limit, "hint")
    assert len(cut) <= max(limit, 1_000)
    assert json.loads(cut, parse_constant=pytest.fail)["success"] is True


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=200, max_size=3_000), st.integers(150, 1_000))
def test_a_cut_text_fits_its_room(text: str, room: int) -> None:
    clean = text.encode("utf-8", "replace").decode()
    assert len(json.dumps(cut_text(clean, room), ensure_ascii=False)) <= max(room, 120) or len(clean) <= room
