"""Named cases of how model replies, retries and fallbacks must behave, each by its id."""

import json
from typing import Any

import pytest
from support.model_server import Call, ModelServer, Turn

from backend.agent.types import Delta, ModelReply, ModelRequest
from backend.cancel import CancelToken
from backend.errors import ModelError, ModelQuotaExceeded, ModelRefusedRequest, ModelTransient
from backend.llm.fallback import FallbackProvider, Link
from backend.llm.openai_compat import OpenAICompatible
from backend.llm.retrying import RetryPolicy
from backend.llm.server import ServerSettings, Shared
from backend.llm.wire import ReadOptions, ReplyReader

MESSAGES = [{"role": "user", "content": "Hi."}]


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n"
    )


def parse(*chunks: bytes, tools: tuple[str, ...] = ("f", "g")) -> ModelReply:
    reader = ReplyReader(ReadOptions(tools))
    for piece in (*chunks, b"data: [DONE]\n\n"):
        reader.feed(piece)
    reader.finish()
    return reader.reply()


def piece(index: int, arguments: str, **more: Any) -> bytes:
    name = more.pop("name", None)
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return chunk({"tool_calls": [{"index": index, "function": function, **more}]})


def test_nb_par_01_interleaved_fragments() -> None:
    reply = parse(
        piece(0, '{"x":', id="a", name="f"), piece(1, '{"y": 2}', id="b", name="g"), piece(0, " 1}"), chunk({}, "tool_calls")
    )  # fmt: skip
    assert [(c.id, c.name, json.loads(c.arguments)) for c in reply.tool_calls] == [
        ("a", "f", {"x": 1}),
        ("b", "g", {"y": 2}),
    ]


def test_nb_par_02_stop_with_calls_is_tool_calls() -> None:
    assert parse(piece(0, "{}", id="a", name="f"), chunk({}, "stop")).finish_reason == "tool_calls"


def test_nb_par_04_two_streamed_calls_with_one_id() -> None:
    calls = parse(
        piece(0, '{"x": 1}', id="dup", name="f"), piece(1, '{"x": 2}', id="dup", name="f"), chunk({}, "stop")
    ).tool_calls
    assert len({c.id for c in calls}) == 2
    assert [json.loads(c.arguments)["x"] for c in calls] == [1, 2]


def test_nb_par_05_no_id_at_all() -> None:
    made = parse(piece(0, "{}", name="f"), chunk({}, "tool_calls")).tool_calls[0]
    assert made.id
    assert made.to_openai_tool_call()["id"] == made.id


def test_nb_par_06_empty_choices() -> None:
    with pytest.raises(ModelTransient, match="empty"):
        parse(b'data: {"choices": []}\n\n')


def test_nb_par_07_old_style_function_call() -> None:
    deltas = [{"name": "f", "arguments": ""}, {"arguments": '{"x":'}, {"arguments": " 1}"}]
    reply = parse(*(chunk({"function_call": d}) for d in deltas), chunk({}, "function_call"))
    assert [(c.name, json.loads(c.arguments)) for c in reply.tool_calls] == [("f", {"x": 1})]


def test_nb_par_09_structured_calls_win_over_markup_in_text() -> None:
    markup = '<tool_call>{"name": "g", "arguments": {}}</tool_call>'
    reply = parse(chunk({"content": markup}), piece(0, "{}", id="a", name="f"), chunk({}, "tool_calls"))
    assert [c.name for c in reply.tool_calls] == ["f"]


def test_nb_str_03_thoughts_inside_the_text() -> None:
    reply = parse(chunk({"content": "<think>x</think>y"}), chunk({}, "stop"))
    assert (reply.reasoning, reply.text) == ("x", "y")


# ---------------------------------------------------------------- retries and fallback
class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def wait(self, seconds: float, cancelled: CancelToken) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return cancelled.is_set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provider(model_server: ModelServer, clock: Clock) -> Any:
    policy = RetryPolicy(wait=clock.wait, chance=lambda: 0.0, now=lambda: clock.now)
    made = OpenAICompatible(ServerSettings("p", model_server.url), Shared(retry=policy))
    yield made
    made.close()


def ask(provider: Any, model: str = "first", shown: list[Delta] | None = None, **fields: Any) -> ModelReply:
    on_delta = shown.append if shown is not None else None
    reply: ModelReply = provider.chat(ModelRequest(model, MESSAGES, **fields), on_delta, CancelToken())
    return reply


def test_nb_rty_01_transient_then_fine(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(status=503), Turn(text="ok")])
    assert ask(provider).text == "ok"
    assert clock.waits == [1.0]


def test_nb_rty_02_transient_for_ever(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(status=503)] * 9)
    with pytest.raises(ModelTransient) as caught:
        ask(provider)
    assert clock.waits == [1.0, 2.0, 4.0]
    assert len(model_server.requests()) == 4
    assert caught.value.message.count("given up") == 1


@pytest.mark.parametrize("status", [400, 401])
def test_nb_rty_03_not_transient(model_server: ModelServer, provider: Any, status: int) -> None:
    model_server.script("first", [Turn(status=status)] * 9)
    with pytest.raises(ModelError):
        ask(provider)
    assert len(model_server.requests()) == 1


def test_nb_rty_04_two_kinds_of_429(model_server: ModelServer, provider: Any) -> None:
    model_server.script("first", [
        Turn(status=429, body={"error": {"message": "slow down", "code": "rate_limit_exceeded"}}), Turn(text="ok"),
        Turn(status=429, body={"error": {"message": "no credit", "code": "insufficient_quota"}}), Turn(text="never"),
    ])  # fmt: skip
    assert ask(provider).text == "ok"
    with pytest.raises(ModelQuotaExceeded):
        ask(provider)
    assert len(model_server.requests()) == 3


@pytest.mark.parametrize(("headers", "least"), [({"Retry-After": "5"}, 5.0), ({"retry-after-ms": "1500"}, 1.5)])
def test_nb_rty_05_server_names_the_wait(
    model_server: ModelServer, provider: Any, clock: Clock, headers: dict[str, str], least: float
) -> None:
    model_server.script("first", [Turn(status=429, headers=headers), Turn(text="ok")])
    ask(provider)
    assert least <= clock.waits[0] <= least + 1


def chain(provider: Any, clock: Clock, **own: Any) -> FallbackProvider:
    return FallbackProvider(
        [Link(provider, "first", "First"), Link(provider, "second", "Second", **own)], clock=lambda: clock.now
    )


def test_nb_rty_06_fallback_order(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(status=503)] * 4)
    model_server.script("second", [Turn(text=["a", "b"])])
    shown: list[Delta] = []
    assert ask(chain(provider, clock), shown=shown).text == "ab"
    assert [r.model for r in model_server.requests()] == ["first"] * 4 + ["second"]
    assert [d.code for d in shown if d.code] == ["retry_wait"] * 3 + ["fallback"]
    assert "".join(d.text for d in shown[4:]) == "ab"
    assert "Second" in shown[3].text


def test_nb_rty_07_breaker(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(status=401)] * 3 + [Turn(text="well again")])
    model_server.script("second", [Turn(text="second")] * 9)
    both = chain(provider, clock)
    for _ in range(5):
        assert ask(both).text == "second"
    assert len(model_server.requests("first")) == 3
    clock.now += 61
    assert ask(both).text == "well again"


def test_nb_rty_08_fallback_has_its_own_settings(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(status=401)])
    model_server.script("second", [Turn(text="ok")])
    ask(chain(provider, clock, max_tokens=77, temperature=0.1), max_tokens=5, temperature=0.9)
    first, second = model_server.requests()
    assert (first.body["max_tokens"], first.body["temperature"]) == (5, 0.9)
    assert (second.body["max_tokens"], second.body["temperature"]) == (77, 0.1)


# ---------------------------------------------------------------- more of the chain
def test_no_fallback_after_visible_text(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(text=["shown", "never"], cut_after=1)])
    shown: list[Delta] = []
    with pytest.raises(ModelTransient) as caught:
        ask(chain(provider, clock), shown=shown)
    assert caught.value.partial_text == "shown"
    assert model_server.requests("second") == []


def test_no_fallback_for_what_another_model_would_not_cure(
    model_server: ModelServer, provider: Any, clock: Clock
) -> None:
    model_server.script("first", [Turn(status=413)] * 9)
    for _ in range(4):
        with pytest.raises(ModelError, match="longer"):
            ask(chain(provider, clock))
    assert model_server.requests("second") == []


def test_the_breaker_lets_one_probe_through_at_a_time(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    import threading

    gate = threading.Event()
    probe = Turn(text="x", gate=gate)
    model_server.script("first", [Turn(status=401)] * 3 + [probe])
    model_server.script("second", [Turn(text="second")] * 9)
    both = chain(provider, clock)
    for _ in range(3):
        ask(both)
    clock.now += 61
    thread = threading.Thread(target=ask, args=(both,))
    thread.start()
    assert probe.held.wait(5)
    assert ask(both).text == "second"
    gate.set()
    thread.join()
    assert len(model_server.requests("first")) == 4


def test_a_failed_probe_opens_the_breaker_again(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(status=401)] * 9)
    model_server.script("second", [Turn(text="second")] * 9)
    both = chain(provider, clock)
    for _ in range(3):
        ask(both)
    clock.now += 61
    ask(both)
    clock.now += 30
    ask(both)
    assert len(model_server.requests("first")) == 4


def test_when_all_fail_the_last_error_is_told(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(status=401)])
    model_server.script("second", [Turn(status=400, body={"error": {"message": "the second's reason"}})])
    with pytest.raises(ModelRefusedRequest, match="the second's reason"):
        ask(chain(provider, clock))


def test_calls_come_through_the_chain(model_server: ModelServer, provider: Any, clock: Clock) -> None:
    model_server.script("first", [Turn(status=401)])
    model_server.script("second", [Turn(tool_calls=[Call("f", {"x": 1})])])
    shown: list[Delta] = []
    assert ask(chain(provider, clock), shown=shown).tool_calls[0].name == "f"
    assert [d.code for d in shown] == ["fallback"]
