"""Every replayed oddity of a real server, through the provider and a loop of a few lines that answers the calls."""

import contextlib
from typing import Any

import pytest
from cases import quirk_server
from llm_loop import Loop, Outcome

from backend.llm.openai_compat import OpenAICompatible
from backend.llm.retrying import RetryPolicy
from backend.llm.server import ServerSettings, Shared


@pytest.mark.parametrize("key", sorted(quirk_server.SCN))
def test_every_oddity_ends_as_a_user_must_see_it(key: str, quirks: str) -> None:
    scenario = quirk_server.describe(quirk_server.SCN[key])
    settings = ServerSettings("quirks", f"{quirks}/v1", api_key="sk-secret-of-the-test", idle_timeout=1.5)
    shared = (
        Shared()
        if "min_gap_s" in scenario["expected"]
        else Shared(retry=RetryPolicy((0.05, 0.1, 0.2), chance=lambda: 0.0))
    )
    with contextlib.closing(OpenAICompatible(settings, shared)) as provider:
        loop = Loop(provider, f"{key}@{id(settings)}")
        outcome = loop.run(filler=scenario["setup"].get("filler", 0), tools=not scenario["setup"].get("no_tools"))
    want = scenario["expected"]
    run = quirk_server.RUNS[loop.model]
    _check_outcome(outcome, want)
    _check_tools(outcome, want)
    assert run["violations"] == []
    assert run["n"] <= want.get("max_requests", 12)
    if "usage" in want:
        assert [outcome.prompt_tokens, outcome.completion_tokens] == want["usage"]
    if "min_gap_s" in want:
        assert run["log"][1]["t"] - run["log"][0]["t"] >= want["min_gap_s"]
    assert outcome.error or outcome.recalled or outcome.streamed == outcome.said


def _check_outcome(outcome: Outcome, want: dict[str, Any]) -> None:
    seen = outcome.error or outcome.final
    assert seen.strip(), "the user sees nothing"
    if want["kind"] == "final" or (want["kind"] == "either" and not outcome.error):
        assert not outcome.error
        assert outcome.final.count(want["marker"]) == 1
        for text in want.get("contains", ()):
            assert text in outcome.final
    else:
        assert outcome.error
        assert any(word.lower() in outcome.error.lower() for word in want.get("error_any", [""]))
    for text in want.get("excludes", ()):
        assert text not in seen


def _check_tools(outcome: Outcome, want: dict[str, Any]) -> None:
    wanted = [(name, arguments) for name, arguments in want["tools"]]
    if outcome.error and want["kind"] == "either":
        assert len(outcome.executed) <= want.get("tools_max", 0)
    elif want.get("tools_dup"):
        assert all(call in outcome.executed for call in wanted)
    else:
        assert sorted(outcome.executed, key=str) == sorted(wanted, key=str)
