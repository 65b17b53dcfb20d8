"""The catalogue of models, the facts about them, scripts, and the search for local servers."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.model_server import ModelServer, Turn

from backend.agent.types import Delta, ModelRequest
from backend.cancel import CancelToken
from backend.errors import ModelCancelled, ModelError, ModelTransient, NotFound
from backend.llm.catalogue import Catalogue, CatalogueSettings, ProviderConfig
from backend.llm.facts import ModelTable
from backend.llm.offline import OfflineProvider
from backend.llm.probe import probe_local
from backend.llm.scripted import ScriptedProvider

MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Hi."}]


def config(server: ModelServer | None = None, **fields: Any) -> ProviderConfig:
    url = server.url if server else "http://127.0.0.1:9/v1"
    return ProviderConfig(
        **{
            "id": "one",
            "name": "One",
            "base_url": url,
            "api_key": "sk-secret-secret-secret",
            "models": ("m1", "m2"),
            **fields,
        }
    )


@pytest.fixture
def opened() -> Iterator[list[Catalogue]]:
    """Catalogues to be closed after the test."""
    made: list[Catalogue] = []
    yield made
    for catalogue in made:
        catalogue.close()


def test_without_providers_the_offline_one_is_the_default() -> None:
    catalogue = Catalogue()
    assert catalogue.default_model() == "offline"
    assert isinstance(catalogue.resolve(None).provider, OfflineProvider)
    assert [m["id"] for m in catalogue.models()] == ["offline"]
    with pytest.raises(NotFound):
        catalogue.resolve("gpt-4o")


def test_names_find_their_provider() -> None:
    second = config(id="two", name="Two", models=("x/y", "m3"))
    catalogue = Catalogue([config(), second])
    found = {name: (catalogue.resolve(name).provider_id, catalogue.resolve(name).model) for name in
             ("m1", "m3", "one/m2", "two/m3", "x/y", "two/x/y", "anything", "two/anything", "z/anything", "", "offline")}  # fmt: skip
    assert found == {
        "m1": ("one", "m1"), "m3": ("two", "m3"), "one/m2": ("one", "m2"), "two/m3": ("two", "m3"), "x/y": ("two", "x/y"), "two/x/y": ("two", "x/y"),
        "anything": ("one", "anything"), "two/anything": ("two", "anything"), "z/anything": ("one", "z/anything"), "": ("one", "m1"), "offline": ("offline", "offline"),
    }  # fmt: skip


def test_names_that_the_admin_has_limited() -> None:
    catalogue = Catalogue([config(options={"only_listed": True})])
    assert catalogue.resolve("m2").model == "m2"
    with pytest.raises(NotFound):
        catalogue.resolve("m9")


def test_an_answer_through_the_catalogue_has_its_cost(model_server: ModelServer, opened: list[Catalogue]) -> None:
    catalogue = Catalogue([config(model_server, models=("gpt-4o",))])
    opened.append(catalogue)
    model_server.script("gpt-4o", [Turn(text="hi", usage=(1000, 100))])
    resolved = catalogue.resolve(None)
    reply = resolved.provider.chat(ModelRequest(resolved.model, MESSAGES), None, CancelToken())
    assert (reply.usage.cost_micros, reply.usage.currency) == (3500, "USD")
    assert (resolved.context_window, resolved.images) == (128_000, True)


def test_models_on_offer_hold_no_secret() -> None:
    catalogue = Catalogue([config(models=("gpt-4o", "mystery"))])
    rows = catalogue.models()
    assert [(r["id"], r["default"], r["images"]) for r in rows] == [
        ("one/gpt-4o", True, True),
        ("one/mystery", False, False),
        ("offline", False, False),
    ]
    assert rows[0]["input_micros"] == 2_500_000
    assert rows[1]["currency"] is None
    assert "secret" not in json.dumps(rows) + repr(config())


def test_a_reload_keeps_what_did_not_change() -> None:
    other = config(id="two", name="Two", models=("m3",))
    catalogue = Catalogue([config(), other])
    before = [catalogue.resolve(m).provider for m in ("m1", "m3")]
    catalogue.reload([config(), config(id="two", name="Two", models=("m3",), api_key="new")])
    after = [catalogue.resolve(m).provider for m in ("m1", "m3")]
    assert after[0] is before[0]
    assert after[1] is not before[1]


def test_a_fallback_by_configuration(model_server: ModelServer, opened: list[Catalogue]) -> None:
    first = config(model_server, options={"fallback": [{"model": "two/m3", "max_tokens": 9}, "offline"]})
    catalogue = Catalogue([first, config(model_server, id="two", name="Two", models=("m3",))])
    opened.append(catalogue)
    model_server.script("m1", [Turn(status=401)] * 2)
    model_server.script("m3", [Turn(text="from three"), Turn(status=401)])
    shown: list[Delta] = []
    resolved = catalogue.resolve("m1")
    assert resolved.provider.chat(ModelRequest("m1", MESSAGES), shown.append, CancelToken()).text == "from three"
    assert shown[0].code == "fallback"
    assert "Two (m3)" in shown[0].text
    assert model_server.requests("m3")[0].body["max_tokens"] == 9
    assert (
        "No language model"
        in catalogue.resolve("m1").provider.chat(ModelRequest("m1", MESSAGES), None, CancelToken()).text
    )
    assert catalogue.resolve("m1").provider is resolved.provider


def test_a_test_call(model_server: ModelServer) -> None:
    model_server.script("m1", [Turn(text="OK"), Turn(status=401)])
    good = Catalogue().test(config(model_server))
    assert (good["ok"], good["text"], good["error"]) == (True, "OK", None)
    bad = Catalogue().test(config(model_server))
    assert (bad["ok"], bad["code"]) == (False, "model_auth")
    assert "secret" not in json.dumps(bad)


def test_a_test_call_without_a_model_asks_for_the_list(model_server: ModelServer) -> None:
    model_server.script("scripted-model", [Turn(text="OK")])
    assert Catalogue().test(config(model_server, models=()))["model"] == "scripted-model"


def test_a_test_call_of_an_address_that_is_none_tells_why() -> None:
    for models in ((), ("m",)):
        told = Catalogue().test(config(base_url="nonsense", models=models))
        assert told["ok"] is False
        assert "base URL" in told["error"]


# ---------------------------------------------------------------- facts
def test_facts_of_models() -> None:
    table = ModelTable()
    assert table.facts("openai/gpt-4o-mini-2024").input_micros == 150_000
    assert table.facts("GPT-4o").images
    assert table.facts("claude-sonnet-4-5").context_window == 200_000
    assert table.facts("no-one-knows-it").context_window == 32_768
    assert table.facts("no-one-knows-it").cost(1000, 1000) == (0, "USD")


def test_the_admins_entries_come_first(tmp_path: Path) -> None:
    own = tmp_path / "models.toml"
    own.write_text(
        '[defaults]\ncontext = 9\n[[model]]\nmatch = "gpt-4o"\ninput_micros = 1_000_000\ncurrency = "EUR"\n',
        encoding="utf-8",
    )
    table = ModelTable(own)
    assert table.facts("gpt-4o").cost(2, 5) == (2, "EUR")
    assert table.facts("unknown").context_window == 9
    assert table.problem == ""


@pytest.mark.parametrize(
    "content",
    [
        "not toml",
        "[[model]]\ncontext = 5\n",
        '[[model]]\nmatch = "a"\ncontext = "big"\n',
        '[[model]]\nmatch = "a"\ninput_micros = -1\n',
    ],
)
def test_a_broken_file_of_the_admin_is_ignored_and_named(tmp_path: Path, content: str) -> None:
    own = tmp_path / "models.toml"
    own.write_text(content, encoding="utf-8")
    catalogue = Catalogue(settings=CatalogueSettings(models_file=own))
    assert "models.toml is ignored" in catalogue.problem
    assert catalogue.cost("gpt-4o", 1_000_000, 0)[0] > 0


# ---------------------------------------------------------------- local servers
def test_a_local_server_is_found(model_server: ModelServer) -> None:
    port = int(model_server.url.rsplit(":", 1)[1].split("/")[0])
    found = probe_local([(9, "Nobody"), (port, "Somebody"), (port, "Skipped")], timeout=2.0)
    assert (
        found[0].to_json()
        == {"name": "Somebody", "base_url": f"http://127.0.0.1:{port}/v1", "models": ["scripted-model"]}
        or found[0].name == "Skipped"
    )
    assert probe_local([(port, "Own")], skip=(port,)) == []


def test_what_is_no_model_server_is_not_found() -> None:
    import http.server

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    assert probe_local([(server.server_address[1], "Page")], timeout=2.0) == []
    server.shutdown()
    server.server_close()
    thread.join()


# ---------------------------------------------------------------- scripts
def test_a_script_is_played_in_order() -> None:
    provider = ScriptedProvider([
        {"reasoning": "hm", "text": "Let me see.", "tool_calls": [{"name": "f", "arguments": {"x": 1}, "id": "a"}], "usage": [5, 2]},
        lambda request: {"text": f"{len(request.messages)} messages"},
        {"error": "out of order", "retryable": True, "text": "so far"},
    ])  # fmt: skip
    shown: list[Delta] = []
    first = provider.chat(ModelRequest("s", MESSAGES), shown.append, CancelToken())
    assert (first.text, first.reasoning, first.finish_reason, first.usage.prompt_tokens) == (
        "Let me see.",
        "hm",
        "tool_calls",
        5,
    )
    assert [(c.id, c.name, c.arguments) for c in first.tool_calls] == [("a", "f", '{"x": 1}')]
    assert "".join(d.text for d in shown) == "hmLet me see."
    assert provider.chat(ModelRequest("s", MESSAGES), None, CancelToken()).text == "1 messages"
    with pytest.raises(ModelTransient) as caught:
        provider.chat(ModelRequest("s", MESSAGES), None, CancelToken())
    assert caught.value.partial_text == "so far"
    assert provider.chat(ModelRequest("s", MESSAGES), None, CancelToken()).text == "The script has ended."
    assert len(provider.requests) == 4


def test_scenes_follow_the_users_words() -> None:
    script = {
        "scenes": [
            {"when": "weather", "turns": [{"tool_calls": [{"name": "w"}]}, {"text": "Rain."}]},
            {"turns": [{"text": "Hello."}]},
        ],
        "end": "That is all.",
    }
    provider = ScriptedProvider(script)
    user, answer = {"role": "user", "content": "the WEATHER?"}, {"role": "assistant", "content": "…"}

    def say(*messages: dict[str, Any]) -> str:
        return provider.chat(ModelRequest("s", list(messages)), None, CancelToken()).text

    assert provider.chat(ModelRequest("s", [user]), None, CancelToken()).tool_calls[0].name == "w"
    assert say(user, answer) == "Rain."
    assert say(user, answer, answer) == "That is all."
    assert say(user, answer, {"role": "user", "content": "Hi"}) == "Hello."


def test_a_script_from_a_file_and_through_the_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    path.write_text(json.dumps({"turns": [{"text": "From the file."}]}), encoding="utf-8")
    demo = ProviderConfig("demo", "Demo", "scripted", models=("scripted",), options={"script": str(path)})
    resolved = Catalogue([demo]).resolve("scripted")
    assert resolved.provider.chat(ModelRequest("scripted", MESSAGES), None, CancelToken()).text == "From the file."
    path.write_text("[broken", encoding="utf-8")
    with pytest.raises(ModelError, match=r"demo\.json"):
        ScriptedProvider.from_file(path)


def test_cancel_ends_a_script() -> None:
    cancel = CancelToken()
    provider = ScriptedProvider([{"text": ["one", "two"], "delay": 0.001}])
    with pytest.raises(ModelCancelled) as caught:
        provider.chat(ModelRequest("s", MESSAGES), lambda delta: cancel.set(), cancel)
    assert caught.value.partial_text == "one"


def test_a_provider_without_names_offers_what_its_server_lists(
    model_server: ModelServer, opened: list[Catalogue]
) -> None:
    model_server.models = ["text-embedding-3-small", "whisper-1", "big", "small"]
    catalogue = Catalogue([config(model_server, models=())])
    opened.append(catalogue)
    assert [m["id"] for m in catalogue.models()] == ["one/big", "one/small", "offline"]
    assert (catalogue.default_model(), catalogue.resolve(None).model) == ("one/big", "big")


def test_an_anthropic_server_without_names_offers_its_list_too(
    model_server: ModelServer, opened: list[Catalogue]
) -> None:
    model_server.models = ["claude-b", "claude-a"]
    catalogue = Catalogue([config(model_server, models=(), kind="anthropic")])
    opened.append(catalogue)
    assert [m["id"] for m in catalogue.models()] == ["one/claude-b", "one/claude-a", "offline"]


def test_a_server_that_cannot_be_asked_offers_nothing_until_it_answers(
    model_server: ModelServer, opened: list[Catalogue]
) -> None:
    catalogue = Catalogue([config(models=())])
    opened.append(catalogue)
    assert [m["id"] for m in catalogue.models()] == ["offline"]
    catalogue.reload([config(model_server, models=())])
    assert catalogue.models()[0]["provider_id"] == "one"
