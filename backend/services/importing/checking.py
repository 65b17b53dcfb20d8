"""What a conversation of a file may hold: everything is checked, what is unknown is left out, nothing is taken on trust."""

from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from ...errors import InvalidInput
from ...ids import utc_now

MAX_TEXT_CHARS = 4_000_000
MAX_RESULT_CHARS = 2_000_000
MAX_INSTRUCTIONS_CHARS = 100_000
MAX_MESSAGES = 100_000
MAX_PARTS = 10_000
MAX_NUMBER = 2**53
MAX_TAGS, MAX_TAG_CHARS = 20, 40
FIRST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)


class Refused(Exception):
    """A conversation that cannot be taken over; `detail` says what is wrong and where."""

    def __init__(self, title: str, detail: str) -> None:
        super().__init__(detail)
        self.title = title
        self.detail = detail


def _moment(value: Any) -> Any:
    """A time of the file, never one to come."""
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > 40:
        raise ValueError("must be a time in ISO 8601")
    moment = datetime.fromisoformat(value)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not 1971 < moment.year < 9999:
        return FIRST_MOMENT
    return min(moment.astimezone(UTC), utc_now())


def _relative(path: str) -> str:
    """A path of a project's file; it names a file, and gives no right to it."""
    if "\0" in path or path.startswith(("/", "\\")) or ".." in path.replace("\\", "/").split("/"):
        raise ValueError("must be a path inside of a project")
    return path


def _status(value: Any) -> Any:
    """Of a call that was under way when the file was written nobody knows the outcome."""
    return "unknown" if value in ("pending", "executing", "waiting_approval") else value


Text = Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)]
Result = Annotated[str, StringConstraints(max_length=MAX_RESULT_CHARS)]
Short = Annotated[str, StringConstraints(max_length=200)]
Line = Annotated[str, StringConstraints(max_length=10_000)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
Seconds = Annotated[float, Field(ge=0, le=MAX_NUMBER, allow_inf_nan=False)]
Moment = Annotated[datetime | None, BeforeValidator(_moment)]
Scalar = Line | bool | Count | Seconds | None
Scalars = Annotated[dict[Short, Scalar], Field(max_length=30)]
RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=4096), AfterValidator(_relative)]
Tag = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TAG_CHARS, pattern=r"^[^\x00-\x1f\x7f]*$"),
]


class _Part(BaseModel):
    """Exact types; what is unknown is left out."""

    model_config = ConfigDict(extra="ignore", strict=True, protected_namespaces=())


class Function(_Part):
    """What a call asked for; a server's request may be wrong in many ways, so its arguments are any text."""

    name: Short
    arguments: Text = "{}"


class Call(_Part):
    """CALL, with `whole_result` where `result` was cut for the model."""

    id: Key
    function: Function
    result: Result | None = None
    whole_result: Result | None = None
    success: bool | None = None
    skipped: bool = False
    execution_time: Seconds | None = None
    status: Annotated[
        Literal["success", "error", "timeout", "permission_denied", "cancelled", "unknown"], BeforeValidator(_status)
    ] = "unknown"
    cached: bool = False
    duplicate_of: Key | None = None
    cached_at: Moment = None
    expires_at: Moment = None
    attempts: Count = 0
    degraded: Line | Scalars | None = None
    summary: Line | None = None
    queued_ms: Seconds | None = None
    result_truncated: bool = False
    result_size: Count | None = None
    step: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    started_at: Moment = None
    finished_at: Moment = None


class TextBlock(_Part):
    """Words of an answer."""

    type: Literal["text", "reasoning"]
    text: Text


class CallBlock(_Part):
    """Where a call stands in an answer."""

    type: Literal["tool_call"]
    call_id: Key


class Attachment(_Part):
    """A file that was attached: its name, not its content."""

    type: Literal["file"] = "file"
    path: RelativePath
    name: Annotated[str, StringConstraints(max_length=1024)]
    size: Count = 0
    media_type: Short = "application/octet-stream"


class Message(_Part):
    """MESSAGE."""

    id: Key
    parent_id: Key | None = None
    role: Literal["user", "assistant"]
    state: Literal["sent"] = "sent"
    content: Text = ""
    reasoning: Text = ""
    blocks: Annotated[list[TextBlock | CallBlock], Field(max_length=MAX_PARTS)] = []
    tool_calls: Annotated[list[Call], Field(max_length=MAX_PARTS)] = []
    attachments: Annotated[list[Attachment], Field(max_length=100)] = []
    model: Short = ""
    usage: Scalars | None = None
    error: Scalars | None = None
    created_at: Moment = None


class Entry(_Part):
    """A conversation of a file; `messages` are in an order in which parents come first."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)] = ""
    model: Short | None = None
    system_prompt: Annotated[str, StringConstraints(max_length=MAX_INSTRUCTIONS_CHARS)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    thinking: bool | None = None
    pinned: bool = False
    archived: bool = False
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS)] = []
    active_leaf_id: Key | None = None
    created_at: Moment = None
    updated_at: Moment = None
    messages: Annotated[list[Message], Field(max_length=MAX_MESSAGES)]


def checked(value: Any) -> Entry:
    """A conversation as the file has it, checked. Raises Refused."""
    title = value.get("title") if isinstance(value, dict) else None
    shown = title.encode("utf-8", "replace").decode()[:300] if isinstance(title, str) else ""
    try:
        entry = Entry.model_validate(value)
        _check_messages(entry)
    except ValidationError as e:
        problem = e.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"] if part not in ("TextBlock", "CallBlock"))
        raise Refused(shown, f"{where or 'conversation'}: {problem['msg']}") from e
    except InvalidInput as e:
        raise Refused(shown, e.message) from e
    return entry


def _check_messages(entry: Entry) -> None:
    for index, message in enumerate(entry.messages):
        where = f"messages.{index}"
        if message.role == "user" and (message.blocks or message.tool_calls):
            raise InvalidInput(f"{where}: only an answer has blocks and calls")
        ids = [call.id for call in message.tool_calls]
        if len(set(ids)) != len(ids):
            raise InvalidInput(f"{where}.tool_calls: two calls have the same id")
        named = [block.call_id for block in message.blocks if isinstance(block, CallBlock)]
        if len(set(named)) != len(named) or not set(named) <= set(ids):
            raise InvalidInput(f"{where}.blocks: each call must be one of tool_calls, and stand once")
    entry.messages = _parents_first(entry.messages)
    if entry.active_leaf_id is not None and entry.active_leaf_id not in {m.id for m in entry.messages}:
        raise InvalidInput("active_leaf_id: there is no such message")


def _parents_first(messages: list[Message]) -> list[Message]:
    """As near to the file's order as parents allow. Raises InvalidInput for ids twice, unknown parents and circles."""
    places: dict[str, int] = {}
    for index, message in enumerate(messages):
        if places.setdefault(message.id, index) != index:
            raise InvalidInput(f"messages.{index}.id: another message has this id")
    children: dict[int, list[int]] = {}
    ready: list[int] = []
    for index, message in enumerate(messages):
        if message.parent_id is None:
            ready.append(index)
        elif message.parent_id in places:
            children.setdefault(places[message.parent_id], []).append(index)
        else:
            raise InvalidInput(f"messages.{index}.parent_id: there is no such message")
    ordered: list[Message] = []
    heapify(ready)
    while ready:
        index = heappop(ready)
        ordered.append(messages[index])
        for child in children.get(index, ()):
            heappush(ready, child)
    if len(ordered) < len(messages):
        reached = {message.id for message in ordered}
        index = next(i for i, message in enumerate(messages) if message.id not in reached)
        raise InvalidInput(f"messages.{index}.parent_id: the messages go in a circle")
    return ordered
