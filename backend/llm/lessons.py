"""What a provider's refusals have taught us about a model: which parameters and forms it takes, kept for a day."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .faults import Complaint

KEPT_SECONDS = 86_400
LEARNING_STATUSES = frozenset({400, 404, 405, 415, 422, 500, 501})
Lessons = Mapping[str, Any]
Load = Callable[[str], dict[str, Any] | None]
Save = Callable[[str, dict[str, Any]], None]

# Parameters that a request can do without.
OPTIONAL = (
    "parallel_tool_calls", "stream_options", "reasoning_effort", "chat_template_kwargs", "enable_thinking", "thinking",
    "tool_choice", "temperature", "top_p", "max_completion_tokens", "max_tokens", "reasoning",
)  # fmt: skip
_NO_STREAM = re.compile(
    r"'?\bstream\b'? does not support|stream(ing)? (is |mode )?(not|un)[- ]?(supported|allowed|available|enabled)"
    r"|(not|n't) support (for )?stream|unsupported value: 'stream'|stream(ing)? (must|should) be false|disable stream|不支持流式",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(not|n't|no endpoints found that) support[a-z]* (for )?(the )?(use of )?(tool|function)s?"
    r"|(tool|function)s?([ _-](use|calls?|calling|choice))? (is|are)? ?(not|un)[- ]?(support|allow|available|enabled)"
    r"|enable-auto-tool-choice|unsupported (parameter|value)s?: '?(tools|functions)'?|不支持.{0,6}(工具|函数)",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"(system|developer)['\"]?`? (role|message|prompt|instruction)s?[^.]{0,40}(not|un)[- ]?(support|allow|permit|enabled|accept|valid)"
    r"|(not|n't) (support|accept|allow)[^.]{0,30}['\"`]?(system|developer)|(system|developer) role|unexpected role '?system"
    r"|['\"]system['\"] (is|does)[^.]{0,30}(not|un)[- ]?(support|allow|accept|valid|one of)|role[^.]{0,20}['\"]system['\"]|no system",
    re.IGNORECASE,
)
_ALTERNATE = re.compile(
    r"roles? must alternate|alternate (between )?user|consecutive (user|assistant|messages)|same role", re.IGNORECASE
)
_UNKNOWN = re.compile(
    r"extra (inputs|fields)|not permitted|unknown|unexpected|unrecognized|unsupported|not supported|not allowed|not accept|additional propert"
    r"|does not support|n't support|invalid (field|property|key)|no longer",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"missing|required|must (be|have|contain|include|not be empty)|expected|need|pass(ed)? back|should be (provided|passed|returned|included)|thinking is enabled but",
    re.IGNORECASE,
)
_NINE = re.compile(r"a-z, A-Z, 0-9|length of 9|9[- ]?(character|alphanumeric)", re.IGNORECASE)
_ID = re.compile(r"tool[_ ]?call[_ ]?s?[\w.\[\]]*[_ .]?id|call_id|tool_use_id|\.id\b", re.IGNORECASE)
_ID_FORM = re.compile(
    r"too long|maximum length|at most|pattern|must match|invalid|length|expected an id", re.IGNORECASE
)
_REASONING = re.compile(
    r"reasoning_content|reasoning_details|reasoning_text|messages?[^ ]*\.reasoning|\breasoning\b|thinking block",
    re.IGNORECASE,
)
_TEXT_CONTENT = re.compile(
    r"content[^.]{0,60}(must be a string|should be a (valid )?string|expected (a )?string|cannot be null|null|None is not|is required|must not be (null|none)|non-?null)"
    r"|(null|None)[^.]{0,40}content|missing field `?content",
    re.IGNORECASE,
)
_SCHEMA = re.compile(
    r"additionalProperties|\$schema|schema|parameters\.|format.{0,20}(enum|date)|\banyOf\b|\boneOf\b|exclusiveM",
    re.IGNORECASE,
)


class QuirkMemory:
    """Lessons by provider and model. `load` and `save` keep them across restarts; without them they live here only."""

    def __init__(
        self, load: Load | None = None, save: Save | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._load = load
        self._save = save
        self._clock = clock
        self._known: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def lessons(self, key: str) -> dict[str, Any]:
        """What is known and not older than a day (a copy)."""
        with self._lock:
            if key not in self._known:
                self._known[key] = (self._load(key) if self._load else None) or {}
            known = self._known[key]
            if known and self._clock() - known.get("learned_at", 0) > KEPT_SECONDS:
                known = self._known[key] = {}
            return {k: v for k, v in known.items() if k != "learned_at"}

    def learn(self, key: str, lessons: Lessons) -> None:
        """Add lessons."""
        with self._lock:
            known = self._known[key] = {**self._known.get(key, {}), **lessons, "learned_at": self._clock()}
            saved = dict(known)
        if self._save:
            self._save(key, saved)

    def forget(self, key: str) -> None:
        """Start anew for this provider and model."""
        with self._lock:
            self._known[key] = {}
        if self._save:
            self._save(key, {})


def lesson_from(complaint: Complaint, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    """What a refusal teaches that was not known yet, or None: then the refusal is final."""
    if complaint.status is not None and complaint.status not in LEARNING_STATUSES:
        return None
    words = f"{complaint.param} {complaint.message or complaint.raw}"
    # A server's own failure teaches only what it says in so many words.
    teachers = _SURE if complaint.status in (500, 404) else (*_SURE, _quoted, *_MESSAGES, _parameter)
    for teacher in teachers:
        lesson = teacher(words, complaint.param, body, known)
        if lesson and any(known.get(key) != value for key, value in lesson.items()):
            return lesson
    return None


def _stream(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    del known
    if not body.get("stream") or "stream_options" in words:
        return None
    # "Tools are not supported in streaming mode": of the two, the tools are worth more.
    both = body.get("tools") and re.search(r"\bstream", words, re.IGNORECASE) and _NO_TOOLS.search(words)
    return {"stream": False} if param == "stream" or both or _NO_STREAM.search(words) else None


def _tools(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    del known
    refused = param in ("tools", "functions") and not _SCHEMA.search(words)
    return {"tools": False} if body.get("tools") and (refused or _NO_TOOLS.search(words)) else None


def _ids(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    del body, known
    if _NINE.search(words):
        return {"ids": "nine"}
    if re.search(r"duplicate|not unique|must be unique|already (used|exists)", words, re.IGNORECASE) and re.search(
        r"\bid\b|_id", words
    ):
        return {"ids": "unique"}
    return {"ids": "nine"} if _ID.search(f"{param} {words}") and _ID_FORM.search(words) else None


def _echo(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    del param
    if not _REASONING.search(words):
        return None
    echoed = any(k.startswith("reasoning") for m in body.get("messages", ()) for k in m)
    if echoed and _UNKNOWN.search(words):
        return {"reasoning": "refused"}
    if _MISSING.search(words):
        return {"reasoning": "needed"}
    return {"reasoning": "refused"} if echoed and known.get("reasoning") is None else None


def _system(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    del param
    if not any(m.get("role") in ("system", "developer") for m in body.get("messages", ())) or not _NO_SYSTEM.search(
        words
    ):
        return None
    if known.get("system") is None and re.search(
        r"(use|instead|expected|one of|did you mean)[^.]{0,60}developer", words, re.IGNORECASE
    ):
        return {"system": "developer"}
    return {"system": "user"}


def _alternate(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    del param, body, known
    return {"merge": True} if _ALTERNATE.search(words) else None


def _content(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    del param, body
    return {"content": "empty"} if _TEXT_CONTENT.search(words) and known.get("content") is None else None


def _extras(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    """A field of our messages that this server does not know: the next request has none but the plain ones."""
    del body, known
    where = f"{param} {words}"
    named = re.search(
        r"messages?[\w.\[\]' ]{0,40}(name|extra_content|provider_specific_fields|thought_signature)\b|extra_content|property 'name'",
        where,
    )
    return {"plain": True} if named and _UNKNOWN.search(words) else None


def _schema(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    del known
    about = "tool" in f"{param} {words}".lower() or "function" in words.lower()
    return {"schema": "plain"} if body.get("tools") and about and _SCHEMA.search(words) else None


def _parameter(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    sent = [name for name in OPTIONAL if name in body]
    named = [name for name in sent if param == name] or [
        name for name in sent if re.search(rf"(?<![\w.]){name}(?!\w)", words, re.IGNORECASE)
    ]
    if not named:
        return None
    name = named[0]
    if "max_tokens" in named and "max_completion_tokens" in words and known.get("max_tokens") is None:
        return {"max_tokens": "max_completion_tokens"}
    if name == "max_completion_tokens" and known.get("max_tokens") is None:
        return {"max_tokens": "max_tokens"}
    return {"drop": sorted({*known.get("drop", ()), name})}


def _quoted(words: str, param: str, body: Mapping[str, Any], known: Lessons) -> dict[str, Any] | None:
    """A parameter that is named beyond doubt."""
    sure = param in body or any(re.search(rf"['\"`]{name}['\"`]", words) for name in OPTIONAL if name in body)
    return _parameter(words, param, body, known) if sure else None


Teacher = Callable[[str, str, Mapping[str, Any], Lessons], dict[str, Any] | None]
_SURE: tuple[Teacher, ...] = (_stream, _tools)
_MESSAGES: tuple[Teacher, ...] = (_ids, _echo, _system, _alternate, _content, _extras, _schema)
