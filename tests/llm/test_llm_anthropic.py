"""The messages API: what is sent, what is read, against a real HTTP server that checks the pairing."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from backend.agent.types import Delta, ModelReply, ModelRequest
from backend.cancel import CancelToken
from backend.errors import ContextTooLong, ModelAuthError, ModelError, ModelRateLimited, ModelTransient
from backend.llm.anthropic import THINKING_FIELD, Anthropic
from backend.llm.retrying import RetryPolicy
from backend.llm.server import ServerSettings, Shared

TOOL = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "d",
        "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}},
    },
}
Answer = tuple[int, Any]


class Server:
    """Answers in order; a list of events is streamed, anything else sent as JSON."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.owner.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer()

    def _answer(self) -> None:
        self.owner.headers.append({k.lower(): v for k, v in self.headers.items()} | {"path": self.path})
        status, answer = self.owner.answers.pop(0)
        stream = isinstance(answer, list)
        data = (
            b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in answer)
            if stream
            else json.dumps(answer).encode()
        )
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


class Client:
    def __init__(self, url: str) -> None:
        policy = RetryPolicy(wait=lambda seconds, cancelled: False, chance=lambda: 0.0)
        self.provider = Anthropic(ServerSettings("a", url, "secret-key-of-tests"), Shared(retry=policy))
        self.shown: list[Delta] = []

    def ask(self, messages: list[dict[str, Any]] | None = None, **fields: Any) -> ModelReply:
        request = ModelRequest("claude-x", messages or [{"role": "user", "content": "Hi."}], **fields)
        return self.provider.chat(request, self.shown.append, CancelToken())


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    made = Client(server.url)
    yield made
    made.provider.close()


def events(*blocks: dict[str, Any], stop: str | None = "end_turn", usage: int = 7) -> list[dict[str, Any]]:
    """A streamed message of whole blocks."""
    out: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "model": "claude-x-1",
                "usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 1},
            },
        },
        {"type": "ping"},
    ]
    for index, block in enumerate(blocks):
        deltas = block.pop("deltas", [])
        out.append({"type": "content_block_start", "index": index, "content_block": block})
        out += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        out.append({"type": "content_block_stop", "index": index})
    if stop:
        out.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": usage}})
        out.append({"type": "message_stop"})
    return out


def text(*pieces: str) -> dict[str, Any]:
    return {"type": "text", "text": "", "deltas": [{"type": "text_delta", "text": p} for p in pieces]}


def thought(words: str, signature: str) -> dict[str, Any]:
    return {
        "type": "thinking",
        "thinking": "",
        "deltas": [{"type": "thinking_delta", "thinking": words}, {"type": "signature_delta", "signature": signature}],
    }


def use(key: str, *pieces: str) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": key,
        "name": "calculator",
        "input": {},
        "deltas": [{"type": "input_json_delta", "partial_json": p} for p in pieces],
    }


def test_a_streamed_answer_with_thoughts_text_and_a_call(server: Server, client: Client) -> None:
    server.answers = [
        (
            200,
            events(
                thought("hm", "SIG"),
                {"type": "redacted_thinking", "data": "R"},
                text("Let ", "me."),
                use("t1", '{"expr', 'ession": "1"}'),
                stop="tool_use",
            ),
        )
    ]
    reply = client.ask(tools=[TOOL], thinking=True, max_tokens=8000)
    assert (reply.reasoning, reply.text, reply.finish_reason, reply.model) == (
        "hm",
        "Let me.",
        "tool_calls",
        "claude-x-1",
    )
    assert [(c.id, c.name, c.arguments, c.error) for c in reply.tool_calls] == [
        ("t1", "calculator", '{"expression": "1"}', None)
    ]
    assert reply.reasoning_fields == {
        THINKING_FIELD: [
            {"type": "thinking", "thinking": "hm", "signature": "SIG"},
            {"type": "redacted_thinking", "data": "R"},
        ]
    }
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (8, 7)
    assert [(d.kind, d.text) for d in client.shown] == [("reasoning", "hm"), ("text", "Let "), ("text", "me.")]
    sent, headers = server.requests[0], server.headers[0]
    assert headers["path"] == "/v1/messages"
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("secret-key-of-tests", "2023-06-01")
    assert sent["thinking"]["type"] == "enabled"
    assert sent["thinking"]["budget_tokens"] < sent["max_tokens"]
    assert sent["tools"] == [{"name": "calculator", "description": "d", "input_schema": TOOL["function"]["parameters"]}]


def test_the_conversation_is_put_in_blocks(server: Server, client: Client) -> None:
    server.answers = [(200, events(text("ok")))]
    call = {"type": "function", "function": {"name": "calculator", "arguments": '{"expression": "1"}'}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    client.ask(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look:"}, image]},
            {"role": "assistant", "content": None, THINKING_FIELD: [{"type": "thinking", "thinking": "hm", "signature": "S"}],
             "tool_calls": [{**call, "id": "functions.calculator:0"}, {**call, "id": "b"}]},
            {"role": "tool", "tool_call_id": "functions.calculator:0", "name": "calculator", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "name": "calculator", "content": ""},
            {"role": "user", "content": "And?"},
        ],
        thinking=True,
    )  # fmt: skip
    sent = server.requests[0]
    assert sent["system"][0]["text"] == "Be brief."
    assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "user"]
    assert sent["messages"][0]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    kinds = [b["type"] for b in sent["messages"][1]["content"]]
    assert kinds == ["thinking", "tool_use", "tool_use"]
    uses = [b["id"] for b in sent["messages"][1]["content"][1:]]
    results = [b["tool_use_id"] for b in sent["messages"][2]["content"][:2]]
    assert uses == results == ["functions_calculator_0", "b"]
    assert sent["messages"][2]["content"][2]["text"] == "And?"


def test_no_thinking_where_the_turn_has_calls_without_it(server: Server, client: Client) -> None:
    server.answers = [(200, events(text("ok")))]
    call = {"id": "a", "type": "function", "function": {"name": "calculator", "arguments": "{}"}}
    client.ask(
        [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
        ],
        thinking=True,
    )
    assert "thinking" not in server.requests[0]


def test_an_answer_that_is_not_streamed(server: Server, client: Client) -> None:
    server.answers = [(200, {"type": "message", "model": "m", "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "calculator", "input": {"expression": "1"}}],
                             "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}})]  # fmt: skip
    reply = client.ask(stream=False)
    assert (reply.text, reply.tool_calls[0].arguments) == ("hi", '{"expression": "1"}')


@pytest.mark.parametrize(
    ("stop", "reason"), [("end_turn", "stop"), ("max_tokens", "length"), ("refusal", "refusal"), ("pause_turn", "stop")]
)
def test_stop_reasons(server: Server, client: Client, stop: str, reason: str) -> None:
    server.answers = [(200, events(text("hi"), stop=stop))]
    assert client.ask().finish_reason == reason


def test_a_call_in_a_cut_answer_is_not_run(server: Server, client: Client) -> None:
    server.answers = [(200, events(use("t", '{"expr'), stop="max_tokens"))]
    reply = client.ask()
    assert reply.finish_reason == "length"
    assert reply.tool_calls[0].error


def test_a_stream_without_its_end_is_tried_again(server: Server, client: Client) -> None:
    server.answers = [(200, events(use("t", '{"expr'), stop=None)), (200, events(text("ok")))]
    reply = client.ask()
    assert (reply.text, reply.requests) == ("ok", 2)


ERRORS: list[tuple[int, str, str, type[ModelError]]] = [
    (401, "authentication_error", "invalid x-api-key", ModelAuthError),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextTooLong),
    (429, "rate_limit_error", "This request would exceed your rate limit", ModelRateLimited),
    (529, "overloaded_error", "Overloaded", ModelTransient),
]


@pytest.mark.parametrize(("status", "kind", "message", "error"), ERRORS)
def test_errors(server: Server, client: Client, status: int, kind: str, message: str, error: type[ModelError]) -> None:
    server.answers = [(status, {"type": "error", "error": {"type": kind, "message": message}})] * 4
    with pytest.raises(error, match=message.split(":")[0]):
        client.ask()
    assert len(server.requests) == (4 if error.retryable else 1)


def test_an_error_in_the_stream(server: Server, client: Client) -> None:
    broken = [
        *events(text("so far"), stop=None),
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ]
    server.answers = [(200, broken)] * 4
    with pytest.raises(ModelTransient) as caught:
        client.ask()
    assert caught.value.partial_text == "so far"


def test_lessons(server: Server, client: Client) -> None:
    def refuse(message: str) -> Answer:
        return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}}

    server.answers = [
        refuse("max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-x"),
        refuse("`temperature` is deprecated for this model."),
        (200, events(text("ok"))),
        (200, events(text("ok"))),
    ]
    assert client.ask(temperature=1.5).text == "ok"
    assert client.ask(temperature=1.5).text == "ok"
    assert [r["max_tokens"] for r in server.requests] == [8192, 4096, 4096, 4096]
    assert [r.get("temperature") for r in server.requests] == [1.0, 1.0, None, None]


def test_the_models_of_the_server_are_listed(server: Server, client: Client) -> None:
    server.answers = [(200, {"data": [{"type": "model", "id": "claude-b"}, {"id": "claude-a"}], "has_more": False})]
    assert client.provider.list_models() == ["claude-b", "claude-a"]
    (head,) = server.headers
    assert head["path"].split("?")[0] == "/v1/models"
    assert (head["x-api-key"], head["anthropic-version"]) == ("secret-key-of-tests", "2023-06-01")
    server.answers = [(401, {"type": "error", "error": {"type": "authentication_error", "message": "no such key"}})]
    with pytest.raises(ModelAuthError):
        client.provider.list_models()
