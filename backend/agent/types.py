"""The words of the engine: messages, model requests and replies, records, events."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import strict_json
from .guardrails import GuardrailConfig, TerminationResult
from .guardrails import RunStatus as RunStatus

DEFAULT_TOKEN_BUDGET = 96_000

JsonObject = dict[str, Any]
Role = Literal["system", "user", "assistant", "tool"]
DeltaKind = Literal["text", "reasoning", "notice"]
RequestKind = Literal["normal", "final", "continuation", "child"]
RunKind = Literal["chat", "task", "workflow", "child", "manual"]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "refusal", "error"]


# ---------------------------------------------------------------- the model's side
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model requests, as the provider reported them; cost in millionths."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_micros: int = 0
    currency: str = "USD"

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost_micros + other.cost_micros,
            other.currency if other.cost_micros else self.currency,
        )

    def to_json(self) -> JsonObject:
        """The `usage` of the contract."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "cost_micros": self.cost_micros,
            "currency": self.currency,
        }


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """A call as the model asked for it.

    `arguments` is the text as received, after the wire's tolerant reading: a JSON object wherever one
    could be found. `error` says why no object could be found; such a call is answered, never run.
    """

    id: str
    name: str
    arguments: str = "{}"
    extra_content: JsonObject | None = None
    provider_specific_fields: JsonObject | None = None
    error: str | None = None

    def to_openai_tool_call(self) -> JsonObject:
        """The call for an assistant message; arguments are always the text of a JSON object."""
        call: JsonObject = {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments if is_json_object(self.arguments) else "{}"},
        }
        if self.extra_content:
            call["extra_content"] = self.extra_content
        if self.provider_specific_fields:
            call.update(self.provider_specific_fields)
        return call


_decode = json.JSONDecoder(parse_constant=strict_json.no_constant).decode


def is_json_object(text: str) -> bool:
    """True if a strict reader would find one JSON object in the text (NaN and endless nesting are none)."""
    try:
        return text == "{}" or isinstance(_decode(text), dict)
    except (ValueError, RecursionError):
        return False


def is_json(text: str) -> bool:
    """True if the text is JSON to a strict reader."""
    try:
        _decode(text)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass(slots=True)
class Message:
    """One message of a transcript, in the model's terms.

    `content` is text, a list of OpenAI content parts, or None. `key` is a stable identity (stored
    message, step or call), by which the frontier remembers what was compacted. `reasoning` holds the
    provider's own fields to echo. `read_only` marks a result that may be compacted to one line.
    """

    role: Role
    content: str | list[JsonObject] | None = None
    tool_calls: tuple[ToolCallRequest, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    reasoning: JsonObject | None = None
    key: str = ""
    read_only: bool = False
    tokens: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model; `messages` and `tools` are in OpenAI's wire form and already legal.

    The content of tool messages is fenced as data; who reads results by program takes `fence.unfence` first.
    """

    model: str
    messages: list[JsonObject]
    tools: list[JsonObject] = field(default_factory=list)
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: bool | None = None
    stream: bool = True
    kind: RequestKind = "normal"
    idle_timeout: float | None = None
    total_timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed answer, or a notice (`code` set) such as a retry wait or a fallback switch."""

    kind: DeltaKind
    text: str
    code: str | None = None


OnDelta = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A complete answer. `reasoning_fields` are the provider's own fields to send back with it."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallRequest, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    reasoning_fields: JsonObject | None = None
    requests: int = 1


# ---------------------------------------------------------------- what is recorded and told
@dataclass(slots=True)
class Event:
    """One event of a run; the store gives it its `seq` (rising by one within the run)."""

    type: str
    data: JsonObject
    run_id: str = ""
    seq: int = 0
    text: str = field(default="", compare=False, repr=False)  # `data` as JSON, once a store has made it


@dataclass(slots=True)
class StepRecord:
    """One model call and its batch of tool calls; written anew at each change."""

    run_id: str
    index: int
    status: Literal["running", "completed", "failed"] = "running"
    reasoning: str = ""
    text: str = ""
    finish_reason: str | None = None
    model: str = ""
    model_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    reasoning_fields: JsonObject | None = None
    thought_seconds: float = 0.0  # told with the answer, not kept with the step
    started_at: str = ""
    finished_at: str | None = None


@dataclass(slots=True)
class CallRecord:
    """One tool call: `call` is the contract's CALL. `full_result` is given when the result was cut."""

    run_id: str
    step: int
    position: int
    call: JsonObject
    idempotent: bool = False
    request: ToolCallRequest | None = None
    full_result: str | None = None


@dataclass(slots=True)
class MessageRecord:
    """A message of a conversation, as the run writes it (the answer, or an injected user message)."""

    id: str
    conversation_id: str
    parent_id: str | None
    role: Literal["user", "assistant"]
    content: str
    run_id: str
    reasoning: str = ""
    blocks: list[JsonObject] = field(default_factory=list)
    tool_calls: list[JsonObject] = field(default_factory=list)
    model: str = ""
    usage: JsonObject | None = None
    error: JsonObject | None = None
    state: Literal["sent", "queued"] = "sent"
    created_at: str = ""
    attachments: list[JsonObject] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        """The contract's MESSAGE; `position` and `siblings` are the store's to fill."""
        return {
            "id": self.id, "conversation_id": self.conversation_id, "parent_id": self.parent_id,
            "siblings": [self.id], "position": None, "role": self.role, "state": self.state,
            "content": self.content, "reasoning": self.reasoning, "blocks": self.blocks,
            "tool_calls": self.tool_calls, "attachments": self.attachments, "model": self.model,
            "usage": self.usage, "error": self.error, "run_id": self.run_id, "created_at": self.created_at,
        }  # fmt: skip


@dataclass(slots=True)
class RunRecord:
    """The state of a run, as the engine changes it; None leaves a stored value alone."""

    id: str
    status: RunStatus | None = None
    stop_reason: str | None = None
    output: str | None = None
    error: JsonObject | None = None
    usage: Usage | None = None
    step_count: int | None = None
    started_at: str | None = None
    finished_at: str | None = None


Record = RunRecord | StepRecord | CallRecord | MessageRecord


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A user message that arrived during a run and waits to be injected."""

    id: str
    content: str
    attachments: tuple[JsonObject, ...] = ()


# ---------------------------------------------------------------- one run, as the engine is asked for it
@dataclass(frozen=True, slots=True)
class Injection:
    """User messages that were injected before step `step` began."""

    step: int
    messages: tuple[WaitingMessage, ...]


@dataclass(frozen=True, slots=True)
class Resume:
    """What an earlier worker of the same run has recorded: steps, calls, and messages injected between steps.

    A step that is still `running` is done again from the model call on, unless calls of it are recorded:
    then the model's answer stands, finished calls keep their results, calls found `executing` are run
    again only if idempotent (else their outcome is `unknown`), and `pending` ones are run. Injected
    messages are given here and not in the transcript; `RunSpec.parent_message_id` is then the last of them.
    """

    steps: tuple[StepRecord, ...]
    calls: tuple[CallRecord, ...]
    elapsed_seconds: float = 0.0
    injections: tuple[Injection, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything the engine must know of one run; the transcript ends with the message to answer.

    `tools` are the names offered, already filtered by what the project and the request allow; empty
    means none. `policy` maps tool names to allow, ask or deny. `token_budget` is the room for the request.
    `given_up` says that the run cannot go on, and why: what was done is kept as its answer, neither a model nor a
    tool is asked.
    """

    run_id: str
    kind: RunKind
    transcript: tuple[Message, ...]
    system_prompt: str
    model: str
    tools: tuple[str, ...] = ()
    limits: GuardrailConfig = field(default_factory=GuardrailConfig)
    policy: dict[str, str] = field(default_factory=dict)
    user_id: str | None = None
    project_id: str | None = None
    conversation_id: str | None = None
    parent_message_id: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: bool | None = None
    token_budget: int = DEFAULT_TOKEN_BUDGET
    resume: Resume | None = None
    given_up: TerminationResult | None = None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended."""

    run_id: str
    status: RunStatus
    stop_reason: str
    output: str
    error: JsonObject | None = None
    usage: Usage = field(default_factory=Usage)
    step_count: int = 0
