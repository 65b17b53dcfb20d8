"""A provider for any server that speaks OpenAI's chat-completions protocol, or nearly."""

from collections.abc import Callable
from urllib.parse import urlsplit

from ..agent.types import JsonObject, ModelRequest
from .faults import Complaint
from .lessons import Lessons, lesson_from
from .reading import AnswerReader
from .server import USER_AGENT, ServerProvider, ServerSettings, Shared
from .shape import request_body
from .wire import ReadOptions, ReplyReader

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
    try:
        return url if urlsplit(url).path.strip("/") else f"{url}/v1"
    except ValueError:
        return url  # said when it is used


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


class OpenAICompatible(ServerProvider):
    """Chat completions at `base_url`; see ServerProvider."""

    def __init__(self, settings: ServerSettings, shared: Shared | None = None) -> None:
        super().__init__(settings, shared)
        self._endpoint = (
            base_of(settings.base_url) + "/chat/completions" + (f"?{settings.query}" if settings.query else "")
        )
        self._host = _host_of(self._endpoint)
        self._head = self._make_headers()

    def _make_headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
            **self.settings.headers,
        }
        key, name = self.settings.api_key.strip(), self.settings.key_header
        if key:
            headers[name or "Authorization"] = key if name else f"Bearer {key}"
        return headers

    def _url(self) -> str:
        return self._endpoint

    def _headers(self) -> dict[str, str]:
        return self._head

    def _body(self, request: ModelRequest, known: Lessons) -> JsonObject:
        if self._host in _NEEDS_COMPLETION_TOKENS:
            known = {"max_tokens": "max_completion_tokens", **known}
        return request_body(request, known, self._extra(request))

    def _extra(self, request: ModelRequest) -> JsonObject:
        extra = dict(self.settings.parameters)
        if request.thinking is not None:
            style = self.settings.thinking or _THINKING_BY_HOST.get(
                self._host, "effort" if request.thinking else "none"
            )
            extra.update(THINKING.get(style, THINKING["none"])(request.thinking))
        return extra

    def _lesson(self, complaint: Complaint, body: JsonObject, known: Lessons) -> Lessons | None:
        return lesson_from(complaint, body, known)

    def _reader(self, request: ModelRequest) -> ReplyReader:
        known = self._memory.lessons(f"{self.settings.id}/{request.model}")
        options = ReadOptions(
            tool_names=_tool_names(request),
            in_thought=bool(known.get("in_thought")),
            secret=self.settings.api_key,
        )
        return ReplyReader(options)

    def _answered(self, model: str, reader: AnswerReader) -> None:
        if isinstance(reader, ReplyReader) and (reader.orphan_thought or reader.misjudged):
            self._memory.learn(f"{self.settings.id}/{model}", {"in_thought": not reader.misjudged})

    def _models_url(self) -> str:
        return base_of(self.settings.base_url) + "/models"


def _tool_names(request: ModelRequest) -> set[str]:
    names = {tool["function"]["name"] for tool in request.tools}
    for message in request.messages:
        for call in message.get("tool_calls") or ():
            names.add(call["function"]["name"])
    return names
