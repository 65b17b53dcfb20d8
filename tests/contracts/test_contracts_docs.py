"""The documentation names everything there is: settings, error codes, events, routes and tools; every link leads somewhere."""

import inspect
import re
from pathlib import Path

import pytest

from backend import errors, settings
from backend.bootstrap import main
from backend.tools import builtin_names, init_tools

ROOT = Path(__file__).resolve().parents[2]
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
ALL = "\n".join(DOCS.values())
EVENTS = (
    "run.started", "step.started", "reasoning.delta", "text.delta", "tool_call.started", "tool_call.finished",
    "message.injected", "child.started", "child.finished", "run.notice", "run.resumed", "step.finished",
    "message.completed", "run.finished",
)  # fmt: skip


def error_codes() -> list[str]:
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.NanoClawError)]
    return sorted({c.code for c in classes})


def setting_names() -> list[str]:
    return sorted(set(re.findall(r'"((?:NANOCLAW|OPENAI|DATABASE)_[A-Z_]+)"', inspect.getsource(settings))))


@pytest.mark.parametrize("name", setting_names())
def test_every_setting_is_documented(name: str) -> None:
    assert f"`{name}`" in DOCS["deploy.md"]


@pytest.mark.parametrize("code", error_codes())
def test_every_error_code_is_documented(code: str) -> None:
    assert f"`{code}`" in ALL


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_documented(event: str) -> None:
    assert f"`{event}`" in DOCS["api.md"]


def test_every_built_in_tool_is_documented() -> None:
    init_tools()
    assert [name for name in builtin_names() if f"`{name}`" not in ALL] == []


def test_the_events_that_the_engine_emits_are_those_of_the_list() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "backend").rglob("*.py"))
    emitted = set(re.findall(r'"((?:run|step|tool_call|message|child|text|reasoning)\.[a-z]+)"', sources))
    observed = {"run.before", "run.after", "run.finally", "run.py", "step.before", "step.after"}
    assert {name for name in emitted if name in EVENTS} | observed >= emitted - {"model.delta"}


def test_every_command_is_in_the_readme_or_the_help() -> None:
    for command in main.COMMANDS:
        assert re.search(rf"^  {command}\b", main.HELP, re.MULTILINE), command


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "bench/README.md", *(f"docs/{name}" for name in DOCS)])
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_the_map_of_the_house_shows_every_room() -> None:
    shown = DOCS["design.md"].split("```")[1]
    rooms = [path.parent for path in (ROOT / "backend").glob("*/__init__.py")]
    modules = [path for path in (ROOT / "backend").glob("*.py") if path.stem != "__init__"]
    names = [f"{room.name}/" for room in rooms] + [module.name for module in modules]
    assert names
    assert [name for name in names if not re.search(rf"(?<![\w/]){re.escape(name)}", shown)] == []
