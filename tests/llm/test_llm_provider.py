"""The OpenAI-compatible provider against real HTTP servers: retries, lessons, limits, cancel, connections."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from llm_raw import END, HEAD, event, raw_server, read_request
from support.model_server import Call, ModelServer, Turn

from backend.agent.types import Delta, ModelReply, ModelRequest
from backend.cancel import CancelToken
from backend.errors import (
    ContentFiltered,
    ContextTooLong,
    ModelAuthError,
    ModelCancelled,
    ModelError,
    ModelQuotaExceeded,
    ModelRateLimited,
    ModelRefusedRequest,
    ModelTimeout,
    ModelTransient,
)
from backend.llm.lessons import KEPT_SECONDS, QuirkMemory
from backend.llm.openai_compat import OpenAICompatible, base_of
from backend.llm.retrying import RetryPolicy
from backend.llm.server import ServerSettings, Shared

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
TOOL = {
    "type": "function",
    "function": {"name": "calculator", "description": "", "parameters": {"type": "object", "properties": {}}},
}
KEY = "sk-very-secret-key-1234567890"


class Waits:
    """Waits that take no time; `seconds` are those asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.time = 0.0

    def policy(self) -> RetryPolicy:
        return RetryPolicy(wait=self._wait, chance=lambda: 0.0, now=lambda: self.time)

    def _wait(self, seconds: float, cancelled: CancelToken) -> bool:
        self.seconds.append(seconds)
        self.time += seconds
        return cancelled.is_set()


OPEN: list[OpenAICompatible] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Every provider of a test gives its connections back."""
    yield
    while OPEN:
        OPEN.pop().close()


class Client:
    """A provider with what it showed."""

    def __init__(self, url: str, *, memory: QuirkMemory | None = None, **settings: Any) -> None:
        self.waits = Waits()
        self.memory = memory or QuirkMemory()
        self.shown: list[Delta] = []
        self.cancel = CancelToken()
        shared = Shared(memory=self.memory, retry=self.waits.policy(), cost=lambda m, p, c: (p + 10 * c, "EUR"))
        self.provider = OpenAICompatible(ServerSettings("p", url, **{"api_key": KEY, **settings}), shared)
        OPEN.append(self.provider)

    def ask(self, model: str = "m", **fields: Any) -> ModelReply:
        request = ModelRequest(model, fields.pop("messages", MESSAGES), **fields)
        return self.provider.chat(request, self.shown.append, self.cancel)

    @property
    def notices(self) -> list[str]:
        return [d.code or "" for d in self.shown if d.kind == "notice"]


@pytest.fixture
def client(model_server: ModelServer) -> Client:
    return Client(model_server.url)


# ---------------------------------------------------------------- an ordinary answer
def test_an_answer_with_everything(model_server: ModelServer, client: Client) -> None:
    model_server.script(
        "m",
        [
            Turn(
                reasoning=["h", "m"],
                text=["a", "b"],
                tool_calls=[Call("calculator", {"expression": "1"}, "c1")],
                usage=(5, 2),
            )
        ],
    )
    reply = client.ask(tools=[TOOL], temperature=0.5, max_tokens=9)
    assert (reply.reasoning, reply.text, reply.finish_reason) == ("hm", "ab", "tool_calls")
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [("c1", "calculator", '{"expression": "1"}')]
    assert reply.usage.to_json() == {
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "total_tokens": 7,
        "cost_micros": 25,
        "currency": "EUR",
    }
    assert reply.requests == 1
    assert "".join(d.text for d in client.shown if d.kind == "text") == "ab"
    sent = model_server.requests("m")[0]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert (sent.body["temperature"], sent.body["max_tokens"], sent.body["stream"]) == (0.5, 9, True)
    assert model_server.violations == []


def test_pieces_are_shown_as_they_arrive(model_server: ModelServer, client: Client) -> None:
    gate, seen = threading.Event(), threading.Event()
    model_server.script("m", [Turn(text="known now"), Turn(text=["first", "second"], gates={1: gate})])
    client.ask()
    pieces: list[str] = []

    def on_delta(delta: Delta) -> None:
        pieces.append(delta.text)
        seen.set()

    thread = threading.Thread(target=lambda: client.provider.chat(ModelRequest("m", MESSAGES), on_delta, CancelToken()))
    thread.start()
    assert seen.wait(5)
    assert pieces == ["first"]
    gate.set()
    thread.join()
    assert "".join(pieces) == "firstsecond"


def test_one_connection_serves_many_requests() -> None:
    seen: list[int] = []

    def answer(sock: socket.socket, data: bytes) -> None:
        while data:
            seen.append(sock.getpeername()[1])
            body = event("hi", "stop") + END
            sock.sendall(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            )
            data = read_request(sock)

    with raw_server(answer) as url:
        provider = Client(url).provider
        for _ in range(5):
            provider.chat(ModelRequest("m", MESSAGES), None, CancelToken())
    assert len(seen) == 5
    assert len(set(seen)) == 1


def test_a_kept_connection_that_the_server_closed_is_no_fault() -> None:
    def answer(sock: socket.socket, data: bytes) -> None:
        body = event("hi", "stop") + END
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        sock.close()

    with raw_server(answer) as url:
        client = Client(url)
        assert [client.ask().text for _ in range(3)] == ["hi"] * 3
    assert client.waits.seconds == []


def test_many_threads_at_once(model_server: ModelServer, client: Client) -> None:
    model_server.script("*", [Turn(text=f"answer {i}") for i in range(40)])
    texts: list[str] = []

    def work() -> None:
        for _ in range(5):
            texts.append(client.provider.chat(ModelRequest("m", MESSAGES), None, CancelToken()).text)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts) == sorted(f"answer {i}" for i in range(40))


@pytest.mark.parametrize("framing", ["length", "close", "gzip", "http/1.0", "interim"])
def test_framings_of_http(framing: str) -> None:
    import gzip

    body = event("hello ", None) + event("world", "stop") + END
    packed = gzip.compress(body)
    answers = {
        "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body),
        "close": HEAD + body,
        "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed),
        "http/1.0": b"HTTP/1.0 200 OK\n\n" + body,
        "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + HEAD + body,
    }

    def answer(sock: socket.socket, data: bytes) -> None:
        for i in range(0, len(answers[framing]), 7):
            sock.sendall(answers[framing][i : i + 7])
        sock.close()

    with raw_server(answer) as url:
        provider = Client(url).provider
        assert provider.chat(ModelRequest("m", MESSAGES), None, CancelToken()).text == "hello world"


# ---------------------------------------------------------------- retries
def test_transient_then_fine_waits_one_second(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [Turn(status=503), Turn(text="ok")])
    reply = client.ask()
    assert (reply.text, reply.requests) == ("ok", 2)
    assert client.waits.seconds == [1.0]
    assert client.notices == ["retry_wait"]


def test_transient_for_ever_gives_up_after_four_attempts(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [Turn(status=503)] * 9)
    with pytest.raises(ModelTransient, match="given up after 4 attempts"):
        client.ask()
    assert client.waits.seconds == [1.0, 2.0, 4.0]
    assert len(model_server.requests()) == 4


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_statuses_that_are_tried_again(model_server: ModelServer, client: Client, status: int) -> None:
    model_server.script("m", [Turn(status=status), Turn(text="ok")])
    assert client.ask().text == "ok"


FINAL: dict[str, tuple[int, Any, type[ModelError]]] = {
    "bad request": (400, {"error": {"message": "bad"}}, ModelRefusedRequest),
    "no key": (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, ModelAuthError),
    "no money": (402, {"error": {"message": "Insufficient credits"}}, ModelQuotaExceeded),
    "forbidden": (403, {"detail": "no access"}, ModelAuthError),
    "no model": (404, {"error": {"message": "model not found"}}, ModelRefusedRequest),
    "unprocessable": (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, ModelRefusedRequest),
    "quota": (
        429,
        {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
        ModelQuotaExceeded,
    ),
    "balance": (429, {"error": {"code": "1113", "message": "余额不足或无可用资源包,请充值。"}}, ModelQuotaExceeded),
    "bad key as 400": (
        400,
        [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}],
        ModelAuthError,
    ),
    "filter": (400, {"error": {"code": "content_filter", "message": "The response was filtered"}}, ContentFiltered),
    "page": (403, b"<html><title>Attention</title><body>blocked</body></html>", ModelAuthError),
}


@pytest.mark.parametrize("name", FINAL)
def test_final_errors_are_asked_once_and_told_without_a_dump(
    model_server: ModelServer, client: Client, name: str
) -> None:
    status, body, kind = FINAL[name]
    model_server.script("m", [Turn(status=status, body=body)] * 2)
    with pytest.raises(kind) as caught:
        client.ask()
    assert len(model_server.requests()) == 1
    assert client.waits.seconds == []
    assert not any(word in caught.value.message for word in ("{", "<", KEY))
    assert len(caught.value.message) < 500


def test_the_key_is_in_no_representation() -> None:
    assert KEY not in repr(ServerSettings("p", "http://x", api_key=KEY))


IN_FIVE_SECONDS = "in five seconds"
HINTS: dict[str, tuple[dict[str, str], str, float, float]] = {
    "seconds": ({"Retry-After": "5"}, "", 5, 5),
    "fraction": ({"Retry-After": "0.5"}, "", 0.5, 0.5),
    "with unit": ({"Retry-After": "7s"}, "", 7, 7),
    "milliseconds header": ({"retry-after-ms": "1500"}, "", 1.5, 1.5),
    "date": ({"Retry-After": IN_FIVE_SECONDS}, "", 2, 5),
    "past date": ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "", 0, 0),
    "nonsense": ({"Retry-After": "soon"}, "", 1, 1),
    "too long": ({"Retry-After": "3600"}, "", 60, 60),
    "text, seconds": ({}, "Please try again in 1.8s.", 1.8, 1.8),
    "text, minutes": ({}, "Please try again in 1m30.5s.", 60, 60),
    "text, milliseconds": ({}, "Please try again in 250ms.", 0.25, 0.25),
    "text, words": ({}, "Retry after 20 seconds", 20, 20),
    "text, Chinese": ({}, "请求过于频繁，请在 3 秒后重试", 3, 3),
}


@pytest.mark.parametrize("name", HINTS)
def test_how_long_the_server_asks_to_wait(model_server: ModelServer, client: Client, name: str) -> None:
    headers, text, least, most = HINTS[name]
    if headers.get("Retry-After") == IN_FIVE_SECONDS:
        headers = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=5), usegmt=True)}
    body = {"error": {"message": f"Rate limit reached. {text}", "code": "rate_limit_exceeded"}}
    model_server.script("m", [Turn(status=429, headers=headers, body=body), Turn(text="ok")])
    assert client.ask().text == "ok"
    assert least <= client.waits.seconds[0] <= most


def test_a_delay_in_the_details_of_an_error(model_server: ModelServer, client: Client) -> None:
    error = {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota.",
        "details": [{"retryDelay": "3s"}],
    }
    model_server.script("m", [Turn(status=429, body=[{"error": error}]), Turn(text="ok")])
    assert client.ask().text == "ok"
    assert client.waits.seconds == [3.0]


def test_no_wait_goes_beyond_the_total_limit(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [Turn(status=429, headers={"Retry-After": "30"}), Turn(text="ok")])
    with pytest.raises(ModelRateLimited):
        client.ask(total_timeout=10)
    assert client.waits.seconds == []


def test_nothing_is_repeated_after_text_was_shown(model_server: ModelServer, client: Client) -> None:
    long = "x" * 60
    model_server.script("m", [Turn(text=[long, "more", "still more"], cut_after=2), Turn(text="again")])
    with pytest.raises(ModelTransient) as caught:
        client.ask()
    assert caught.value.partial_text == long + "more"
    assert len(model_server.requests()) == 1


def test_a_break_before_any_text_is_repeated(model_server: ModelServer, client: Client) -> None:
    turn = Turn(tool_calls=[Call("calculator", {"expression": "1"})], cut_after=1)
    model_server.script("m", [turn, Turn(text="ok")])
    assert client.ask(tools=[TOOL]).text == "ok"


def test_reasoning_before_a_break_stays_part_of_the_reasoning(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [Turn(reasoning=["one"], text=["never"], cut_after=1), Turn(reasoning=["two"], text="ok")])
    reply = client.ask()
    assert reply.text == "ok"
    assert reply.reasoning == "".join(d.text for d in client.shown if d.kind == "reasoning") == "one\n\ntwo"


def test_a_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = Client(f"http://127.0.0.1:{port}/v1")
    with pytest.raises(ModelTransient, match="refused"):
        client.ask()
    assert client.waits.seconds == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("url", ["ftp://x/v1", "nonsense", "http://", "http://[::1/v1", "http://x:99999/"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ModelError, match="base URL"):
        Client(url).ask()


@pytest.mark.parametrize(
    ("given", "base"),
    [("http://h", "http://h/v1"), ("http://h/", "http://h/v1"), ("http://h/v1/", "http://h/v1"),
     ("http://h/v1/chat/completions", "http://h/v1"), ("https://h/api/paas/v4", "https://h/api/paas/v4"), (" http://h:1 ", "http://h:1/v1")],
)  # fmt: skip
def test_base_urls_as_people_write_them(given: str, base: str) -> None:
    assert base_of(given) == base


def test_a_redirect_on_the_same_host_is_followed_and_another_host_is_not(
    model_server: ModelServer, client: Client
) -> None:
    model_server.script("m", [
        Turn(status=308, headers={"Location": "/v1/chat/completions"}, body={}), Turn(text="ok"),
        Turn(status=307, headers={"Location": "http://example.com/v1/chat/completions"}, body={}),
    ])  # fmt: skip
    assert client.ask().text == "ok"
    with pytest.raises(ModelError, match=r"example\.com"):
        client.ask()


# ---------------------------------------------------------------- limits and cancel
def test_silence_is_a_timeout_tried_once_more(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [Turn(text="x", gate=threading.Event()) for _ in range(5)])
    with pytest.raises(ModelTimeout, match=r"nothing was received for 0\.1 seconds"):
        client.ask(idle_timeout=0.1)
    assert len(model_server.requests()) == 2


def test_bytes_that_are_no_events_do_not_keep_a_stream_alive() -> None:
    def answer(sock: socket.socket, data: bytes) -> None:
        sock.sendall(HEAD)
        while True:
            sock.sendall(b": ping\n\n")
            time.sleep(0.02)

    with raw_server(answer) as url:
        provider = Client(url).provider
        with pytest.raises(ModelTimeout):
            provider.chat(ModelRequest("m", MESSAGES, idle_timeout=0.2), None, CancelToken())


def test_a_slow_stream_of_events_lives_on(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [Turn(text=list("slowly"), delay=0.1)])
    assert client.ask(idle_timeout=0.4).text == "slowly"


def test_the_total_limit_ends_a_stream_of_events(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [Turn(text=["x" * 60, *"slowly"], delay=0.1)])
    with pytest.raises(ModelTimeout, match="no complete answer") as caught:
        client.ask(total_timeout=0.3)
    assert caught.value.partial_text.startswith("x" * 60)


def test_an_answer_whose_connection_stays_open_ends_with_its_finish_reason() -> None:
    hold = threading.Event()

    def answer(sock: socket.socket, data: bytes) -> None:
        sock.sendall(HEAD + event("hi", "stop"))
        hold.wait(10)

    with raw_server(answer) as url:
        provider = Client(url).provider
        reply = provider.chat(ModelRequest("m", MESSAGES, idle_timeout=30), None, CancelToken())
        hold.set()
    assert reply.text == "hi"


@pytest.mark.parametrize("moment", ["before the head", "in the stream"])
def test_cancel_closes_the_socket_at_once(model_server: ModelServer, moment: str) -> None:
    gate = threading.Event()
    turn = (
        Turn(text=["x" * 60, "y"], gates={1: gate}) if moment == "in the stream" else Turn(text="x", first_delay=20.0)
    )
    model_server.script("m", [turn])
    client = Client(model_server.url)
    caught: list[ModelError] = []

    def work() -> None:
        try:
            client.ask()
        except ModelError as e:
            caught.append(e)

    thread = threading.Thread(target=work)
    thread.start()
    assert (turn.held if moment == "in the stream" else turn.started).wait(5)
    client.cancel.set()
    thread.join(5)
    assert [type(e) for e in caught] == [ModelCancelled]
    assert turn.client_left.wait(5)
    if moment == "in the stream":
        assert caught[0].partial_text == "x" * 60


def test_cancel_ends_a_wait(model_server: ModelServer) -> None:
    model_server.script("m", [Turn(status=429, headers={"Retry-After": "50"}), Turn(text="ok")])
    cancel = CancelToken()
    provider = OpenAICompatible(ServerSettings("p", model_server.url))
    with contextlib.closing(provider), pytest.raises(ModelCancelled):
        provider.chat(ModelRequest("m", MESSAGES), lambda delta: cancel.set(), cancel)
    assert len(model_server.requests()) == 1


def test_a_cancelled_request_is_never_sent(model_server: ModelServer, client: Client) -> None:
    client.cancel.set()
    with pytest.raises(ModelCancelled):
        client.ask()
    assert model_server.requests() == []


def test_a_listener_that_fails_ends_the_request(model_server: ModelServer, client: Client) -> None:
    model_server.script("m", [Turn(text=["x" * 60, "y"])])

    def broken(delta: Delta) -> None:
        raise RuntimeError("the listener")

    with pytest.raises(RuntimeError, match="the listener"):
        client.provider.chat(ModelRequest("m", MESSAGES), broken, CancelToken())


# ---------------------------------------------------------------- too long
CONTEXT = [
    (400, {"error": {"message": "This model's maximum context length is 4097 tokens.", "code": "context_length_exceeded"}}),
    (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum", "type": "invalid_request_error"}}),
    (400, {"error": {"message": "the request exceeds the available context size. try increasing the context size", "code": 400}}),
    (400, {"object": "error", "message": "The input (5000 tokens) is longer than the model's context length (4096 tokens).", "code": 40303}),
    (400, [{"error": {"code": 400, "message": "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}]),
    (400, {"error": {"message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]", "code": "invalid_parameter_error"}}),
    (400, {"error": {"message": "Input is too long for requested model."}}),
    (400, {"error": {"message": "Please reduce the length of the messages or completion."}}),
    (400, {"error": {"code": "1261", "message": "Prompt 超长"}}),
    (400, {"error": {"message": "输入内容过长，超出模型上下文长度限制"}}),
    (413, {"error": {"message": "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000", "code": "rate_limit_exceeded"}}),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", "error_type": "validation"}),
    (500, {"error": {"code": 500, "message": "the request exceeds the available context size", "type": "server_error"}}),
    (400, {"error": {"message": "Requested token count exceeds the model's maximum context length of 131072 tokens."}}),
    (400, {"error": {"message": "Invalid request: Your request exceeded model token limit: 8192", "type": "invalid_request_error"}}),
    (400, {"error": {"message": "too many tokens: size limit exceeded by 1000 tokens"}}),
    (400, {"message": "Prompt contains 5000 tokens and 0 draft tokens, too large for model with 4096 maximum context length", "object": "error"}),
    (400, {"error": {"message": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CONTEXT)))
def test_a_request_that_is_too_long(model_server: ModelServer, client: Client, number: int) -> None:
    status, body = CONTEXT[number]
    model_server.script("m", [Turn(status=status, body=body)] * 2)
    with pytest.raises(ContextTooLong):
        client.ask(max_tokens=100)
    assert len(model_server.requests()) == 1


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
