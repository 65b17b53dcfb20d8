"""Programs of the kind that models write must run and give exactly what plain Python gives."""

import re
from pathlib import Path

import pytest

from backend import sandbox

CASES = Path(__file__).parent / "cases"
PART = re.compile(r"^## (?P<name>\S+)\n(?P<body>.*?)(?=^## |\Z)", re.S | re.M)


def _cases(name: str) -> list[object]:
    found = []
    for part in PART.finditer((CASES / name).read_text("utf-8")):
        code = re.search(r"```python\n(.*?)\n```", part["body"], re.S)
        stdout = re.search(r"```text\n(.*?)\n?```", part["body"], re.S)
        value = re.search(r"^Expected value of the last expression: (.*)$", part["body"], re.M)
        assert code
        assert stdout
        assert value
        text = value[1].strip()
        found.append(pytest.param(code[1], stdout[1], None if text == "none" else text.strip("`"), id=part["name"]))
    return found


@pytest.mark.parametrize(("code", "stdout", "value"), _cases("snippets.txt"))
def test_runs_as_in_plain_python(code: str, stdout: str, value: str | None) -> None:
    result = sandbox.run_code(code)
    assert result["error"] is None
    assert result["stdout"].rstrip("\n") == stdout.rstrip("\n")
    assert result["value"] == value
