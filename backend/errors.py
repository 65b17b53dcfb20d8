"""The one tree of errors: every error that may reach a person has a stable code and says whether a retry helps."""

from typing import Any, ClassVar


class NanoClawError(Exception):
    """Base of all errors that are meant for people.

    The message is shown as it is: it never holds a secret, a path of the server or a stack trace.
    """

    code: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, suggestion: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion
        self.details = details


# ---------------------------------------------------------------- what a caller asked for cannot be done
class RequestError(NanoClawError):
    """The caller's request is wrong; repeating it does not help."""

    code = "bad_request"


class InvalidInput(RequestError):
    """Fields do not validate; `errors` maps a field's path to its messages."""

    code = "validation_failed"

    def __init__(self, message: str, errors: dict[str, list[str]] | None = None, **kw: Any) -> None:
        super().__init__(message, **kw)
        self.errors = errors or {}


class NotSignedIn(RequestError):
    """No session and no token."""

    code = "not_signed_in"


class Forbidden(RequestError):
    """Signed in, but this is not allowed (never used for another user's object: that is NotFound)."""

    code = "forbidden"


class NotFound(RequestError):
    """No such object, or not the caller's."""

    code = "not_found"


class Conflict(RequestError):
    """The object is in a state that does not allow this."""

    code = "conflict"


class PreconditionFailed(RequestError):
    """If-Match named another version than the stored one."""

    code = "precondition_failed"


class TooLarge(RequestError):
    """Over a size limit."""

    code = "too_large"


class RateLimited(RequestError):
    """Too many requests; `retry_after` is in seconds."""

    code = "rate_limited"
    retryable = True

    def __init__(self, message: str, retry_after: float = 1.0, **kw: Any) -> None:
        super().__init__(message, **kw)
        self.retry_after = retry_after


class Unavailable(NanoClawError):
    """Cannot be served now, may be later."""

    code = "unavailable"
    retryable = True


# ---------------------------------------------------------------- tools
class ToolError(NanoClawError):
    """A tool could not do what it was asked; the model is told and the run goes on."""

    code = "tool_failed"


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's schema."""

    code = "invalid_arguments"


class UnknownTool(ToolError):
    """No tool of that name."""

    code = "unknown_tool"


class ToolTimeout(ToolError):
    """The tool did not finish within its time."""

    code = "timeout"
    retryable = True


class ToolCancelled(ToolError):
    """The run was cancelled while the tool worked."""

    code = "cancelled"


class ToolDenied(ToolError):
    """Policy or scope does not allow this tool here."""

    code = "permission_denied"


class ToolUnavailable(ToolError):
    """The tool is switched off or lacks something on this machine."""

    code = "tool_unavailable"


class NoProject(ToolError):
    """A file tool was used outside a project."""

    code = "no_project"


class WorkspaceViolation(ToolError):
    """A path leads outside the project folder. `target` is the path as asked."""

    code = "outside_workspace"

    def __init__(self, message: str, target: str = "", **kw: Any) -> None:
        super().__init__(message, **kw)
        self.target = target


class FileProblem(ToolError):
    """A file cannot be read or written as asked (missing, a folder, binary, too large …)."""

    code = "file_error"


class FileMissing(FileProblem):
    """No file or folder at that path."""

    code = "file_not_found"


class FileTaken(FileProblem, Conflict):
    """Something is already there, or is no longer what the act was meant for."""

    code = "file_conflict"


class QuotaExceeded(FileProblem):
    """The project is over its size limit."""

    code = "quota_exceeded"


class FetchError(ToolError):
    """A page could not be fetched."""

    code = "fetch_failed"


class FetchRetryable(FetchError):
    """A page could not be fetched now; later may work."""

    code = "fetch_failed"
    retryable = True


class SsrfViolation(FetchError):
    """The address is not public: a boundary that cannot be crossed by other means."""

    code = "address_refused"


class SandboxUnavailable(ToolUnavailable):
    """The walls that are required do not stand on this machine."""

    code = "sandbox_unavailable"


# ---------------------------------------------------------------- models
class ModelError(NanoClawError):
    """A model request failed. `partial_text` is what had been shown before."""

    code = "model_error"

    def __init__(self, message: str, *, partial_text: str = "", partial_reasoning: str = "", **kw: Any) -> None:
        super().__init__(message, **kw)
        self.partial_text = partial_text
        self.partial_reasoning = partial_reasoning


class ModelTransient(ModelError):
    """Connection fault, overload or time-out: a retry may help."""

    code = "model_unreachable"
    retryable = True


class ModelTimeout(ModelTransient):
    """No event within the idle limit, or the total limit passed."""

    code = "model_timeout"


class ModelRateLimited(ModelTransient):
    """The provider asks to wait; `retry_after` in seconds, or None."""

    code = "model_rate_limited"

    def __init__(self, message: str, retry_after: float | None = None, **kw: Any) -> None:
        super().__init__(message, **kw)
        self.retry_after = retry_after


class ModelAuthError(ModelError):
    """The provider refuses the key."""

    code = "model_auth"


class ModelQuotaExceeded(ModelError):
    """The account has no credit left."""

    code = "model_quota"


class ModelRefusedRequest(ModelError):
    """The provider says the request is wrong."""

    code = "model_bad_request"


class ContextTooLong(ModelError):
    """The request is longer than the model's window."""

    code = "context_too_long"


class ContentFiltered(ModelError):
    """The provider's filter stopped the answer."""

    code = "content_filter"


class ModelCancelled(ModelError):
    """The request was cancelled from our side."""

    code = "cancelled"


# ---------------------------------------------------------------- runs and storage
class LeaseLost(NanoClawError):
    """Another worker has taken this run over; nothing more may be written by this one."""

    code = "lease_lost"


class StorageError(NanoClawError):
    """The database or the disk did not take a write."""

    code = "storage"
    retryable = True
