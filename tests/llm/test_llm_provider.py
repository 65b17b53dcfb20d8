"""The OpenAI-compatible provider against real HTTP servers: retries, limits, cancel, connections."""

import contextlib
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from llm_client import KEY, MESSAGES, TOOL, Client
from llm_raw import END, HEAD, event, raw_server, read_request
from support.model_server import Call, ModelServer, Turn

from backend.agent.types import Delta, ModelRequest
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
from backend.llm.openai_compat import OpenAICompatible, base_of
from backend.llm.server import ServerSettings


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
