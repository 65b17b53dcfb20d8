"""A provider for any server that speaks OpenAI's chat-completions protocol, or nearly."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from ..agent.types import Delta, JsonObject, ModelReply, ModelRequest, OnDelta, Usage
from ..cancel import CancelToken
from ..errors import ModelCancelled, ModelError, ModelTimeout
from .faults import error_for, read_body
from .lessons import Lessons, QuirkMemory, lesson_from
from .retrying import Attempts, RetryPolicy
from .shape import encode, request_body
from .transport import Deadline, Exchange, Opened, Transport
from .wire import UNKNOWN_MODEL_HOLD_CHARS, ReadOptions, ReplyReader

TOTAL_TIMEOUT_SECONDS = 300.0
IDLE_TIMEOUT_SECONDS = 90.0
AFTER_FINISH_SECONDS = 2.0
ERROR_BODY_BYTES = 262_144
LESSON_LIMIT = 8
USER_AGENT = "NanoClaw"

Cost = Callable[[str, int, int], tuple[int, str]]


def no_cost(model: str, prompt_tokens: int, completion_tokens: int) -> tuple[int, str]:
    """The cost where no prices are known: (micro-units, currency)."""
    return 0, "USD"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where a server is and how it is spoken to.

    `headers`, `query` and `parameters` are added to every request; `key_header` names the header for the key
    if it is not "Authorization: Bearer". `thinking` names the way to switch thinking on and off (see THINKING).
    """

    id: str
    base_url: str
    api_key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key_header: str = ""
    thinking: str = ""
    idle_timeout: float = IDLE_TIMEOUT_SECONDS
    total_timeout: float = TOTAL_TIMEOUT_SECONDS


THINKING: dict[str, Callable[[bool], JsonObject]] = {
    "effort": lambda on: {"reasoning_effort": "medium" if on else "minimal"},
    "enable_thinking": lambda on: {"enable_thinking": on},
    "thinking": lambda on: {"thinking": {"type": "enabled" if on else "disabled"}},
    "template": lambda on: {"chat_template_kwargs": {"enable_thinking": on}},
    "reasoning": lambda on: {"reasoning": {"enabled": on}},
    "none": lambda on: {},
}
_THINKING_BY_HOST = {
    "api.openai.com": "effort",
    "openrouter.ai": "reasoning",
    "api.deepseek.com": "thinking",
    "open.bigmodel.cn": "thinking",
    "api.z.ai": "thinking",
    "api.moonshot.cn": "thinking",
    "dashscope.aliyuncs.com": "enable_thinking",
    "dashscope-intl.aliyuncs.com": "enable_thinking",
}
_NEEDS_COMPLETION_TOKENS = {"api.openai.com"}


def base_of(url: str) -> str:
    """A base URL as people write it, made usable: without a trailing slash or endpoint, with /v1 if there is no path."""
    url = url.strip().rstrip("/")
    url = url.removesuffix("/chat/completions").rstrip("/")
    return url if urlsplit(url).path.strip("/") else f"{url}/v1"


@dataclass(slots=True)
class _Shown:
    """What the listener has got of this answer, over all attempts."""

    on_delta: OnDelta | None
    text: bool = False
    reasoning: list[str] = field(default_factory=list)
    requests: int = 0
    lessons: int = 0

    def tell(self, deltas: list[Delta]) -> None:
        for delta in deltas:
            if delta.kind == "text" and delta.text:
                self.text = True
            elif delta.kind == "reasoning":
                self.reasoning.append(delta.text)
            if self.on_delta is not None:
                self.on_delta(delta)


class OpenAICompatible:
    """`chat` answers one request; safe to use from many threads at once."""

    def __init__(
        self,
        settings: ServerSettings,
        *,
        memory: QuirkMemory | None = None,
        retry: RetryPolicy | None = None,
        cost: Cost = no_cost,
        transport: Transport | None = None,
    ) -> None:
        self.settings = settings
        self._memory = memory or QuirkMemory()
        self._retry = retry or RetryPolicy()
        self._cost = cost
        self._transport = transport or Transport()
        self._url = base_of(settings.base_url) + "/chat/completions" + (f"?{settings.query}" if settings.query else "")
        self._host = urlsplit(self._url).hostname or ""
        self._headers = self._make_headers()
        self._answered: set[str] = set()
        self._answered_lock = threading.Lock()

    def _make_headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
            **self.settings.headers,
        }
        key, name = self.settings.api_key, self.settings.key_header
        if key and name:
            headers[name] = key
        elif key:
            headers["Authorization"] = f"Bearer {key}"
        return headers

    def close(self) -> None:
        """Close the kept connections."""
        self._transport.close()

    # ------------------------------------------------------------ one request, with its repetitions
    def chat(self, request: ModelRequest, on_delta: OnDelta | None, cancelled: CancelToken) -> ModelReply:
        """Answer one request; pieces go to `on_delta` as they arrive. Raises ModelError and its kinds.

        `total_timeout` bounds all attempts together. Nothing is repeated after text was shown.
        """
        shown = _Shown(on_delta)
        attempts = Attempts(self._retry)
        if request.total_timeout is not None:
            attempts.end = self._retry.now() + request.total_timeout
        while True:
            if cancelled.is_set():
                raise ModelCancelled("The request was cancelled.")
            try:
                return self._attempt(request, shown, attempts, cancelled)
            except ModelError as e:
                seconds = None if shown.text else attempts.next_wait(e)
                if seconds is None:
                    raise self._last(e, attempts) from e.__cause__
                attempts.pause(e, seconds, on_delta, cancelled)
            if shown.reasoning:
                shown.tell([Delta("reasoning", "\n\n")])

    def _last(self, error: ModelError, attempts: Attempts) -> ModelError:
        if attempts.used and error.retryable:
            error.message = f"{error.message} (given up after {attempts.used + 1} attempts)"
            error.args = (error.message,)
        return error

    def _attempt(self, request: ModelRequest, shown: _Shown, attempts: Attempts, cancelled: CancelToken) -> ModelReply:
        """One attempt; refusals that teach something are followed at once by a better request."""
        key = f"{self.settings.id}/{request.model}"
        while True:
            known = self._known(key)
            body = request_body(request, known, self._extra(request))
            answer = self._ask(request, body, shown, attempts, cancelled)
            if isinstance(answer, ModelReply):
                return answer
            self._learn(key, answer, shown, request)

    def _known(self, key: str) -> dict[str, Any]:
        known = self._memory.lessons(key)
        if self._host in _NEEDS_COMPLETION_TOKENS:
            known.setdefault("max_tokens", "max_completion_tokens")
        return known

    def _extra(self, request: ModelRequest) -> JsonObject:
        extra = dict(self.settings.parameters)
        if request.thinking is not None:
            style = self.settings.thinking or _THINKING_BY_HOST.get(
                self._host, "effort" if request.thinking else "none"
            )
            extra.update(THINKING.get(style, THINKING["none"])(request.thinking))
        return extra

    def _learn(self, key: str, lesson: Lessons, shown: _Shown, request: ModelRequest) -> None:
        shown.lessons += 1
        self._memory.learn(key, lesson)
        if lesson.get("tools") is False:
            text = f"The model {request.model} cannot use tools; it answers without them."
            shown.tell([Delta("notice", text, "tools_refused")])

    # ------------------------------------------------------------ one HTTP exchange
    def _ask(
        self, request: ModelRequest, body: JsonObject, shown: _Shown, attempts: Attempts, cancelled: CancelToken
    ) -> ModelReply | Lessons:
        total = self.settings.total_timeout
        if attempts.end is not None:
            total = min(total, max(0.001, attempts.end - self._retry.now()))
        idle = request.idle_timeout if request.idle_timeout is not None else self.settings.idle_timeout
        deadline = Deadline(idle if body.get("stream") else None, total)
        shown.requests += 1
        opened = self._transport.post(Exchange(self._url, encode(body), self._headers), deadline, cancelled)
        try:
            if not 200 <= opened.response.status < 300:
                return self._refusal(request, body, opened, shown)
            reply = self._read(request, opened, shown, deadline, cancelled)
        except BaseException:
            opened.close()
            raise
        opened.finish()
        return reply

    def _refusal(self, request: ModelRequest, body: JsonObject, opened: Opened, shown: _Shown) -> Lessons:
        response = opened.response
        complaint = read_body(response.status, response.read_all(ERROR_BODY_BYTES))
        known = self._known(f"{self.settings.id}/{request.model}")
        lesson = lesson_from(complaint, body, known) if shown.lessons < LESSON_LIMIT else None
        if lesson is None:
            raise error_for(complaint, response.headers, self.settings.api_key)
        opened.finish()
        return lesson

    def _read(
        self, request: ModelRequest, opened: Opened, shown: _Shown, deadline: Deadline, cancelled: CancelToken
    ) -> ModelReply:
        reader = ReplyReader(self._read_options(request))
        problem: ModelError | None = None
        try:
            self._pump(reader, opened, shown, deadline)
        except ModelError as e:
            problem = e
        if cancelled.is_set() and not reader.ended:
            problem = ModelCancelled("The request was cancelled.")
        if problem is not None:
            problem.partial_text, problem.partial_reasoning = reader.text, "".join(shown.reasoning)
            raise problem
        return self._finished(request, reader, opened, shown)

    def _pump(self, reader: ReplyReader, opened: Opened, shown: _Shown, deadline: Deadline) -> None:
        """Read until the answer is over: by its end marker, the end of the body, or silence after its finish reason."""
        response, events = opened.response, 0
        try:
            while not reader.ended and (data := response.read()):
                deltas = reader.feed(data)
                if deltas:
                    shown.tell(deltas)
                if reader.events != events:
                    events = reader.events
                    deadline.event()
                    if reader.finish_reason:
                        deadline.shorten(AFTER_FINISH_SECONDS)
        except ModelTimeout:
            if not reader.finish_reason:
                raise

    def _finished(self, request: ModelRequest, reader: ReplyReader, opened: Opened, shown: _Shown) -> ModelReply:
        try:
            shown.tell(reader.finish(opened.response.cut))
        except ModelError as e:
            e.partial_reasoning = "".join(shown.reasoning)
            raise
        self._note_answer(request.model, reader)
        reply = reader.reply()
        usage = reply.usage
        cost, currency = self._cost(request.model, usage.prompt_tokens, usage.completion_tokens)
        return replace(
            reply,
            model=reply.model or request.model,
            reasoning="".join(shown.reasoning) if len(shown.reasoning) and shown.requests > 1 else reply.reasoning,
            usage=Usage(usage.prompt_tokens, usage.completion_tokens, cost, currency),
            requests=shown.requests,
        )

    # ------------------------------------------------------------ how the model begins its answers
    def _read_options(self, request: ModelRequest) -> ReadOptions:
        known = self._memory.lessons(f"{self.settings.id}/{request.model}")
        with self._answered_lock:
            unknown = request.model not in self._answered
        return ReadOptions(
            tool_names=_tool_names(request),
            in_thought=bool(known.get("in_thought")),
            hold_chars=UNKNOWN_MODEL_HOLD_CHARS if unknown else 0,
            secret=self.settings.api_key,
        )

    def _note_answer(self, model: str, reader: ReplyReader) -> None:
        with self._answered_lock:
            self._answered.add(model)
        if reader.orphan_thought:
            self._memory.learn(f"{self.settings.id}/{model}", {"in_thought": True})


def _tool_names(request: ModelRequest) -> set[str]:
    names = {tool["function"]["name"] for tool in request.tools}
    for message in request.messages:
        for call in message.get("tool_calls") or ():
            names.add(call["function"]["name"])
    return names
