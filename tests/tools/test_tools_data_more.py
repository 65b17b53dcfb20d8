"""The data tools on what people really type, and on what would bring a worker down."""

import json
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.tools.builtin.data.arithmetic import CannotCalculate
from backend.tools.builtin.data.compare import common_length, edit_distance
from backend.tools.builtin.data.expression import evaluate
from backend.tools.builtin.data.strict_json import MAX_JSON_CHARACTERS
from backend.tools.builtin.weather import simulate


@pytest.fixture
def use(builtin: Any) -> Any:
    def run(name: str, **arguments: Any) -> dict[str, Any]:
        call = builtin.process_tool_calls([{"id": "", "function": {"name": name, "arguments": json.dumps(arguments)}}])[
            0
        ]
        result: dict[str, Any] = json.loads(call["result"], parse_constant=pytest.fail)
        return result

    return run


TYPED = {
    "20% off 50": "40", "100 + 10%": "110", "100 - 10%": "90", "3 + 4%": "3.12", "50% + 25%": "0.75", "10% * 50": "5",
    "10 + 5% of 20": "11", "10% - 3": "-2.9", "7 % -3": "-2", "17%5": "2", "5% of 10% of 1000": "5", "5 mod 3": "2",
    "1/3": "0.3333333333333333", "2/3": "0.6666666666666667", "5!": "120", "5!!": "15", "-5!": "-120", "2^3!": "64",
    "sin(30 deg)": "0.5", "sin(30°)": "0.5", "cos(60 degrees)": "0.5", "sin(pi)": "0", "tan(pi/4)": "1", "atan2(1, 1)*4": "3.141592653589793",
    "１２＋３４": "46", "２（３＋４）": "14", "٣ + ٤": "7", "2(3+4)": "14", "(1+2)(3+4)": "21", "2pi": "6.283185307179586",
    "6/2(1+2)": "9", "3½": "3.5", "½ + ¼": "0.75", "5²": "25", "2³⁺¹": "16", "√16": "4", "∛27": "3", "|−5|": "5", "6x7": "42",
    "6 X 7": "42", "what is 2+2?": "4", "2+2=": "4", "= 2 * 3": "6", "2 plus 3 times 4": "14", "12除以4": "3", "3乘以4加5": "17",
    "百分之15": "0.15", "240的15%": "36", "5的平方": "25", "3 squared": "9", "2 to the power of 5": "32", "square root of 81": "9",
    "10 is what percent of 50": "20", "increase 50 by 10%": "55", "80 decreased by 25%": "60", "$5 + $3.50": "8.5",
    "1 234 567 + 1": "1234568", "1_000 * 2": "2000", "0x1F": "31", "0b101": "5", ".5 + 5.": "5.5", "1.10": "1.1",
    "max(1,234)": "234", "math.sqrt(16)": "4", "8^(1/3)": "2", "cbrt(-8)": "-2", "sqrt(2)^2": "2", "0.1*3": "0.3",
    "round(2.5)": "3", "round(-2.5)": "-3", "round(1234, -2)": "1200", "100!/98!": "9900", "comb(5, 2)": "10", "nPr(5, 2)": "20",
    "pow(7, 1000000, 13)": "9", "3^100000 % 7": "4", "log10(1000)": "3", "log2(8)": "3", "exp(1000)": "1.970071114017047e434",
    "1e-400": "1e-400", "9007199254740993": "9007199254740993", "1/1024": "0.0009765625", "10000!/9999!": "10000", "1e5": "100000",
    "min(3, 1/3, pi)": "0.3333333333333333", "median(3, 1, 2, 10)": "2.5", "mean(1, 2)": "1.5", "gcd(12, 18)": "6", "lcm(4, 6)": "12",
    "5 ÷ 2": "2.5", "7 — 2": "5", "3·4": "12", "(2+3]*2": "10", "-2²": "-4", "1 + 2 # 3": None,
}  # fmt: skip


@pytest.mark.parametrize("expression", [key for key, value in TYPED.items() if value is not None])
def test_what_people_type_is_understood(use: Any, expression: str) -> None:
    result = use("calculator", expression=expression)
    assert result["success"], result
    data = result["data"]
    assert data["text"] == TYPED[expression]
    assert data["expression"] == expression
    assert float(data["value"]) == float(data["text"]) or data["text"] == "1.970071114017047e434"


HOSTILE = [
    "9**9**9", "(((9**64)**64)**64)**64", "1e999999999", "1e99999 * 1e99999", "10001!", "factorial(1e9)", "2**-1e9", "(1/3)^1e9",
    "exp(1e9)", "exp(exp(exp(9)))", "comb(1000000, 500000)", "perm(1e6, 1e5)", "sin(1e99)", "round(1/3, 1e9)", "pow(2, 3, 0)", "(" * 100_000,
    "(" * 5000 + "1" + ")" * 5000, "-" * 9000 + "1", "2^" * 900 + "1", "9" * 20_000, "+".join(["10000!"] * 300), "1" + "*(1/3+1/7)" * 900,
    "1/0", "0/0", "5 % 0", "0 ** -1", "tan(pi/2)", "sqrt(-1)", "ln(0)", "log(5, 1)", "asin(2)", "(-8)^(1/3)", "(-1)^0.5", "3.5!", "(-1)!",
    "atan2(0, 0)", "root(2, 0)", "gcd(1.5, 2)", "nan", "inf", "-Infinity", "", "   ", "=", "?", "()", "(1", "1)", "1 +", "* 2", "2 3", "1..2",
    "1.2.3", "1,23 + 1", "max()", "sqrt()", "sqrt(1, 2)", "sin", "foo(1)", "x + 1", "1 < 2", "1 == 1", "a = 5", "'a' * 3", '"a"', "[1, 2]*2 )",
    "lambda: 0", "(1).__class__", "__import__('os')", "open('x')", "1 if 1 else 2", "1 << 3", "5 & 3", "~5", "\x00", "\ud800", "💥", "1\n;2",
    "sum(i for i in (1,2))", "3 + 4i", "5 km", "１２月", "1e", "0x", "0xZZ", "1__0", "$", "%", "% of 5", "off 5", "5 of", "!", "°", "1,2", ", 1",
]  # fmt: skip


@pytest.mark.parametrize("expression", HOSTILE, ids=lambda text: repr(text)[:40])
def test_what_has_no_value_is_refused_with_a_reason(use: Any, expression: str) -> None:
    result = use("calculator", expression=expression)
    if result["success"]:  # a few have a harmless reading
        assert expression in ("1e", "sum(1)", "2**-1e9")
        return
    assert len(result["error"]) > 10
    assert result["code"] in ("invalid_arguments", "tool_failed")
    assert "Error:" not in result["error"], result  # never a Python exception


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789.+-*/^%()!, epixsqrtofnl°√²½", max_size=40))
def test_any_text_has_a_value_or_a_reason(expression: str) -> None:
    with suppress(CannotCalculate):
        assert evaluate(expression).value is not None


@st.composite
def sums(draw: Any, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return str(draw(st.integers(0, 50)))
    left, right = draw(sums(depth - 1)), draw(sums(depth - 1))
    return f"({left}{draw(st.sampled_from('+-*/'))}{right})"


@settings(max_examples=200, deadline=None)
@given(sums())
def test_sums_of_fractions_are_exact(expression: str) -> None:
    python = "".join(f"Fraction({part})" if part.isdigit() else part for part in _parts(expression))
    try:
        expected = eval(python, {"Fraction": Fraction})
    except ZeroDivisionError:
        with pytest.raises(CannotCalculate, match="zero"):
            evaluate(expression)
        return
    assert evaluate(expression).value == expected


def _parts(expression: str) -> list[str]:
    parts: list[str] = []
    for letter in expression:
        if letter.isdigit() and parts and parts[-1].isdigit():
            parts[-1] += letter
        else:
            parts.append(letter)
    return parts


def test_a_large_integer_is_text_and_a_small_one_a_number(use: Any) -> None:
    assert use("calculator", expression="2^53 - 1")["data"]["value"] == 2**53 - 1
    assert use("calculator", expression="2^53 + 1")["data"]["value"] == str(2**53 + 1)
    huge = use("calculator", expression="2^150000")["data"]
    assert (huge["exact"], huge["digits"]) == (False, 45155)


# ---------------------------------------------------------------- text
@pytest.mark.parametrize(
    ("operation", "text", "more", "expected"),
    [
        ("reverse", "👨‍👩‍👧ab e\u0301", {}, "e\u0301 ba👨‍👩‍👧"),
        ("title", "o'neil and the ÉCOLE", {}, "O'neil And The École"),
        ("dedupe_lines", "a\r\nb\r\na\r\n", {}, "a\nb"),
        ("sort_lines", "b\nA\nc\na", {}, "A\na\nb\nc"),
        ("extract_emails", "联系a@b.com谢谢, x@y, a.@b.com <me@x.io>", {}, ["a@b.com", "me@x.io"]),
        ("extract_urls", "(http://a.b/c_(d)) www.test.org. ftp://f.g/h; 见https://x.cn/a。", {}, ["http://a.b/c_(d)", "www.test.org", "ftp://f.g/h", "https://x.cn/a"]),
        ("extract_numbers", "2026-01-31, -5 and 3-4, .5, 1,234.50 or 50%", {}, ["2026", "01", "31", "-5", "3", "4", ".5", "1,234.50", "50"]),
        ("regex_replace", "hello", {"pattern": "l+", "replacement": "[\\g<0>]"}, "he[ll]o"),
        ("regex_find", "aXbX", {"pattern": "(?i)x"}, ["X", "X"]),
        ("split", "a1b22c", {"pattern": "\\d+"}, ["a", "b", "c"]),
        ("split", "a\nb", {}, ["a", "b"]),
        ("join", "a\nb", {"separator": "\\t"}, "a\tb"),
        ("base64_decode", "aGk", {}, "hi"),
        ("base64_decode", " aG\nk= ", {}, "hi"),
        ("base64_encode", "", {}, ""),
        ("url_decode", "a%2Bb%E4%B8%AD", {}, "a+b中"),
        ("hash", "abc", {"algorithm": "CRC32"}, "352441c2"),
        ("upper", "a\ud800", {}, "A\ufffd"),
        ("trim", "\u3000 a \u00a0", {}, "a"),
    ],
)  # fmt: skip
def test_texts_are_worked_on_as_people_expect(use: Any, operation: str, text: str, more: Any, expected: Any) -> None:
    assert use("text_process", text=text, operation=operation, **more)["data"]["result"] == expected


def test_words_and_characters_are_counted_in_any_script(use: Any) -> None:
    found = use("text_process", text="Don't 说 你好 — e-mail\r\n2 👨‍👩‍👧", operation="count")["data"]["result"]
    assert (found["words"], found["lines"], found["characters"]) == (6, 2, 23)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(x+x+)+y", "x" * 40_000), ("^(a|aa)+$", "a" * 60 + "!"), ("(.*)*b", "a" * 5_000), ("(((a{1000}){1000}){1000}){1000}", "a"), ("a{99999999}", "a"),
        ("(" * 1_900, "a"), ("(?:" * 500 + "a" + ")" * 500, "a"), ("a" * 3_000, "a"), ("[", "a"), ("(?P<n>a)(?P<n", "a"), ("\\", "a"), ("*", "a"),
        ("(?<=a*)b", "b"), ("\\p{Nope}", "a"), ("(?R)", "a" * 1_000), ("(a?){40}a{40}", "a" * 40),
    ],
    ids=lambda text: repr(text)[:30],
)  # fmt: skip
def test_patterns_that_explode_or_are_wrong_come_back(use: Any, pattern: str, text: str) -> None:
    result = use("text_process", text=text, operation="regex_find", pattern=pattern)
    assert result["success"] or result["code"] in ("invalid_arguments", "timeout")


@pytest.mark.parametrize(
    ("operation", "more", "part"),
    [
        ("regex_find", {}, "'pattern'"), ("similarity", {}, "'other'"), ("diff", {}, "'other'"), ("split", {"separator": ""}, "separator"),
        ("base64_decode", {}, "Base64"), ("hash", {"algorithm": "rot13"}, "sha256"), ("regex_replace", {"pattern": "(a)", "replacement": "\\7"}, "replacement"),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_named(use: Any, operation: str, more: Any, part: str) -> None:
    result = use("text_process", text="a!a", operation=operation, **more)
    assert result["code"] == "invalid_arguments"
    assert part in result["error"] + str(result["suggestion"])


def test_a_replacement_that_would_explode_is_refused(use: Any) -> None:
    result = use("text_process", text="a" * 50_000, operation="regex_replace", pattern="a", replacement="b" * 1_000)
    assert "longer" in result["error"]


def slow_common(one: str, other: str) -> int:
    row = [0] * (len(other) + 1)
    for a in one:
        before = row[:]
        for at, b in enumerate(other, 1):
            row[at] = before[at - 1] + 1 if a == b else max(before[at], row[at - 1])
    return row[-1]


def slow_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for number, a in enumerate(one, 1):
        before, row = row, [number]
        for at, b in enumerate(other, 1):
            row.append(min(before[at] + 1, row[-1] + 1, before[at - 1] + (a != b)))
    return row[-1]


@settings(max_examples=200, deadline=None)
@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_texts_are_compared_as_by_the_book(one: str, other: str) -> None:
    assert edit_distance(one, other) == slow_distance(one, other)
    assert common_length(one, other) == slow_common(one, other)


# ---------------------------------------------------------------- JSON
def test_a_mistake_is_told_with_line_and_column(use: Any) -> None:
    data = use("json_process", json_string='{\n  "a": 1,\n  "b": tru\n}', operation="validate")["data"]
    assert (data["valid"], data["line"], data["column"]) == (False, 3, 8)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"a": 1,}', "comma"), ("{'a': 1}", "double quotes"), ("[1] // x", "comments"), ("{} {}", "after the end"), ("", "empty"), ("[NaN]", "NaN"),
        ("[None]", "null"), ("[True]", "true"), ("[1, 2", "too early"), ('["a\nb"]', "control character"), ("[+1]", "plus"), ("[.5]", "digit"),
    ],
)  # fmt: skip
def test_a_mistake_is_explained(use: Any, text: str, part: str) -> None:
    assert part in use("json_process", json_string=text, operation="validate")["data"]["error"]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 50_000, "[" * 401 + "]" * 401]
)
@pytest.mark.parametrize("operation", ["validate", "format", "query", "flatten"])
def test_deep_nesting_is_refused(use: Any, text: str, operation: str) -> None:
    result = use("json_process", json_string=text, operation=operation, path="a")
    assert result["success"] is False
    assert "nested" in result["error"] or "too early" in result["error"]


@pytest.mark.parametrize("operation", ["validate", "format", "minify", "keys", "flatten", "diff", "merge"])
def test_nesting_within_the_bound_works(use: Any, operation: str) -> None:
    text = '{"a":' * 390 + "1" + "}" * 390
    assert use("json_process", json_string=text, operation=operation, other=text)["success"]


def test_too_long_a_text_is_refused(use: Any) -> None:
    result = use("json_process", json_string=" " * (MAX_JSON_CHARACTERS + 1), operation="validate")
    assert "limit" in result["error"]


def test_numbers_keep_every_digit_as_they_were_written(use: Any) -> None:
    text = "[1.0, 1.10, 1e400, -0, 12345678901234567890.123456789012345678901, 123456789012345678901234567890]"
    assert use("json_process", json_string=text, operation="minify")["data"]["result"] == text.replace(" ", "")
    value = use("json_process", json_string='{"a": 123456789012345678901}', operation="query", path="a")
    assert value["data"]["result"] == 123456789012345678901
    rounded = use("json_process", json_string="[0.12345678901234567890123]", operation="get", path="[0]")
    assert "rounded" in rounded["data"]["notes"][0]


def test_duplicate_keys_and_marks_are_noted(use: Any) -> None:
    notes = use("json_process", json_string='\ufeff{"a": 1, "a": 2}', operation="validate")["data"]["notes"]
    assert any("byte order mark" in note for note in notes)
    assert any("'a'" in note for note in notes)


def test_lone_surrogates_are_escaped_and_never_passed_on(use: Any) -> None:
    for operation in ("format", "minify", "query", "set"):
        data = use(
            "json_process", json_string='["\\ud800", "\\ud83d\\ude00"]', operation=operation, path="[0]", value=1
        )["data"]
        assert "\ud800" not in str(data["result"])
        assert "\\ud800" in str(data["result"]) or operation == "set"


@pytest.mark.parametrize(
    ("operation", "text", "more", "expected"),
    [
        ("query", '{"a":[{"b":1},{"b":2}]}', {"path": "a[?b>`1`].b | [0]"}, 2),
        ("query", '{"a":[{"b":1}]}', {"path": "$.a[0].b"}, 1),
        ("query", '{"a/b":{"m~n":[1]}}', {"path": "/a~1b/m~0n/0"}, 1),
        ("query", '{"":{"a":1}}', {"path": "//a"}, 1),
        ("query", '{"a":1}', {"path": ""}, {"a": 1}),
        ("get", '{"a":{"b":[1,2]}}', {"path": "a.b[-1]"}, 2),
        ("get", '{"a.b":{"c d":1}}', {"path": '["a.b"]["c d"]'}, 1),
        ("set", '{"a":{"b":[1,2]}}', {"path": "a.b[2]", "value": {"x": 1}}, '{"a":{"b":[1,2,{"x":1}]}}'),
        ("set", "{}", {"path": "x.y[0].z", "value": None}, '{"x":{"y":[{"z":null}]}}'),
        ("set", "5", {"path": "", "value": "x"}, '"x"'),
        ("flatten", '{"a.b":{"c d":[[],{}]},"":1}', {}, {'["a.b"]["c d"][0]': [], '["a.b"]["c d"][1]': {}, '[""]': 1}),
        ("merge", '{"a":{"b":1},"l":[1]}', {"other": {"a": {"c": None}, "l": [2]}}, {"a": {"b": 1, "c": None}, "l": [2]}),
        ("to_csv", '[{"a":1},{"b":{"c":1}}]', {}, 'a,b\r\n1,\r\n,"{""c"":1}"\r\n'),
        ("to_csv", '{"rows":[[1,null],[2,true]]}', {"path": "rows"}, "1,\r\n2,true\r\n"),
        ("from_csv", 'a;b\n007;"x;\ny"\n', {}, [{"a": "007", "b": "x;\ny"}]),
        ("from_csv", "a,a,\n1,2,3", {}, [{"a": "1", "a_2": "2", "column_3": "3"}]),
        ("minify", {"a": [1]}, {}, '{"a":[1]}'),
    ],
)  # fmt: skip
def test_json_is_worked_on_as_people_expect(use: Any, operation: str, text: Any, more: Any, expected: Any) -> None:
    result = use("json_process", json_string=text, operation=operation, **more)
    assert result["success"], result
    assert json.dumps(result["data"]["result"]) == json.dumps(expected)


def test_differences_are_named_by_pointer(use: Any) -> None:
    one, other = '{"a":1,"b":true,"l":[1,2],"x/y":0}', '{"l":[1],"a":1.0,"b":1,"n":null,"x/y":0}'
    data = use("json_process", json_string=one, operation="diff", other=other)["data"]
    assert data["result"] == [
        {"path": "/b", "change": "changed", "old": True, "new": 1},
        {"path": "/l/1", "change": "removed", "old": 2},
        {"path": "/n", "change": "added", "new": None},
    ]
    assert data["equal"] is False


@pytest.mark.parametrize(
    "path", ["a[", "foo(", "a" * 3_000, "|".join(["[@,@]"] * 40), "(" * 1_000, "/a/b/c", "length(`1`)", "sort(a)", "$..a", "a.b.c.d[9]"],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_paths_that_are_wrong_or_explode_come_back(use: Any, path: str) -> None:
    for operation in ("query", "get", "set"):
        result = use("json_process", json_string='{"a": [1]}', operation=operation, path=path, value=1)
        assert result["success"] or result["code"] == "invalid_arguments", result


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=12,
    )
)
def test_layouts_change_nothing(value: Any) -> None:
    from backend.tools.builtin.data.json_layout import minify, pretty

    text = json.dumps(value)
    assert json.loads(pretty(text)) == value
    assert json.loads(minify(pretty(text))) == value
    assert minify(pretty(text)) == minify(text)


# ---------------------------------------------------------------- weather
def test_weather_is_the_same_for_a_city_and_day_and_says_that_it_is_simulated(use: Any) -> None:
    from datetime import date

    assert simulate("Shanghai", date(2026, 1, 2)) == {**simulate("SHANGHAI", date(2026, 1, 2)), "city": "Shanghai"}
    assert simulate("Shanghai", date(2026, 1, 2)) != simulate("Shanghai", date(2026, 1, 3))
    data = use("get_weather", city="  上海 ")["data"]
    assert (data["simulated"], data["city"]) == (True, "上海")
    for city in ("", "   ", "123", "x" * 200):
        assert use("get_weather", city=city)["success"] is False
