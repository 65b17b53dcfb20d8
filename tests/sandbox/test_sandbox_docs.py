"""What docs/sandbox.md shows of the library is so."""

import re
from pathlib import Path
from typing import Any

TEXT = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")


def test_the_example_gives_what_it_says() -> None:
    found = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert found
    first, *rest = found[1].strip().splitlines()
    names: dict[str, Any] = {}
    exec(first, names)
    value, length, refused = (eval(line, names) for line in rest if line)
    assert (value, length["value"]) == ("42", "4")
    assert refused.splitlines()[-1].startswith(("PermissionError", "FileNotFoundError"))
