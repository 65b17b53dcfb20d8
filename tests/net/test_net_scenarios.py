"""Every scenario of the case server, through the tools."""

import json
from typing import Any

import more_web_scenarios  # noqa: F401  (adds its scenarios to those of web_server)
import pytest
import web_server

from backend.net.search import SearchChain
from backend.net.searxng import SearxngBackend

IDS = [scenario["id"] for scenario in web_server.SCENARIOS]


@pytest.mark.parametrize("name", IDS)
def test_scenario_ends_as_expected(name: str, web: str, canary: list[str], call: Any) -> None:
    scenario = next(s for s in web_server.deep_fill(web_server.SCENARIOS) if s["id"] == name)
    before = web_server.STATE["sent"].get(scenario["path"].partition("?")[0], 0)
    result = run(scenario, web, call)
    text = json.dumps(result, ensure_ascii=False)
    check(scenario["expect"], result, text)
    sent = web_server.STATE["sent"].get(scenario["path"].partition("?")[0], 0) - before
    assert sent <= scenario["expect"].get("max_sent", sent)


def run(scenario: dict[str, Any], web: str, call: Any) -> dict[str, Any]:
    arguments = dict(scenario["args"])
    if scenario["tool"] == "web_search":
        backend = SearxngBackend(arguments.pop("search_url"))
        return call("web_search", arguments, search=SearchChain([backend]))
    if scenario["tool"] == "fetch_page":
        arguments["url"] = web + scenario["path"]
    return call(scenario["tool"], arguments)


def check(expect: dict[str, Any], result: dict[str, Any], text: str) -> None:
    assert expect["outcome"] == "any" or result["success"] is (expect["outcome"] == "ok"), text[:500]
    assert expect["outcome"] != "refused" or result["retryable"] is False
    assert "retryable" not in expect or result["retryable"] is expect["retryable"]
    assert all(part in text for part in expect.get("contains", [])), text[:2000]
    assert not any(part in text for part in expect.get("absent", [])), text[:2000]
    assert len(text) <= expect.get("max_chars", 400_000)
    listed = {link["url"] for link in result["data"]["links"]} if "links" in expect else set()
    assert set(expect.get("links", [])) <= listed
    assert b"\0" not in text.encode("utf-8")
    assert "\\u0000" not in text
