"""Bodies and query strings of requests."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ...services.conversation_lists import Filter
from ...services.limits import CEILINGS
from ...services.paging import DEFAULT_LIMIT, MAX_CURSOR_CHARS, MAX_LIMIT, Page

MAX_MESSAGE_CHARS = 400_000
MAX_INSTRUCTIONS_CHARS = 100_000
MAX_PATH_CHARS = 4096
MAX_TAGS, MAX_TAG_CHARS = 20, 40
MAX_SEQ = 2**53

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]
Id = Annotated[str, StringConstraints(min_length=1, max_length=64)]
ModelName = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]
Instructions = Annotated[str, StringConstraints(max_length=MAX_INSTRUCTIONS_CHARS)]
Path = Annotated[str, StringConstraints(max_length=MAX_PATH_CHARS)]
SomePath = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PATH_CHARS)]
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=64)]
ToolNames = Annotated[list[ToolName], Field(max_length=500)]
Content = Annotated[str, StringConstraints(min_length=1, max_length=MAX_MESSAGE_CHARS, pattern=r"\S")]
Temperature = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
MaxTokens = Annotated[int, Field(ge=1, le=1_000_000)]
Tag = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TAG_CHARS, pattern=r"^[^\x00-\x1f\x7f]*$"),
]
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS)]
Kept = Literal["false", "true", "any"]


class Query(BaseModel):
    """A query string: texts are turned into numbers and truth values."""

    model_config = ConfigDict(extra="ignore")


class Body(BaseModel):
    """A JSON body: exact types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self) -> dict[str, Any]:
        """Only the fields the client named, null among them."""
        return self.model_dump(exclude_unset=True)


class PageQuery(Query):
    """Which page of a list."""

    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, max_length=MAX_CURSOR_CHARS)

    def page(self) -> Page:
        """The page as services take it."""
        return Page(self.limit, self.cursor or None)


class BinQuery(PageQuery):
    """Which of the things that can be archived and deleted; in the bin both kinds lie."""

    archived: Kept = "false"
    deleted: bool = False

    def wanted(self) -> bool | None:
        """Archived ones, others, or (None) both."""
        return None if self.archived == "any" else self.archived == "true"


class Limits(Body):
    """Limits of a run; what is not named follows the project, then the defaults."""

    max_steps: int | None = Field(None, ge=CEILINGS["max_steps"][0], le=CEILINGS["max_steps"][1])
    step_timeout_seconds: float | None = Field(
        None, ge=CEILINGS["step_timeout_seconds"][0], le=CEILINGS["step_timeout_seconds"][1]
    )
    run_timeout_seconds: float | None = Field(
        None, ge=CEILINGS["run_timeout_seconds"][0], le=CEILINGS["run_timeout_seconds"][1]
    )
    max_retries_per_tool: int | None = Field(
        None, ge=CEILINGS["max_retries_per_tool"][0], le=CEILINGS["max_retries_per_tool"][1]
    )
    max_consecutive_errors: int | None = Field(
        None, ge=CEILINGS["max_consecutive_errors"][0], le=CEILINGS["max_consecutive_errors"][1]
    )


# ---------------------------------------------------------------- accounts
class LoginBody(Body):
    """A one-time sign-in code."""

    code: str = Field(min_length=1, max_length=200)


class MeBody(Body):
    """What a person may change about themselves; a null setting is removed."""

    name: Name | None = None
    settings: dict[str, Any] | None = None


class TokenBody(Body):
    """A new API token."""

    name: Name


# ---------------------------------------------------------------- projects and files
class ProjectBody(Body):
    """A new project; `path` opens an existing folder."""

    name: Name
    description: Instructions = ""
    instructions: Instructions = ""
    path: SomePath | None = None


class ProjectPatch(Body):
    """Changes of a project."""

    name: Name = ""
    description: Instructions = ""
    instructions: Instructions = ""
    default_model: ModelName | None = None
    retention_days: Annotated[int, Field(ge=0, le=36_500)] | None = None
    allowed_tools: ToolNames | None = None
    limits: Limits | None = None
    pinned: bool = False
    archived: bool = False


class PathQuery(Query):
    """A path in the project; the project's folder by default."""

    path: Path = ""


class FileQuery(Query):
    """A path of a file in the project."""

    path: SomePath


class DeleteQuery(FileQuery):
    """What to delete; with `recursive=false` a folder must be empty."""

    recursive: bool = True


class FolderQuery(PageQuery):
    """A folder of the project."""

    path: Path = ""


class UploadQuery(Query):
    """Where an upload goes and what happens if something is there."""

    path: Path = ""
    on_conflict: Literal["fail", "replace", "keep_both"] = "fail"


class MoveBody(Body):
    """Where a file or folder goes."""

    new_path: SomePath


class DirectoryBody(Body):
    """A new folder."""

    path: SomePath


class FileSearchBody(Body):
    """What to look for in the files of a project."""

    query: str = Field(min_length=1, max_length=1000)
    path: Path = ""
    case_sensitive: bool = False
    regex: bool = False


class ChangesQuery(PageQuery):
    """Which changes of files; `deleted` asks for the deletions of files that are gone now, whatever else is named."""

    path: Path | None = None
    run_id: Id | None = None
    deleted: bool = False


# ---------------------------------------------------------------- conversations and messages
class ConversationsQuery(BinQuery):
    """Which conversations; `project_id=none` means those outside projects, `q` words of the title."""

    project_id: Id | None = None
    pinned: bool | None = None
    tag: str | None = Field(None, max_length=MAX_TAG_CHARS)
    q: str | None = Field(None, max_length=500)
    sort: Literal["updated", "created", "title"] = "updated"

    def filter(self) -> Filter:
        """The filter as services take it."""
        tag = self.tag.strip() if self.tag is not None else None
        return Filter(self.project_id, self.wanted(), self.pinned, tag, self.q, self.deleted)


class TagsQuery(Query):
    """The tags of which conversations."""

    project_id: Id | None = None


class ConversationFields(Body):
    """What a conversation may be given at any time."""

    title: Title = ""
    project_id: Id | None = None
    model: ModelName | None = None
    system_prompt: Instructions | None = None
    temperature: Temperature | None = None
    max_tokens: MaxTokens | None = None
    thinking: bool | None = None
    tools_off: ToolNames = []
    tags: Tags = []


class ConversationBody(ConversationFields):
    """A new conversation; a temporary one is in no list and is removed a day after its last message."""

    temporary: bool = False


class ConversationPatch(ConversationFields):
    """Changes of a conversation; `project_id` moves it, `active_leaf_id` chooses a branch, `temporary: false` keeps it."""

    active_leaf_id: Id | None = None
    pinned: bool = False
    archived: bool = False
    temporary: Literal[False] = False


class ForkBody(Body):
    """The last message that a fork takes over."""

    message_id: Id


class ExportQuery(Query):
    """In which form."""

    format: Literal["md", "json"] = "md"


class ImportQuery(Query):
    """Where to; outside of projects by default."""

    project_id: Id | None = None


class MessagesQuery(PageQuery):
    """Which messages: the path to `leaf`, or a page around one message."""

    leaf: Id | None = None
    around: Id | None = None


class RunOptions(Body):
    """What a caller may choose for a run; `tools` absent means all that are allowed, [] none."""

    tools: ToolNames | None = None
    model: ModelName | None = None
    limits: Limits | None = None


class MessageBody(RunOptions):
    """A message. `attachments` are paths of the project; the same `client_id` again is the same message."""

    content: Content
    attachments: Annotated[list[SomePath], Field(max_length=20)] = []
    parent_id: Id | None = None
    client_id: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None


class ForGoodQuery(Query):
    """`for_good=true`: of what was deleted already, and cannot be restored afterwards."""

    for_good: bool = False


class DeleteMessageQuery(Query):
    """With `following=true` a message that was sent is deleted, and all that follows it on its branches."""

    following: bool = False


class MessagePatch(Body):
    """Another text for a message that waits."""

    content: Content


class SearchQuery(Query):
    """What to look for in messages, titles and projects, or in one conversation."""

    q: str = Field(min_length=1, max_length=500)
    conversation_id: Id | None = None
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, max_length=MAX_CURSOR_CHARS)


# ---------------------------------------------------------------- runs, tools, models
class TaskBody(RunOptions):
    """An agent run with no conversation."""

    input: Content
    project_id: Id | None = None


class RunsQuery(PageQuery):
    """Which runs."""

    project_id: Id | None = None
    conversation_id: Id | None = None
    status: (
        Literal["queued", "running", "waiting_approval", "completed", "cancelled", "max_steps", "timeout", "failed"]
        | None
    ) = None
    kind: Literal["chat", "task", "workflow", "child", "manual"] | None = None
    parent_run_id: Id | None = None


class ResolveBody(Body):
    """What became of a call whose outcome was unknown."""

    outcome: Literal["done", "not_done"]


class ContinueBody(Body):
    """Limits for the run that goes on; those not named stay as they were."""

    limits: Limits | None = None


class UndoBody(Body):
    """What to put back: one step only, some files or folders only, or everything."""

    step: Annotated[int, Field(ge=0, le=10_000)] | None = None
    paths: Annotated[list[SomePath], Field(max_length=1000)] | None = None


class EventsQuery(Query):
    """Where a stream of events begins; the header Last-Event-ID does the same."""

    after: int = Field(0, ge=0, le=MAX_SEQ)


class ExecuteBody(Body):
    """Run a tool by hand; `fresh` passes the cache by."""

    arguments: dict[str, Any] = {}
    project_id: Id | None = None
    fresh: bool = False


class ToolPatch(Body):
    """The administrator's word on a tool; a null policy returns to the default."""

    enabled: bool = True
    policy: Literal["allow", "ask", "deny"] | None = None


class ProviderBody(Body):
    """A place to ask models; the key can be written, never read."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
    kind: Literal["openai", "anthropic"] = "openai"
    base_url: str = Field("", max_length=2000, pattern=r"^(https?://\S+)?$")
    api_key: str | None = Field(None, max_length=2000)
    models: Annotated[list[ModelName], Field(max_length=500)] = []
    options: dict[str, Any] = {}
    enabled: bool = True


class ProviderPatch(ProviderBody):
    """Changes of a provider; a null key removes it."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)] = ""


class StatsQuery(Query):
    """How usage is summed."""

    period: Literal["daily", "weekly", "monthly"] = "daily"
