"""A scripted, streaming model server that speaks the OpenAI protocol: the model of the whole project's tests.

    with ModelServer() as server:
        server.script("m", [
            Turn(reasoning="hm", text=["Let me ", "look."], tool_calls=[Call("calculator", {"expression": "2+2"})]),
            Turn(text="4"),
        ])
        ... point a provider at server.url, ask model "m" ...
        assert server.violations == []

Turns are played in order, one a request, per model name ("*" is played for models without a script of
their own). A turn may also be a function of the request's body that returns a Turn. After the last turn
the server answers "done". Every request is recorded (`server.requests`) and checked against the rules of
the protocol; what is wrong is listed in `server.violations`, and refused with 400 if `strict` is set.
Waiting is by events, never by sleeping: hold a stream with `gate` or `gates`, wait for `turn.started`,
`turn.held`, `turn.finished` and `turn.client_left`.
"""

import json
import re
import select
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GATE_LIMIT_SECONDS = 60.0
POLL_SECONDS = 0.01  # how soon a stop is noticed: every test pays it once
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ROLES = {"system", "developer", "user", "assistant", "tool"}


@dataclass
class Call:
    """A tool call of a turn; `arguments` is an object, or a text sent as it is. Without an id one is made up."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass
class Turn:
    """What the server answers to one request.

    `text` and `reasoning` are one string (cut into a few pieces) or a list of pieces, sent one a chunk.
    `gate` holds the stream before its first piece, `gates` before piece number i (reasoning pieces first,
    then text pieces, then calls). `first_delay`, `delay` are seconds before the first byte and between
    pieces. `status` other than 200 answers `body` (a default error body without one). `cut_after` closes
    the connection after so many pieces, with neither finish reason nor [DONE]. `chunks` sends raw bytes
    instead of all this. `finish_reason` None follows from the content.
    """

    text: str | Sequence[str] = ""
    reasoning: str | Sequence[str] = ""
    tool_calls: Sequence[Call] = ()
    finish_reason: str | None = None
    usage: tuple[int, int] | None = (11, 7)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    first_delay: float = 0.0
    delay: float = 0.0
    gate: threading.Event | None = None
    gates: dict[int, threading.Event] = field(default_factory=dict)
    cut_after: int | None = None
    chunks: Sequence[bytes] | None = None
    expect: Callable[[dict[str, Any]], str | None] | None = None
    started: threading.Event = field(default_factory=threading.Event, compare=False)
    held: threading.Event = field(default_factory=threading.Event, compare=False)
    finished: threading.Event = field(default_factory=threading.Event, compare=False)
    client_left: threading.Event = field(default_factory=threading.Event, compare=False)


@dataclass(frozen=True)
class Request:
    """A request as it came."""

    model: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]


Play = Turn | Callable[[dict[str, Any]], Turn]


def check(body: dict[str, Any]) -> list[str]:
    """Everything in a request that a strict server would refuse."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["no messages"]
    return [*_check_messages(messages), *_check_parameters(body)]


def _check_messages(messages: list[dict[str, Any]]) -> list[str]:
    wrong: list[str] = []
    pending: dict[str, bool] = {}
    talk = [m for m in messages if m.get("role") not in ("system", "developer")]
    if not talk or talk[0].get("role") != "user":
        wrong.append("the first message after the system's is not the user's")
    for i, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            wrong += _check_result(i, message, pending)
            continue
        wrong += [f"call {key!r} is not answered before message {i}" for key, done in pending.items() if not done]
        pending = {}
        if role not in ROLES:
            wrong.append(f"message {i} has role {role!r}")
        elif role == "system" and i and messages[i - 1].get("role") != "system":
            wrong.append(f"message {i}: a system message that is not first")
        elif role == "assistant":
            wrong += _check_calls(i, message, pending)
        elif not content:
            wrong.append(f"message {i} ({role}) has no content")
    wrong += [f"call {key!r} is not answered at the end" for key, done in pending.items() if not done]
    return wrong


def _check_result(i: int, message: dict[str, Any], pending: dict[str, bool]) -> list[str]:
    key = message.get("tool_call_id")
    wrong = []
    if key not in pending:
        wrong.append(f"message {i}: a result for no call of the message before ({key!r})")
    elif pending[key]:
        wrong.append(f"message {i}: call {key!r} is answered twice")
    else:
        pending[key] = True
    if not isinstance(message.get("content"), str | list):
        wrong.append(f"message {i}: a result without text")
    if not message.get("name"):
        wrong.append(f"message {i}: a result without a name")
    return wrong


def _check_calls(i: int, message: dict[str, Any], pending: dict[str, bool]) -> list[str]:
    calls = message.get("tool_calls")
    if calls is None:
        return [] if message.get("content") else [f"message {i}: an assistant message with neither text nor calls"]
    wrong = [] if calls else [f"message {i}: empty tool_calls"]
    if message.get("content") == "":
        wrong.append(f"message {i}: empty text beside tool_calls")
    for call in calls:
        function = call.get("function") or {}
        if call.get("type") != "function" or not function.get("name"):
            wrong.append(f"message {i}: a call without type or name")
        if not isinstance(call.get("id"), str) or not call["id"] or call["id"] in pending:
            wrong.append(f"message {i}: call id {call.get('id')!r} is missing or used twice")
        try:
            legal = isinstance(json.loads(function.get("arguments")), dict)
        except (TypeError, ValueError):
            legal = False
        if not legal:
            wrong.append(f"message {i}: arguments are not the text of an object")
        pending[str(call.get("id"))] = False
    return wrong


def _check_parameters(body: dict[str, Any]) -> list[str]:
    wrong = []
    tools = body.get("tools")
    if tools is not None and not tools:
        wrong.append("empty tools")
    for tool in tools or []:
        function = tool.get("function") or {}
        if tool.get("type") != "function" or not TOOL_NAME.fullmatch(function.get("name") or ""):
            wrong.append(f"bad tool {function.get('name')!r}")
    if not tools:
        wrong += [f"{name} without tools" for name in ("tool_choice", "parallel_tool_calls") if name in body]
    if "stream_options" in body and not body.get("stream"):
        wrong.append("stream_options without stream")
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        wrong.append("a lone surrogate")
    return wrong


class _Http(ThreadingHTTPServer):
    """A client that leaves in the middle of an answer is part of the tests, not worth a trace."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class ModelServer:
    """The server; starts when entered (or by `start`), on a free loopback port."""

    def __init__(self, *, strict: bool = False, models: Sequence[str] = ("scripted-model",)) -> None:
        self.strict = strict
        self.models = list(models)
        self.violations: list[str] = []
        self._requests: list[Request] = []
        self._scripts: dict[str, list[Play]] = {}
        self._played: dict[str, int] = defaultdict(int)
        self._streaming = 0
        self._lock = threading.Condition()
        self._stopped = threading.Event()
        handler = type("Handler", (_Handler,), {"scripted": self})
        self._http = _Http(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(POLL_SECONDS,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL for a provider: http://127.0.0.1:PORT/v1."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def start(self) -> "ModelServer":
        """Begin to serve."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Let every held stream go and stop serving."""
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> "ModelServer":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def script(self, model: str, turns: Sequence[Play]) -> None:
        """Set the turns of a model, from the first one on; "*" stands for every model without a script."""
        with self._lock:
            self._scripts[model] = list(turns)
            self._played[model] = 0

    def requests(self, model: str | None = None) -> list[Request]:
        """The requests so far (of one model), oldest first."""
        with self._lock:
            return [r for r in self._requests if model is None or r.model == model]

    def streaming(self) -> int:
        """How many requests are being answered now."""
        with self._lock:
            return self._streaming

    def wait_requests(self, count: int, model: str | None = None, timeout: float = 10.0) -> list[Request]:
        """Wait until `count` requests have come; AssertionError if they do not."""
        with self._lock:
            came = self._lock.wait_for(
                lambda: sum(1 for r in self._requests if model is None or r.model == model) >= count, timeout
            )
        assert came, f"waited for {count} requests, {len(self.requests(model))} came"
        return self.requests(model)

    # ------------------------------------------------------------ for the handler
    @contextmanager
    def answering(self) -> Iterator[None]:
        """Counts a request while it is answered."""
        with self._lock:
            self._streaming += 1
        try:
            yield
        finally:
            with self._lock:
                self._streaming -= 1

    def take(self, body: dict[str, Any], headers: dict[str, str]) -> tuple[Turn, list[str]]:
        """Record a request and choose its turn."""
        wrong = check(body)
        model = str(body.get("model"))
        with self._lock:
            self._requests.append(Request(model, body, headers))
            key = model if model in self._scripts else "*"
            turns, number = self._scripts.get(key, []), self._played[key]
            self._played[key] += 1
            self._lock.notify_all()
        play: Play = turns[number] if number < len(turns) else Turn(text="done")
        turn = play if isinstance(play, Turn) else play(body)
        if turn.expect and (why := turn.expect(body)):
            wrong.append(why)
        with self._lock:
            self.violations += [f"{model} request {number + 1}: {why}" for why in wrong]
        return turn, wrong

    def wait_gate(self, gate: threading.Event, turn: Turn, sock: socket.socket) -> bool:
        """Hold until the gate opens; False if the client left or the server stops."""
        turn.held.set()
        waited = 0.0
        while not gate.wait(0.02):
            waited += 0.02
            if _left(sock):
                turn.client_left.set()
                return False
            if self._stopped.is_set() or waited > GATE_LIMIT_SECONDS:
                return False
        return True


def _left(sock: socket.socket) -> bool:
    readable, _, _ = select.select([sock], [], [], 0)
    if not readable:
        return False
    try:
        return sock.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True


def _pieces(text: str | Sequence[str], count: int = 3) -> list[str]:
    if not isinstance(text, str):
        return list(text)
    size = max(1, -(-len(text) // count))
    return [text[i : i + size] for i in range(0, len(text), size)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: ModelServer
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.split("?")[0].endswith("/models"):
            items = [{"id": name, "object": "model", "owned_by": "tests"} for name in self.scripted.models]
            return self._answer(200, {"object": "list", "data": items})
        return self._answer(404, {"error": {"message": "no such path"}})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.endswith("/chat/completions"):
            return self._answer(404, {"error": {"message": "no such path"}})
        try:
            body = json.loads(data)
        except ValueError:
            return self._answer(400, {"error": {"message": "the body is not JSON"}})
        turn, wrong = self.scripted.take(body, {k.lower(): v for k, v in self.headers.items()})
        turn.started.set()
        try:
            if wrong and self.scripted.strict:
                return self._answer(400, {"error": {"message": "; ".join(wrong), "type": "invalid_request_error"}})
            with self.scripted.answering():
                self._play(turn, body)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
            turn.client_left.set()
        finally:
            turn.finished.set()
        return None

    def _play(self, turn: Turn, body: dict[str, Any]) -> None:
        if turn.first_delay and _pause(turn.first_delay, self.connection):
            turn.client_left.set()
            self.close_connection = True
            return
        if turn.status != 200:
            default = {"error": {"message": f"scripted status {turn.status}", "type": "scripted"}}
            self._answer(turn.status, default if turn.body is None else turn.body, turn.headers)
        elif turn.body is not None:
            self._answer(200, turn.body, turn.headers)
        elif turn.chunks is not None:
            self._stream(turn, [bytes(c) for c in turn.chunks], b"")
        elif body.get("stream"):
            self._stream(turn, self._deltas(turn, body), self._end(turn, body))
        elif turn.gate is None or self.scripted.wait_gate(turn.gate, turn, self.connection):
            self._answer(200, self._whole(turn, body), turn.headers)
        else:
            self.close_connection = True

    # ------------------------------------------------------------ what is said
    def _calls(self, turn: Turn) -> list[dict[str, Any]]:
        number = len(self.scripted.requests())
        return [
            {
                "id": call.id or f"call_{number}_{i}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.text()},
                **call.extra,
            }
            for i, call in enumerate(turn.tool_calls)
        ]

    def _finish(self, turn: Turn) -> str:
        return turn.finish_reason or ("tool_calls" if turn.tool_calls else "stop")

    def _usage(self, turn: Turn) -> dict[str, int] | None:
        if turn.usage is None:
            return None
        prompt, completion = turn.usage
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    def _chunk(self, body: dict[str, Any], choices: list[Any], **extra: Any) -> bytes:
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
        return b"data: " + json.dumps({**chunk, "choices": choices, **extra}, ensure_ascii=False).encode() + b"\n\n"

    def _deltas(self, turn: Turn, body: dict[str, Any]) -> list[bytes]:
        deltas: list[dict[str, Any]] = [{"reasoning_content": piece} for piece in _pieces(turn.reasoning)]
        deltas += [{"content": piece} for piece in _pieces(turn.text)]
        for i, call in enumerate(self._calls(turn)):
            arguments = call["function"]["arguments"]
            half = len(arguments) // 2
            first = {**call, "index": i, "function": {**call["function"], "arguments": arguments[:half]}}
            deltas.append({"tool_calls": [first]})
            deltas.append({"tool_calls": [{"index": i, "function": {"arguments": arguments[half:]}}]})
        return [self._chunk(body, [{"index": 0, "delta": d, "finish_reason": None}]) for d in deltas]

    def _end(self, turn: Turn, body: dict[str, Any]) -> bytes:
        end = self._chunk(body, [{"index": 0, "delta": {}, "finish_reason": self._finish(turn)}])
        usage = self._usage(turn)
        if usage and (body.get("stream_options") or {}).get("include_usage"):
            end += self._chunk(body, [], usage=usage)
        return end + b"data: [DONE]\n\n"

    def _whole(self, turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(_pieces(turn.text)) or None}
        if turn.reasoning:
            message["reasoning_content"] = "".join(_pieces(turn.reasoning))
        if turn.tool_calls:
            message["tool_calls"] = self._calls(turn)
        return {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": self._finish(turn)}],
            "usage": self._usage(turn),
        }  # fmt: skip

    # ------------------------------------------------------------ how it is sent
    def _stream(self, turn: Turn, pieces: list[bytes], end: bytes) -> None:
        self.send_response(200)
        headers = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **turn.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        gates = {**({0: turn.gate} if turn.gate else {}), **turn.gates}
        for i in range(max(len(pieces), *(g + 1 for g in gates)) if gates else len(pieces)):
            if i in gates and not self.scripted.wait_gate(gates[i], turn, self.connection):
                self.close_connection = True
                return
            if i >= len(pieces):
                continue
            if turn.cut_after == i:
                break
            if i and turn.delay and _pause(turn.delay, self.connection):
                turn.client_left.set()
                self.close_connection = True
                return
            self._send(pieces[i])
        if turn.cut_after is not None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_WR)
            return
        if end:
            self._send(end)
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _pause(seconds: float, sock: socket.socket) -> bool:
    """Wait; True if the client left meanwhile."""
    select.select([sock], [], [], seconds)
    return _left(sock)
