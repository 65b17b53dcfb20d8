"""What the OpenAI-compatible provider sends: the request, and what refusals have taught it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from llm_client import KEY, MESSAGES, TOOL, Client
from support.model_server import ModelServer, Turn

from backend.errors import ModelError, ModelRefusedRequest
from backend.llm.lessons import KEPT_SECONDS, QuirkMemory


# ---------------------------------------------------------------- lessons
def refusing(
    message: str, wrong: Callable[[dict[str, Any]], bool], status: int = 400, **error: Any
) -> Callable[[dict[str, Any]], Turn]:
    """A server that refuses with a message as long as `wrong` holds of the request."""
    return lambda body: (
        Turn(status=status, body={"error": {"message": message, **error}}) if wrong(body) else Turn(text="ok")
    )


def has(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda body: name in body


PAST_CALL = [
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "calculator", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "S"}}}]},
    {"role": "tool", "tool_call_id": "call_1", "name": "calculator", "content": "4"},
]  # fmt: skip


def assistant(body: dict[str, Any]) -> dict[str, Any]:
    return next(m for m in body["messages"] if m["role"] == "assistant")


LESSONS: dict[str, tuple[Callable[[dict[str, Any]], Turn], dict[str, Any]]] = {
    "stream_options": (refusing("property 'stream_options' is unsupported, did you mean 'stream'?", has("stream_options")), {}),
    "stream_options, extra": (refusing("stream_options: Extra inputs are not permitted", has("stream_options"), 422), {}),
    "max_tokens": (refusing("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", has("max_tokens")), {}),
    "max_tokens too large": (refusing("max_tokens is too large: 100000. This model supports at most 16384 completion tokens", has("max_tokens")), {}),
    "temperature": (refusing("Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", has("temperature")), {}),
    "temperature, deprecated": (refusing("`temperature` is deprecated for this model.", has("temperature")), {}),
    "thinking": (refusing("Unrecognized request argument supplied: reasoning_effort", has("reasoning_effort")), {"thinking": True}),
    "stream": (refusing("Streaming is not supported by this model", lambda b: bool(b.get("stream"))), {}),
    "tools": (refusing("registry.ollama.ai/library/x does not support tools", has("tools")), {}),
    "tools, no endpoint": (refusing("No endpoints found that support tool use.", has("tools"), 404), {}),
    "tools, vllm": (refusing('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', has("tools")), {}),
    "system role": (refusing("Unsupported value: 'messages[0].role' does not support 'system' with this model.", lambda b: b["messages"][0]["role"] == "system"), {}),
    "system, developer": (refusing("Developer instruction is not enabled for this model", lambda b: b["messages"][0]["role"] == "system"), {}),
    "system not supported": (refusing("System role not supported", lambda b: b["messages"][0]["role"] != "user"), {}),
    "roles alternate": (
        refusing("Conversation roles must alternate user/assistant/user/assistant/...", lambda b: [m["role"] for m in b["messages"]] != ["system", "user"]),
        {"messages": [*MESSAGES, {"role": "user", "content": "And?"}]},
    ),
    "reasoning is missing": (
        refusing("Missing `reasoning_content` field in the assistant message at message index 1.", lambda b: "reasoning_content" not in assistant(b)),
        {"messages": [PAST_CALL[0], {k: v for k, v in PAST_CALL[1].items() if k != "reasoning_content"}, PAST_CALL[2]]},
    ),
    "reasoning is refused": (
        refusing("messages[1].reasoning_content: Extra inputs are not permitted", lambda b: "reasoning_content" in assistant(b)),
        {"messages": PAST_CALL},
    ),
    "ids of nine": (
        refusing("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", lambda b: len(assistant(b)["tool_calls"][0]["id"]) != 9),
        {"messages": PAST_CALL},
    ),
    "ids used twice": (
        refusing("Duplicate value for 'tool_call_id' of call_1 in message", lambda b: len({c["id"] for m in b["messages"] for c in m.get("tool_calls", ())}) < 2),
        {"messages": [*PAST_CALL, *PAST_CALL]},
    ),
    "tools while streaming": (refusing("This model doesn't support tool use in streaming mode.", lambda b: bool(b.get("stream"))), {}),
    "ids too long": (
        refusing("Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40", lambda b: len(assistant(b)["tool_calls"][0]["id"]) > 5 and assistant(b)["tool_calls"][0]["id"] == "call_1"),
        {"messages": PAST_CALL},
    ),
    "null content": (
        refusing("Input should be a valid string: messages.1.content must be a string", lambda b: assistant(b)["content"] is None, 422),
        {"messages": PAST_CALL},
    ),
    "name in results": (
        refusing("Unrecognized key(s) in object: messages.2.name: property 'name' is unsupported", lambda b: any("name" in m for m in b["messages"])),
        {"messages": PAST_CALL},
    ),
    "extra_content": (
        refusing("messages.1.tool_calls.0.extra_content: Extra inputs are not permitted", lambda b: "extra_content" in assistant(b)["tool_calls"][0]),
        {"messages": PAST_CALL},
    ),
    "schema": (
        refusing("Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
                 lambda b: "additionalProperties" in b["tools"][0]["function"]["parameters"]),
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LESSONS)
def test_a_refusal_teaches_and_is_remembered(model_server: ModelServer, client: Client, name: str) -> None:
    play, fields = LESSONS[name]
    model_server.script("m", [play] * 12)
    asked = {"tools": [TOOL], "temperature": 0.5, "max_tokens": 100, **fields}
    assert client.ask(**asked).text == "ok"
    taught = len(model_server.requests())
    assert 2 <= taught <= 4
    assert client.ask(**asked).text == "ok"
    assert len(model_server.requests()) == taught + 1
    assert client.waits.seconds == []
    legal = [
        why
        for why in model_server.violations
        if "without a name" not in why and "empty text beside" not in why and "not the user's" not in why
    ]
    assert legal == []


def test_a_lesson_holds_for_its_model_only(model_server: ModelServer, client: Client) -> None:
    play = refusing("'temperature' is not supported", has("temperature"))
    model_server.script("m", [play] * 3)
    client.ask(temperature=0.5)
    client.ask("other", temperature=0.5)
    assert "temperature" in model_server.requests("other")[0].body


def test_lessons_are_kept_for_a_day(model_server: ModelServer) -> None:
    kept: dict[str, dict[str, Any]] = {}
    now = [1000.0]

    def memory() -> QuirkMemory:
        return QuirkMemory(kept.get, kept.__setitem__, clock=lambda: now[0])

    model_server.script("m", [refusing("'temperature' is not supported", has("temperature"))] * 9)
    counts = []
    for wait in (0, KEPT_SECONDS - 1, 2):
        now[0] += wait
        before = len(model_server.requests())
        client = Client(model_server.url, memory=memory())
        assert client.ask(temperature=0.5).text == "ok"
        counts.append(len(model_server.requests()) - before)
    assert counts == [2, 1, 2]


def test_the_same_refusal_for_ever_is_an_error(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [refusing("'temperature' is not supported", lambda b: True)] * 20)
    with pytest.raises(ModelRefusedRequest):
        client.ask(temperature=0.5)
    assert len(model_server.requests()) <= 3


def test_how_a_model_begins_its_answers_is_learned_and_unlearned(model_server: ModelServer, client: Client) -> None:
    model_server.script(
        "m", [Turn(text="hm</think>\n\none"), Turn(text="hm again</think>two"), Turn(text="three"), Turn(text="four")]
    )
    replies = [client.ask() for _ in range(4)]
    assert [(r.reasoning, r.text) for r in replies] == [
        ("hm", "one"),
        ("hm again", "two"),
        ("three", "three"),
        ("", "four"),
    ]


def test_a_model_without_tools_says_so_once(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [refusing("m does not support tools", has("tools"))] * 4)
    client.ask(tools=[TOOL])
    client.ask(tools=[TOOL])
    assert client.notices == ["tools_refused"]


# ---------------------------------------------------------------- the request
def test_what_a_strict_server_wants(model_server: ModelServer, client: Client) -> None:
    messages = [
        {"role": "user", "content": "a\ud83c"},
        {"role": "assistant", "content": "", "anthropic_thinking": [{}], "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "calculator", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "4"},
    ]  # fmt: skip
    before = json.dumps(messages)
    client.ask(messages=messages)
    sent = model_server.requests()[0].messages
    assert sent[1] == {"role": "assistant", "content": None, "tool_calls": messages[1]["tool_calls"]}
    assert sent[2]["name"] == "calculator"
    assert sent[0]["content"] == "a?"
    assert "tools" not in model_server.requests()[0].body
    assert json.dumps(messages) == before
    assert model_server.violations == []


def test_names_that_a_model_made_up_go_back_in_a_legal_form(model_server: ModelServer, client: Client) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "get weather (now)!", "arguments": "{}"}}
    client.ask(messages=[{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": "c", "name": "get weather (now)!", "content": "no such tool"}])  # fmt: skip
    sent = model_server.requests()[0].messages
    assert sent[1]["tool_calls"][0]["function"]["name"] == sent[2]["name"] == "get_weather_now_"


def test_a_tool_without_arguments_has_a_schema(model_server: ModelServer, client: Client) -> None:
    client.ask(
        tools=[
            {"type": "function", "function": {"name": "a"}},
            {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}}},
        ]
    )
    assert [t["function"]["parameters"] for t in model_server.requests()[0].body["tools"]] == [
        {"type": "object", "properties": {}}
    ] * 2


def test_reasoning_goes_back_with_calls_only(model_server: ModelServer, client: Client) -> None:
    messages = [
        *PAST_CALL,
        {"role": "assistant", "content": "4", "reasoning_content": "done"},
        {"role": "user", "content": "?"},
    ]
    client.ask(messages=messages)
    assert ["reasoning_content" in m for m in model_server.requests()[0].messages] == [False, True, False, False, False]


def test_own_headers_and_parameters(model_server: ModelServer) -> None:
    client = Client(
        model_server.url,
        headers={"X-Title": "t"},
        parameters={"top_k": 5, "model": "no"},
        key_header="api-key",
        query="api-version=1",
    )
    assert client.provider._url().endswith("/chat/completions?api-version=1")
    client = Client(
        model_server.url, headers={"X-Title": "t"}, parameters={"top_k": 5, "model": "no"}, key_header="api-key"
    )
    client.ask()
    sent = model_server.requests()[0]
    assert (sent.headers["x-title"], sent.headers["api-key"]) == ("t", KEY)
    assert "authorization" not in sent.headers
    assert (sent.body["top_k"], sent.body["model"]) == (5, "m")


@pytest.mark.parametrize(("style", "on", "sent"), [("enable_thinking", True, True), ("enable_thinking", False, False)])
def test_thinking_is_switched_as_the_provider_wants(
    model_server: ModelServer, style: str, on: bool, sent: bool
) -> None:
    client = Client(model_server.url, thinking=style)
    client.ask(thinking=on)
    assert model_server.requests()[0].body["enable_thinking"] is sent


@pytest.mark.parametrize("key", ["sk-1\nX-Evil: 1", "sk\r\n\r\nGET /"])
def test_a_key_with_a_line_break_is_never_sent(model_server: ModelServer, key: str) -> None:
    with pytest.raises(ModelError, match="line break"):
        Client(model_server.url, api_key=key).ask()
    assert model_server.requests() == []


def test_blanks_around_a_pasted_key_are_left_out(model_server: ModelServer) -> None:
    Client(model_server.url, api_key=" sk-pasted\n").ask()
    assert model_server.requests()[0].headers["authorization"] == "Bearer sk-pasted"


def test_many_tokens_a_minute_are_a_rate_limit_and_not_a_long_request(
    model_server: ModelServer, client: Client
) -> None:
    body = {
        "error": {
            "message": "Rate limit exceeded: more than the maximum of 10000 tokens per minute",
            "code": "rate_limit_exceeded",
        }
    }
    model_server.script("m", [Turn(status=429, body=body), Turn(text="ok")])
    assert client.ask().text == "ok"


def test_the_list_of_models(model_server: ModelServer, client: Client) -> None:
    assert client.provider.list_models() == ["scripted-model"]
