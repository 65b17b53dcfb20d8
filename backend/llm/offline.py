"""The provider that works with no model: commands, plain sentences it is sure of, answers from tool results."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import strict_json
from ..agent.types import Delta, JsonObject, ModelReply, ModelRequest, OnDelta, ToolCallRequest
from ..cancel import CancelToken
from ..errors import ModelCancelled
from .answers import describe, is_chinese, result_of
from .arguments import object_text
from .commands import HELP, Command, is_command, parse_command, schemas_of, usage
from .deltas import make_id
from .phrasings import Intent, understand
from .shape import text_of

MODEL = "offline"
PIECE_CHARS = 24
_GREETING = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening)|help|what can you do|who are you|您好|你好|嗨|早上好|帮助|你能做什么|你会什么|你是谁)(?:呀|啊)?[\s!！?？.。,，]*",
    re.IGNORECASE,
)

NO_MODEL = (
    "**No language model is connected**, so I can only run tools and follow a few plain sentences.",
    "**没有连接语言模型**，我只能运行工具、听懂一些简单的句子。",
)
CONNECT = (
    "To connect a model: open **Settings → Models** and add a provider (any OpenAI-compatible server, or Anthropic), "
    "or start NanoClaw with `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `OPENAI_MODEL` set. A local server such as Ollama, "
    "LM Studio, llama.cpp or vLLM is found by itself and offered there.",
    "连接模型的方法：打开 **设置 → 模型**，添加一个提供方（任何兼容 OpenAI 的服务器，或 Anthropic）；"
    "或者在启动 NanoClaw 前设置 `OPENAI_BASE_URL`、`OPENAI_API_KEY` 和 `OPENAI_MODEL`。"
    "本机上的 Ollama、LM Studio、llama.cpp 或 vLLM 会被自动发现并列在那里。",
)
FOOTNOTE = (
    "_Answered by rules: no language model is connected (Settings → Models)._",
    "_按规则回答：没有连接语言模型（设置 → 模型）。_",
)
EXAMPLES: tuple[tuple[str, str, str], ...] = (
    ("calculator", "12 * (3 + 4)", "12 * (3 + 4)"),
    ("get_weather", "What's the weather in Paris?", "北京天气怎么样？"),
    ("file_list", "List the files", "列出文件"),
    ("file_read", "Read notes.txt", "读取 notes.txt"),
    ("file_write", "Create a file notes.txt with the text Hello", "创建文件 notes.txt，内容为：你好"),
    ("web_search", "Search the web for SQLite", "搜索 SQLite"),
    ("fetch_page", "Fetch https://example.com", "打开 https://example.com"),
)


@dataclass(frozen=True, slots=True)
class _Turn:
    """The user's last message and what has happened since: calls with their results, in order."""

    text: str
    done: tuple[tuple[str, JsonObject, JsonObject], ...]

    @property
    def zh(self) -> bool:
        return is_chinese(self.text)


class OfflineProvider:
    """Answers without a model; what it is not sure of it does not do."""

    def chat(self, request: ModelRequest, on_delta: OnDelta | None, cancelled: CancelToken) -> ModelReply:
        """Call a tool, or answer."""
        turn = _turn(request.messages)
        schemas = schemas_of(request.tools)
        answer = self._act(turn, schemas)
        if isinstance(answer, ToolCallRequest):
            return ModelReply(tool_calls=(answer,), finish_reason="tool_calls", model=MODEL)
        _stream(answer, on_delta, cancelled)
        return ModelReply(text=answer, model=MODEL)

    def _act(self, turn: _Turn, schemas: dict[str, JsonObject]) -> ToolCallRequest | str:
        if is_command(turn.text):
            return _by_command(turn, schemas)
        intent = understand(turn.text, schemas.keys() or {name for name, _, _ in turn.done})
        if intent is not None and not turn.done:
            return _begin(intent, turn, schemas)
        if intent is not None and intent.unless_exists and [name for name, _, _ in turn.done] == ["file_exists"]:
            return _write_if_new(intent, turn)
        if turn.done:
            return f"{_told(turn)}\n\n{FOOTNOTE[turn.zh]}"
        return _explain(turn, schemas)


def _turn(messages: Sequence[JsonObject]) -> _Turn:
    start = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=-1)
    text = text_of(messages[start].get("content")) if start >= 0 else ""
    calls: dict[str, tuple[str, JsonObject]] = {}
    done = []
    for message in messages[start + 1 :]:
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = (call["function"]["name"], _object(call["function"].get("arguments")))
        if message.get("role") == "tool":
            name, arguments = calls.get(str(message.get("tool_call_id")), (str(message.get("name") or "tool"), {}))
            done.append((name, arguments, result_of(message.get("content"))))
    return _Turn(text, tuple(done))


def _object(text: Any) -> JsonObject:
    try:
        value = strict_json.Reader().decode(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _call(tool: str, arguments: JsonObject) -> ToolCallRequest:
    return ToolCallRequest(make_id(), tool, object_text(arguments))


# ---------------------------------------------------------------- commands
def _by_command(turn: _Turn, schemas: dict[str, JsonObject]) -> ToolCallRequest | str:
    if turn.done:
        return _told(turn)
    command = parse_command(turn.text, schemas)
    if command is None:
        return _explain(turn, schemas)
    if not command.error:
        return _call(command.tool, command.arguments)
    return _command_problem(command, turn, schemas)


def _command_problem(command: Command, turn: _Turn, schemas: dict[str, JsonObject]) -> str:
    zh = turn.zh
    if command.error == "unknown":
        listed = _listing(schemas, zh)
        if command.tool.lower() in HELP:
            return listed
        return (
            f"没有名为 `/{command.tool}` 的命令。" if zh else f"There is no command `/{command.tool}`."
        ) + f"\n\n{listed}"
    how = usage(command.tool, schemas[command.tool])
    if command.missing:
        names = ", ".join(f"`{name}`" for name in command.missing)
        said = f"`/{command.tool}` 还缺少：{names}。" if zh else f"`/{command.tool}` still needs {names}."
    else:
        said = (
            f"`/{command.tool}` 无法理解：{command.error}。"
            if zh
            else f"`/{command.tool}` was not understood: {command.error}."
        )
    return f"{said}\n\n{'用法' if zh else 'Usage'}: `{how}`"


def _listing(schemas: dict[str, JsonObject], zh: bool) -> str:
    if not schemas:
        return "这里没有可用的工具。" if zh else "No tools are available here."
    lines = [f"- `{usage(name, schema)}`" for name, schema in schemas.items()]
    return "\n".join(["可用的命令：" if zh else "Commands:", "", *lines])


# ---------------------------------------------------------------- sentences
def _begin(intent: Intent, turn: _Turn, schemas: dict[str, JsonObject]) -> ToolCallRequest | str:
    if intent.by_command:
        why = (
            "这类操作只能用命令来做"
            if turn.zh
            else "That is done only by command, so that nothing is lost by a misunderstanding"
        )
        return f"{why}: `{intent.by_command}`"
    if intent.unless_exists and "file_exists" in schemas:
        return _call("file_exists", {"path": intent.unless_exists})
    return _call(intent.tool, intent.arguments)


def _write_if_new(intent: Intent, turn: _Turn) -> ToolCallRequest | str:
    """A plain sentence creates a file, but never replaces one."""
    _, _, result = turn.done[0]
    data = result.get("data")
    if not result.get("success") or not isinstance(data, dict):
        return f"{_told(turn)}\n\n{FOOTNOTE[turn.zh]}"
    if not data.get("exists"):
        return _call(intent.tool, intent.arguments)
    path = intent.unless_exists
    command = f"/file_write path={path} content=…"
    if turn.zh:
        return f"`{path}` 已经存在，我没有改动它。要替换它的内容，请用命令：`{command}`"
    return f"`{path}` exists already, so I left it as it is. To replace what it holds, use the command: `{command}`"


def _told(turn: _Turn) -> str:
    shown = [step for step in turn.done if step[0] != "file_exists" or len(turn.done) == 1]
    return "\n\n".join(describe(name, arguments, result, turn.zh) for name, arguments, result in shown)


def _explain(turn: _Turn, schemas: dict[str, JsonObject]) -> str:
    zh = turn.zh
    examples = [f"- {example[1 + zh]}" for example in EXAMPLES if example[0] in schemas]
    parts = (
        [] if _GREETING.fullmatch(turn.text.strip()) else ["我没有听懂这句话。" if zh else "I did not understand that."]
    )
    parts.append(NO_MODEL[zh])
    if examples:
        parts.append("\n".join(["你可以试试：" if zh else "Things you can try:", "", *examples]))
        parts.append("每个工具都有命令，输入 `/help` 查看。" if zh else "Every tool has a command; `/help` lists them.")
    parts.append(CONNECT[zh])
    return "\n\n".join(parts)


def _stream(text: str, on_delta: OnDelta | None, cancelled: CancelToken) -> None:
    shown = 0
    for piece in re.findall(rf"(?s).{{1,{PIECE_CHARS}}}", text):
        if cancelled.is_set():
            raise ModelCancelled("The request was cancelled.", partial_text=text[:shown])
        shown += len(piece)
        if on_delta is not None:
            on_delta(Delta("text", piece))
