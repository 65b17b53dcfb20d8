"""The web app has words in both languages for what the built-in tools are and take, and names every licence."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.tools import builtin_names, init_tools, registry

ROOT = Path(__file__).resolve().parents[2]
WORDS = ROOT / "frontend" / "src" / "i18n"


def words(language: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((WORDS / language / f"{name}.json").read_text(encoding="utf-8"))
    return found


def parameters(schema: dict[str, Any], above: str = "") -> Iterator[str]:
    """Names of all parameters, those inside others by their path."""
    inner = schema.get("items") if schema.get("type") == "array" else schema
    for name, part in (inner or {}).get("properties", {}).items():
        path = f"{above}_{name}" if above else name
        yield path
        yield from parameters(part, path)


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_every_parameter_of_a_built_in_tool_has_words(language: str) -> None:
    init_tools()
    told = {f"{tool}.{name}" for tool, names in words(language, "tools/params").items() for name in names}
    taken = {f"{name}.{path}" for name in builtin_names() for path in parameters(registry.get(name).parameters)}
    assert told == taken


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_every_built_in_tool_has_a_title_and_a_sentence(language: str) -> None:
    told = words(language, "builtin")
    assert [name for name in builtin_names() if not (told.get(f"title_{name}") and told.get(f"about_{name}"))] == []


def test_every_dependency_stands_among_the_licences() -> None:
    source = (WORDS.parent / "lib" / "licences.ts").read_text(encoding="utf-8")
    told = {
        name for names in re.findall(r"names: \[(.*?)\]", source, re.DOTALL) for name in re.findall(r"'([^']+)'", names)
    }
    package = json.loads((ROOT / "frontend" / "package.json").read_text(encoding="utf-8"))
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert told == {*package["dependencies"], *pinned}
