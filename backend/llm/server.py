"""What every provider over HTTP shares: attempts, lessons, limits, cancel, and telling the listener."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..agent.types import Delta, JsonObject, ModelReply, ModelRequest, OnDelta, Usage
from ..cancel import CancelToken
from ..errors import ModelCancelled, ModelError, ModelTimeout
from .connection import Deadline
from .crowd import CROWD_OF_PROCESS
from .faults import Complaint, error_for, read_body
from .lessons import Lessons, QuirkMemory
from .listing import LIST_TIMEOUT_SECONDS, listed
from .reading import AnswerReader
from .retrying import Attempts, RetryPolicy
from .shape import encode
from .transport import Exchange, Opened, Transport

TOTAL_TIMEOUT_SECONDS = 300.0
IDLE_TIMEOUT_SECONDS = 90.0
AFTER_FINISH_SECONDS = 2.0
ERROR_BODY_BYTES = 262_144
LESSON_LIMIT = 8
USER_AGENT = "NanoClaw"
CANCELLED = "The request was cancelled."

Cost = Callable[[str, int, int], tuple[int, str]]


def no_cost(model: str, prompt_tokens: int, completion_tokens: int) -> tuple[int, str]:
    """The cost where no prices are known: (micro-units, currency)."""
    return 0, "USD"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where a server is and how it is spoken to.

    `headers`, `query` and `parameters` are added to every request; `key_header` names the header for the key
    if it is not the protocol's usual one. `thinking` names the way to switch thinking (openai_compat.THINKING).
    Times are seconds: without an event, and for one HTTP request.
    """

    id: str
    base_url: str
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key_header: str = ""
    thinking: str = ""
    idle_timeout: float = IDLE_TIMEOUT_SECONDS
    total_timeout: float = TOTAL_TIMEOUT_SECONDS


@dataclass(slots=True)
class Shared:
    """What providers may have in common: memory of lessons, waits, prices, connections."""

    memory: QuirkMemory = field(default_factory=QuirkMemory)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    cost: Cost = no_cost
    transport: Transport = field(default_factory=Transport)


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


class ServerProvider:
    """`chat` answers one request; safe to use from many threads at once. The protocol is the subclass's."""

    def __init__(self, settings: ServerSettings, shared: Shared | None = None) -> None:
        self.settings = settings
        shared = shared or Shared()
        self._memory = shared.memory
        self._retry = shared.retry
        self._cost = shared.cost
        self._transport = shared.transport

    # ------------------------------------------------------------ the protocol
    def _url(self) -> str:
        raise NotImplementedError

    def _headers(self) -> dict[str, str]:
        raise NotImplementedError

    def _body(self, request: ModelRequest, known: Lessons) -> JsonObject:
        raise NotImplementedError

    def _reader(self, request: ModelRequest) -> AnswerReader:
        raise NotImplementedError

    def _lesson(self, complaint: Complaint, body: JsonObject, known: Lessons) -> Lessons | None:
        raise NotImplementedError

    def _models_url(self) -> str:
        raise NotImplementedError

    def _answered(self, model: str, reader: AnswerReader) -> None:
        """A whole answer came."""

    def list_models(self, timeout: float = LIST_TIMEOUT_SECONDS) -> list[str]:
        """The names of the models that the server offers. Raises ModelError and its kinds."""
        return listed(self._transport, self._models_url(), self._headers(), self.settings.api_key, timeout)

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
                raise ModelCancelled(CANCELLED)
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
            body = self._body(request, self._memory.lessons(key))
            answer = self._ask(request, body, shown, attempts, cancelled)
            if isinstance(answer, ModelReply):
                return answer
            self._learn(key, answer, shown, request)

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
        idle = min(self.settings.idle_timeout, request.idle_timeout or self.settings.idle_timeout)
        deadline = Deadline(idle if body.get("stream") else None, total)
        shown.requests += 1
        opened = self._transport.send(Exchange(self._url(), encode(body), self._headers()), deadline, cancelled)
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
        known = self._memory.lessons(f"{self.settings.id}/{request.model}")
        lesson = self._lesson(complaint, body, known) if shown.lessons < LESSON_LIMIT else None
        if lesson is None:
            raise error_for(complaint, response.headers, self.settings.api_key)
        opened.finish()
        return lesson

    def _read(
        self, request: ModelRequest, opened: Opened, shown: _Shown, deadline: Deadline, cancelled: CancelToken
    ) -> ModelReply:
        reader = self._reader(request)
        problem: ModelError | None = None
        try:
            with CROWD_OF_PROCESS.join():
                self._pump(reader, opened, shown, deadline)
        except ModelError as e:
            problem = e
        if cancelled.is_set() and not reader.ended:
            problem = ModelCancelled(CANCELLED)
        if problem is not None:
            problem.partial_text, problem.partial_reasoning = reader.text, "".join(shown.reasoning)
            raise problem
        return self._finished(request, reader, opened, shown)

    def _pump(self, reader: AnswerReader, opened: Opened, shown: _Shown, deadline: Deadline) -> None:
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
                    if reader.finish_reason and not reader.went_on:
                        deadline.expect_end(AFTER_FINISH_SECONDS)
                    elif deltas and not reader.ended:
                        CROWD_OF_PROCESS.rest()
        except ModelTimeout:
            if not reader.finish_reason:
                raise

    def _finished(self, request: ModelRequest, reader: AnswerReader, opened: Opened, shown: _Shown) -> ModelReply:
        try:
            shown.tell(reader.finish(opened.response.cut))
        except ModelError as e:
            e.partial_reasoning = "".join(shown.reasoning)
            raise
        self._answered(request.model, reader)
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
