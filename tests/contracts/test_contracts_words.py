"""The web app has words in both languages for whatever the server names, and names every licence."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from backend.agent.guardrails import StopReason
from backend.routes.schemas.run_answers import CallStatus, RunKind, RunStatus
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


def notice_codes() -> set[str]:
    """What the server's code passes to `notice(code, …)`, or puts into a notice of a model's stream."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "backend").rglob("*.py"))
    return {*re.findall(r'notice\(\s*"(\w+)"', code), *re.findall(r'Delta\("notice", [^()]*, "(\w+)"\)', code)}


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_whatever_a_run_can_be_or_tell_has_words(language: str) -> None:
    runs, chat, calls = (words(language, name) for name in ("pages/runs", "chat", "calls"))
    # A run that simply ended well is told in another sentence; calls have the short names of lib/calls.ts.
    reasons = {**{f"stop_{name.removeprefix('reason_')}": text for name, text in runs.items()}, **chat}
    short = {"executing": "running", "permission_denied": "denied", "waiting_approval": "approval"}
    wanted = [
        *((f"kind_{kind}", runs) for kind in get_args(RunKind)),
        *((f"state_{status}", runs) for status in get_args(RunStatus)),
        *((f"stop_{reason}", reasons) for reason in get_args(StopReason)),
        *((f"notice_{code}", chat) for code in notice_codes()),
        *((f"state_{short.get(status, status)}", calls) for status in get_args(CallStatus) if status != "success"),
    ]
    assert [name for name, known in wanted if not known.get(name)] == []
    assert len(notice_codes()) > 10


def test_every_dependency_stands_among_the_licences() -> None:
    source = (WORDS.parent / "lib" / "licences.ts").read_text(encoding="utf-8")
    told = {
        name for names in re.findall(r"names: \[(.*?)\]", source, re.DOTALL) for name in re.findall(r"'([^']+)'", names)
    }
    package = json.loads((ROOT / "frontend" / "package.json").read_text(encoding="utf-8"))
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert told == {*package["dependencies"], *pinned}
