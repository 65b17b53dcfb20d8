"""The page on providers is true: its scripts and code run, its names are those of the code."""

import json
import re
import tomllib
from pathlib import Path

from backend.agent.types import ModelRequest
from backend.cancel import CancelToken
from backend.llm.catalogue import ProviderConfig
from backend.llm.facts import ModelTable
from backend.llm.openai_compat import THINKING
from backend.llm.probe import USUAL_PORTS
from backend.llm.scripted import ScriptedProvider

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")


def block(language: str, containing: str = "") -> str:
    """The first code block of a language that contains some words."""
    found = [b for b in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if containing in b]
    assert found
    return found[0]


def test_the_script_of_the_page_plays() -> None:
    provider = ScriptedProvider(json.loads(block("json")))
    asked = ModelRequest("s", [{"role": "user", "content": "the weather?"}])
    assert provider.chat(asked, None, CancelToken()).tool_calls[0].name == "get_weather"
    hello = ModelRequest("s", [{"role": "user", "content": "hello"}])
    assert provider.chat(hello, None, CancelToken()).text == "Ask me about the weather."


def test_the_tables_of_the_page_are_read(tmp_path: Path) -> None:
    own = tmp_path / "models.toml"
    own.write_text(block("toml", "[[model]]"), encoding="utf-8")
    table = ModelTable(own)
    assert table.problem == ""
    assert table.facts("my-model-1").context_window == 65_536
    (provider,) = tomllib.loads(block("toml", "[[providers]]"))["providers"]
    ProviderConfig(id="x", **{**provider, "models": tuple(provider["models"])})


def test_the_code_of_the_page_runs() -> None:
    names: dict[str, object] = {}
    exec(compile(block("python"), "providers.md", "exec"), names)
    assert hasattr(names["provider"], "chat")


def test_the_page_names_every_switch_and_port() -> None:
    assert [name for name in THINKING if f"`{name}`" not in PAGE] == []
    assert [name for port, name in USUAL_PORTS if f"{name} {port}" not in PAGE] == []
