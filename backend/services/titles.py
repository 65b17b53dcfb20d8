"""Titles of conversations, made from the first message: its first words, or what a slash command does."""

from typing import Any

from ..agent.types import JsonObject
from ..llm.commands import HELP, Command, parse_command
from ..tools.core import ToolRegistry
from .language import Language

TITLE_CHARS = 60
SLASHES = ("/", "／")
COLON: dict[Language, str] = {"en": ": ", "zh-CN": "："}
# The built-in tools as the web app names them: English, Chinese.
TOOL_NAMES = {
    "calculator": ("Calculator", "计算器"),
    "crawl_batch": ("Read pages", "批量读取网页"),
    "execute_python": ("Python", "Python"),
    "fetch_page": ("Read page", "读取网页"),
    "file_delete": ("Delete file", "删除文件"),
    "file_edit": ("Edit file", "编辑文件"),
    "file_exists": ("Check file", "检查文件"),
    "file_list": ("List files", "列出文件"),
    "file_mkdir": ("Make folder", "新建文件夹"),
    "file_move": ("Move file", "移动文件"),
    "file_read": ("Read file", "读取文件"),
    "file_search": ("Search files", "搜索文件"),
    "file_write": ("Write file", "写入文件"),
    "get_weather": ("Weather", "天气"),
    "json_process": ("JSON", "JSON 处理"),
    "multi_agent": ("Helpers", "多智能体"),
    "text_process": ("Text", "文本处理"),
    "web_search": ("Web search", "网页搜索"),
}
HELP_NAMES = ("Help", "帮助")


def title_from(content: str, registry: ToolRegistry, language: Language = "en") -> str:
    """At most 60 characters: a command as "Calculator: 15% of 240", any other message by its first words."""
    words = " ".join(content.split())
    return _cut(_command_title(content.strip(), registry, language) or words)


def _command_title(text: str, registry: ToolRegistry, language: Language) -> str | None:
    if not text.startswith(SLASHES):
        return None
    text = "/" + text[1:]
    words = text.split()
    if words[0][1:] in HELP:
        return _in(language, HELP_NAMES)
    schemas = {definition.name: definition.parameters for definition in registry.all()}
    command = parse_command(text, schemas)
    if command is None or command.tool not in schemas:
        return None
    said = _said(command, schemas[command.tool], text)
    name = tool_title(command.tool, language)
    return f"{name}{COLON[language]}{said}" if said else name


def tool_title(name: str, language: Language) -> str:
    """A tool's name for people; one of somebody's own is its name with blanks."""
    known = TOOL_NAMES.get(name)
    return _in(language, known) if known else name.replace("_", " ").capitalize()


def _in(language: Language, words: tuple[str, str]) -> str:
    return words[1 if language == "zh-CN" else 0]


def _said(command: Command, schema: JsonObject, text: str) -> str:
    """What the command is about: the first text among its arguments, the required ones first."""
    if command.error:
        return " ".join(text.split()[1:])
    required = [name for name in schema.get("required", ()) if name in command.arguments]
    values: list[Any] = [command.arguments[name] for name in (*required, *command.arguments)]
    said = next((value for value in values if isinstance(value, (str, int, float)) and str(value).strip()), "")
    return " ".join(str(said).split())


def _cut(words: str) -> str:
    """Cut at a space where there is one."""
    if len(words) <= TITLE_CHARS:
        return words
    head = words[:TITLE_CHARS]
    cut = head.rfind(" ")
    return (head[:cut] if cut > TITLE_CHARS // 2 else head).rstrip() + "…"
