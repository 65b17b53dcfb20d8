"""Export of a conversation as Markdown: the active path for reading, each call folded to one line.

Whatever a message holds stays inside it: a message that could swallow what follows (a code fence that is left open,
HTML) is quoted, since a quotation ends where its lines end.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..ids import utc_now
from ..models import Conversation, Message, ToolCall
from .conversations import get_conversation
from .language import Language, language_of
from .messages import path_ids, with_calls
from .runtime import Runtime

PAGE_MESSAGES = 50
ARGUMENTS_CHARS = 200
RESULT_CHARS = 120
WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "user": "You",
        "assistant": "Assistant",
        "untitled": "Conversation",
        "files": "Attached",
        "from": "Exported",
    },
    "zh-CN": {"user": "你", "assistant": "助手", "untitled": "对话", "files": "附件", "from": "导出于"},
}
SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+.!|~&$-])")
FENCE_LIKE = re.compile(r"[\s>*+\-.):\d]*(`{3,}|~{3,})")
FENCE = re.compile(r"(?P<mark>`{3,}(?=[^`]*\Z)|~{3,})(?P<info>.*)\Z", re.DOTALL)
HTML = re.compile(r"[\s>*+\-.):\d]*<[A-Za-z/!?]")


def conversation(runtime: Runtime, user_id: str, conversation_id: str) -> Iterator[str]:
    """The conversation's active path as the text of a file, in pieces. Raises NotFound."""
    with runtime.db.read() as session:
        row = get_conversation(session, user_id, conversation_id)
        words = WORDS[language_of(session, user_id)]
        ids = path_ids(session, row.active_leaf_id) if row.active_leaf_id else []
    return _file(runtime, row, ids, words)


def _file(runtime: Runtime, row: Conversation, ids: Sequence[str], words: dict[str, str]) -> Iterator[str]:
    title = SPECIAL.sub(r"\\\1", " ".join(row.title.split())) or words["untitled"]
    yield f"# {title}\n\n*{words['from']} {_moment(utc_now())}*\n"
    for start in range(0, len(ids), PAGE_MESSAGES):
        with runtime.db.read() as session:
            found = _page(session, ids[start : start + PAGE_MESSAGES])
        for message, calls in found:
            yield _message(message, calls, words)


def _page(session: Session, ids: Sequence[str]) -> list[tuple[Message, list[ToolCall]]]:
    rows = {m.id: m for m in session.scalars(select(Message).where(Message.id.in_(ids)))}
    return with_calls(session, [rows[i] for i in ids if i in rows])


def _message(message: Message, calls: Sequence[ToolCall], words: dict[str, str]) -> str:
    who = words["user"] if message.role == "user" else words["assistant"]
    model = f" · {code(message.model)}" if message.model else ""
    parts = [f"## {who} · {_moment(message.created_at)}{model}"]
    if message.role == "user":
        parts += [quoted(message.content), *_attachments(message.attachments, words)]
    else:
        parts += _answer(message, calls, words)
    return "\n" + "\n\n".join(part for part in parts if part) + "\n"


def _answer(message: Message, calls: Sequence[ToolCall], words: dict[str, str]) -> Iterator[str]:
    by_id = {call.id: call for call in calls}
    for block in message.blocks or [{"type": "text", "text": message.content}]:
        if block.get("type") == "text":
            yield contained(str(block["text"]), words)
        elif block.get("type") == "tool_call" and (call := by_id.get(block["call_id"])) is not None:
            yield _call(call)
    if message.error:
        yield "⚠️ " + code(f"{message.error.get('code')}: {message.error.get('message')}")


def _call(call: ToolCall) -> str:
    asked = code(call.call["function"]["arguments"], ARGUMENTS_CHARS)
    gave = f" {code(call.result, RESULT_CHARS)}" if call.result else ""
    return f"🔧 {code(call.name)} {asked} → {call.status}{gave}"


def _attachments(files: Sequence[JsonObject], words: dict[str, str]) -> list[str]:
    names = [code(str(file.get("path") or file.get("name") or "")) for file in files if isinstance(file, dict)]
    return [f"📎 {words['files']}: {', '.join(names)}"] if names else []


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


# ---------------------------------------------------------------- texts that cannot get out
def code(text: str, limit: int = 200) -> str:
    """A text as a code span on one line, cut; whatever backticks it holds."""
    line = " ".join(text[: 4 * limit].split())
    line = line if len(line) <= limit and len(text) <= 4 * limit else line[:limit] + "…"
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    marks = "`" * (longest + 1)
    space = " " if line[:1] in ("`", "") or line[-1:] == "`" else ""
    return f"{marks}{space}{line}{space}{marks}"


def quoted(text: str) -> str:
    """A text as a quotation."""
    lines = _lines(text)
    return "\n".join(f"> {line}" if line else ">" for line in lines) if text.strip() else ""


def contained(text: str, words: dict[str, str]) -> str:
    """A text as it is, if nothing in it can reach what follows and nothing in it looks like a speaker's line; else quoted."""
    lines = _lines(text.strip("\r\n"))
    return "\n".join(lines) if _ends_by_itself(lines, words) else quoted(text)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").split("\n")


def _ends_by_itself(lines: Sequence[str], words: dict[str, str]) -> bool:
    """True if every fence stands at the margin and is closed, and no line begins with HTML or like a speaker's."""
    speakers = tuple(f"{words[who]} · " for who in ("user", "assistant"))
    open_mark = ""
    for line in lines:
        fence_like = FENCE_LIKE.match(line) is not None
        if open_mark:
            if fence_like and _closes(line, open_mark):
                open_mark = ""
            elif fence_like and line.lstrip(" ")[:1] == open_mark[0] and line[:1] == " ":
                return False  # whether it closes depends on how deep it stands
        elif fence_like:
            opens = FENCE.match(line)
            if opens is None:
                return False
            open_mark = opens["mark"]
        elif HTML.match(line) or line.lstrip(" #").startswith(speakers):
            return False
    return not open_mark


def _closes(line: str, mark: str) -> bool:
    return line.rstrip(" \t") == mark[0] * len(line.rstrip(" \t")) and len(line.rstrip(" \t")) >= len(mark)
