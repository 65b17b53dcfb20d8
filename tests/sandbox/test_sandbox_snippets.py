"""Programs of the kind that models write must run and give exactly what plain Python gives."""

import re
from pathlib import Path

import pytest

from backend import sandbox

CASES = Path(__file__).parent / "cases"
GIVEN = {path.name: path.read_bytes() for path in (CASES / "given").iterdir()}
PART = re.compile(r"^## (?P<name>\S+)\n(?P<body>.*?)(?=^## |\Z)", re.S | re.M)


def _cases(name: str) -> list[object]:
    found = []
    for part in PART.finditer((CASES / name).read_text("utf-8")):
        code = re.search(r"```python\n(.*?)\n```", part["body"], re.S)
        stdout = re.search(r"```text\n(.*?)\n?```", part["body"], re.S)
        value = re.search(r"^Expected value of the last expression: (.*)$", part["body"], re.M)
        error = re.search(r"^Expected error: `(\w+)`$", part["body"], re.M)
        assert code
        assert stdout
        assert value
        text = value[1].strip()
        expected = (stdout[1], None if text == "none" else text[1:-1], error[1] if error else None)
        found.append(pytest.param(code[1], *expected, id=part["name"]))
    return found


@pytest.mark.parametrize(("code", "stdout", "value", "error"), [*_cases("snippets.txt"), *_cases("more_snippets.txt")])
def test_runs_as_in_plain_python(code: str, stdout: str, value: str | None, error: str | None) -> None:
    for heavy in ("numpy", "pandas", "matplotlib"):
        if heavy in code:
            pytest.importorskip(heavy)
    result = sandbox.run(sandbox.SandboxRequest(code, files=GIVEN))
    assert result["error_type"] == error, result["error"]
    assert result["stdout"].rstrip("\n") == stdout.rstrip("\n")
    assert result["value"] == value


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("class M(type): pass", "class decorator"),
        ("type('P', (), {})", "class statement"),
        ("class A: pass\na = A()\na.__class__ = A", "make a new object"),
        ("from dataclasses import make_dataclass\nmake_dataclass('P', ['x'])", "@dataclass"),
        ("import logging\nlogging.basicConfig(format='{message}', style='{')", "style='%'"),
        ("import pickle", "use json"),
        ("import unittest", "use assert"),
        ("from tqdm import tqdm", "use print"),
        ("import timeit\ntimeit.timeit('1 + 1')", "takes a function"),
        ("print(__file__)", "plain names"),
        ("try:\n    pass\nexcept* ValueError:\n    pass", "use except"),
        ("def f(x: '(lambda: 0)()'): pass\nimport typing\ntyping.get_type_hints(f)", "may only name types"),
    ],
)
def test_what_stays_out_is_answered_with_what_to_write(code: str, hint: str) -> None:
    result = sandbox.run_code(code)
    assert result["error_type"] in ("SecurityError", "ModuleNotFoundError")
    assert hint in result["error"]


def test_messages_of_errors_are_pythons_and_only_the_traceback_adds_a_hint() -> None:
    code = "try:\n    {}\nexcept (OSError, ImportError) as e:\n    print(e)\n{}"
    for act, message, hint in (
        ("open('/data/x.csv')", "[Errno 2] No such file or directory: '/data/x.csv'", "a.csv"),
        ("import yaml", "No module named 'yaml'", "use json"),
    ):
        result = sandbox.run_code(code.format(act, act), {"a.csv": b""})
        assert result["stdout"] == message + "\n"
        assert hint in result["error"]


def test_traces_name_the_codes_own_lines_by_their_numbers() -> None:
    code = "import json\n\ndef load(text):\n    return json.loads(text)\n\n\nprint('start')\nload('{')"
    result = sandbox.run_code(code)
    assert re.findall(r"line (\d+), in (\S+)", result["error"]) == [("8", "<module>"), ("4", "load")]
    assert result["stdout"] == "start\n"


def test_what_was_printed_before_the_time_was_up_is_kept() -> None:
    code = "print('один')\nprint('two', end='')\nwhile True:\n    pass"
    result = sandbox.run(sandbox.SandboxRequest(code, seconds=0.5))
    assert (result["stdout"], result["error_type"], result["limit"]) == ("один\ntwo", "TimeoutError", "time")


def test_streams_put_aside_by_the_code_do_not_reach_the_report() -> None:
    code = (
        "import sys\nclass Bad:\n    def write(self, text): raise ValueError(text)\nsys.stderr = Bad()\nsys.exit('why')"
    )
    result = sandbox.run_code(code)
    assert (result["error_type"], result["stderr"]) == ("SystemExit", "why\n")
