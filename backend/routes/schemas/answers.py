"""Answers, for the documentation and for tests that hold routes to it; those of runs stand in `run_answers`."""

from typing import Any, Literal

from .base import Answer
from .base import page_of as page_of
from .run_answers import Call, Run


class Status(Answer):
    """Whether the server lives or is ready."""

    status: str
    details: dict[str, Any] | None = None


class AuthMode(Answer):
    """How people sign in."""

    mode: Literal["single", "multi"]
    signed_in: bool


class User(Answer):
    """A person."""

    id: str
    name: str
    role: str


class Me(Answer):
    """The signed-in person."""

    user: User
    role: str
    settings: dict[str, Any]
    limits: dict[str, int]
    csrf_token: str | None


class Token(Answer):
    """An API token without its secret."""

    id: str
    name: str
    created_at: str
    last_used_at: str | None


class NewToken(Token):
    """An API token, this once with its secret."""

    token: str


class Project(Answer):
    """A project."""

    id: str
    name: str
    description: str
    instructions: str
    path: str | None
    default_model: str | None
    retention_days: int | None
    allowed_tools: list[str] | None
    limits: dict[str, Any]
    pinned: bool
    archived: bool
    created_at: str
    updated_at: str
    deleted_at: str | None


class FileEntry(Answer):
    """A file or folder."""

    name: str
    path: str
    type: Literal["file", "dir", "link", "other"]
    size: int
    modified_at: str


class WrittenFile(FileEntry):
    """A file as it is after a write."""

    etag: str
    created: bool


class FileMatch(Answer):
    """A line that was found."""

    path: str
    line: int
    text: str


class FileChange(Answer):
    """A change of a file, and who made it."""

    id: str
    path: str
    new_path: str | None
    action: str
    before_hash: str | None
    after_hash: str | None
    before_size: int | None
    after_size: int | None
    run_id: str | None
    call_id: str | None
    user_id: str | None
    reverted_at: str | None
    created_at: str


class ForkedFrom(Answer):
    """The message that a conversation was forked at."""

    conversation_id: str
    message_id: str | None


class ConversationSummary(Answer):
    """A conversation as lists show it; `preview` is there in lists only: how its last message begins."""

    id: str
    title: str
    project_id: str | None
    model: str | None
    active_leaf_id: str | None
    active_run_id: str | None
    pinned: bool
    archived: bool
    tags: list[str]
    temporary: bool
    forked_from: ForkedFrom | None
    preview: str | None = None
    created_at: str
    updated_at: str
    deleted_at: str | None


class Conversation(ConversationSummary):
    """A conversation."""

    system_prompt: str | None
    temperature: float | None
    max_tokens: int | None
    thinking: bool | None
    tools_off: list[str]


class Skipped(Answer):
    """A conversation of a file that was left out, and why."""

    index: int
    title: str
    code: str
    detail: str


class Imported(Answer):
    """What became of a file of conversations."""

    items: list[Conversation]
    skipped: list[Skipped]


class TagCount(Answer):
    """A tag and how many conversations have it."""

    tag: str
    count: int


class TagCounts(Answer):
    """The tags in use."""

    items: list[TagCount]


class Message(Answer):
    """MESSAGE."""

    id: str
    conversation_id: str
    parent_id: str | None
    siblings: list[str]
    position: int | None
    role: Literal["user", "assistant"]
    state: Literal["queued", "sent", "withdrawn", "deleted"]
    content: str
    reasoning: str
    blocks: list[dict[str, Any]]
    tool_calls: list[Call]
    attachments: list[dict[str, Any]]
    model: str
    usage: dict[str, Any] | None
    error: dict[str, Any] | None
    run_id: str | None
    created_at: str


class MessagePage(Answer):
    """A page of the path to a leaf, and the messages that wait for a run."""

    items: list[Message]
    next_cursor: str | None
    prev_cursor: str | None
    leaf_id: str | None
    queued: list[Message]


class Accepted(Answer):
    """A message that was taken, and the run that answers it; null while another run goes on."""

    message: Message
    run: Run | None


class Continued(Answer):
    """The run that goes on, and the message that asks for it; null for a task, or while another run goes on."""

    message: Message | None
    run: Run | None


class Hit(Answer):
    """Something that was found."""

    type: Literal["message", "conversation", "project"]
    id: str
    conversation_id: str | None
    project_id: str | None
    title: str | None
    snippet: str


class ToolDay(Answer):
    """The caller's own calls of the last 24 hours; times are of calls whose result was not reused."""

    calls: int
    errors: int
    cached: int
    p50_seconds: float | None
    p95_seconds: float | None


class ToolStats(Answer):
    """The caller's own calls of the last 30 days, and of the last 24 hours."""

    calls: int
    errors: int
    cached: int
    average_seconds: float | None
    last_used_at: str | None
    day: ToolDay


class Tool(Answer):
    """A tool; `lacks` names what it works worse without."""

    name: str
    description: str
    category: str
    parameters: dict[str, Any]
    enabled: bool
    policy: Literal["allow", "ask", "deny"]
    read_only: bool
    concurrency_safe: bool
    cacheable: bool
    cache_seconds: float | None
    timeout: float
    error: str | None
    lacks: Literal["no_key", "no_model"] | None
    stats: ToolStats


class Reloaded(Answer):
    """How many tools stand, and which files could not be loaded."""

    tools: int
    errors: list[dict[str, Any]]


class Model(Answer):
    """A model on offer."""

    id: str


class Provider(Answer):
    """A place to ask models; its key is never shown. `lessons`: what its refusals have taught, by model."""

    id: str
    name: str
    kind: str
    base_url: str
    has_key: bool
    models: list[str]
    options: dict[str, Any]
    enabled: bool
    lessons: dict[str, dict[str, Any]]
    created_at: str


class FoundServer(Answer):
    """A model server on this machine that can be added."""

    name: str
    base_url: str
    models: list[str]


class ProviderTest(Answer):
    """Whether a provider answers."""

    ok: bool
    model: str | None
    latency_ms: int | None
    error: str | None
    code: str | None


class ModelUsage(Answer):
    """Usage of one model."""

    model: str
    runs: int
    total_tokens: int
    cost_micros: int
    currency: str


class ToolUsage(Answer):
    """Calls of one tool in a time."""

    name: str
    calls: int
    errors: int


class RunStats(Answer):
    """How the runs of a time went; `p95_seconds` is of the newest `measured` that have ended."""

    runs: int
    ended: int
    completed: int
    measured: int
    p95_seconds: float | None
    models: list[ModelUsage]
    tools: list[ToolUsage]


class QueueStats(Answer):
    """How the queue of runs stands now, for everyone's runs together."""

    waiting: int
    running: int
    workers: int
    oldest_seconds: float | None


class TokenStats(Answer):
    """Usage of one period."""

    period: str
    runs: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost_micros: int
    currency: str
