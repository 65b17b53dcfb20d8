"""Slash commands: `/tool arguments`, as a person types them, into a tool call."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import strict_json
from ..agent.types import JsonObject

_reader = strict_json.Reader()
_COMMAND = re.compile(r"/([A-Za-z_][\w-]*)(?:[ \t]+|\s*\n|\Z)(.*)", re.DOTALL)
_FENCE = re.compile(r"\A```\w*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_QUOTED = re.compile(r"\A(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|“([^”]*)”)\Z", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_UNQUOTED_KEYS = frozenset({"path", "new_path", "url", "city"})
HELP = ("help", "tools", "帮助")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: the tool and its arguments, or `error` saying what is wrong (`missing`: required arguments not given)."""

    tool: str
    arguments: JsonObject = field(default_factory=dict)
    error: str = ""
    missing: tuple[str, ...] = ()


def schemas_of(tools: Sequence[JsonObject]) -> dict[str, JsonObject]:
    """Tool name to the schema of its arguments, from tools in OpenAI's form."""
    return {t["function"]["name"]: t["function"].get("parameters") or {} for t in tools}


def is_command(text: str) -> bool:
    """True if a message has the form of a command; the slash must be its first character."""
    return _COMMAND.match(text) is not None


def parse_command(text: str, schemas: Mapping[str, JsonObject]) -> Command | None:
    """The command in a message, or None if the message is none. An unknown name gives an error.

    Arguments are an object in JSON, `key=value` pairs, or bare text: it goes to the required argument that is
    not given, the last one takes the rest.
    """
    match = _COMMAND.match(text)
    if match is None:
        return None
    name, rest = match.group(1), match.group(2).strip()
    known = _named(name, schemas)
    if known is None:
        return Command(name, error="unknown")
    return _arguments(known, rest, schemas[known])


def _named(name: str, schemas: Mapping[str, JsonObject]) -> str | None:
    plain = name.lower().replace("-", "_")
    return next((known for known in schemas if known.lower().replace("-", "_") == plain), None)


def _arguments(tool: str, rest: str, schema: JsonObject) -> Command:
    properties: dict[str, JsonObject] = schema.get("properties") or {}
    required = [key for key in schema.get("required", []) if key in properties]
    if rest.startswith("{"):
        try:
            value = _reader.decode(rest)
        except ValueError as e:
            # An expression or a text may begin with a brace, too: only for several arguments it must be JSON.
            if len(required) != 1 or not _takes_text(properties.get(required[0], {})):
                return Command(tool, error=f"the arguments are not valid JSON: {e}")
        else:
            if isinstance(value, dict) and set(value) <= set(properties) | set(value if not properties else ()):
                return _checked(tool, value, required)
    try:
        given = _split(rest, properties, required)
    except ValueError as e:
        return Command(tool, error=str(e))
    return _checked(tool, given, required)


def _checked(tool: str, given: JsonObject, required: Sequence[str]) -> Command:
    missing = tuple(key for key in required if key not in given)
    return Command(tool, given, "missing" if missing else "", missing)


def _takes_text(schema: JsonObject) -> bool:
    return bool(schema.get("type", "string") == "string")


def _split(rest: str, properties: Mapping[str, JsonObject], required: Sequence[str]) -> JsonObject:
    given: JsonObject = {}
    bare = rest
    if properties:
        keys = "|".join(re.escape(key) for key in sorted(properties, key=len, reverse=True))
        marks = list(re.finditer(rf"(?:(?<=\s)|\A)({keys})\s*[=＝]", rest))
        marks = _outside_quotes(rest, marks)
        for mark, after in zip(marks, [*marks[1:], None], strict=False):
            value = rest[mark.end() : after.start() if after else len(rest)].strip()
            given[mark.group(1)] = _cast(_unquoted(value), properties[mark.group(1)])
        bare = rest[: marks[0].start()].strip() if marks else rest
    if bare:
        _place(bare, given, properties, required)
    return given


def _outside_quotes(text: str, marks: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """A `key=` inside the quoted value of an earlier key is part of that value."""
    out: list[re.Match[str]] = []
    end = 0
    for mark in marks:
        if mark.start() < end:
            continue
        out.append(mark)
        quoted = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')(?=\s|\Z)", re.DOTALL).match(text, mark.end())
        end = quoted.end() if quoted else mark.end()
    return out


def _place(bare: str, given: JsonObject, properties: Mapping[str, JsonObject], required: Sequence[str]) -> None:
    """Give bare text to the arguments that wait for it."""
    open_keys = [key for key in required if key not in given] or [k for k in list(properties)[:1] if k not in given]
    if not open_keys:
        raise ValueError(f"it is not clear what {bare[:60]!r} stands for; write it as key=value")
    *leading, last = open_keys
    for key in leading:
        word, bare = _first_word(bare)
        if word:
            given[key] = _cast(word, properties[key])
    if bare:
        fence = _FENCE.match(bare)
        text = fence.group(1) if fence else bare
        given[last] = _cast(_unquoted(text) if last in _UNQUOTED_KEYS or leading else text, properties[last])


def _first_word(text: str) -> tuple[str, str]:
    match = re.match(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\S+)\s*(.*)", text, re.DOTALL)
    return (_unquoted(match.group(1)), match.group(2)) if match else ("", "")


def _unquoted(text: str) -> str:
    match = _QUOTED.match(text)
    if match is None:
        return text
    inner = next(group for group in match.groups() if group is not None)
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(1)), inner, flags=re.DOTALL)


def _cast(text: str, schema: JsonObject) -> Any:
    """The text as the schema wants it; what does not fit stays text, the executor says why."""
    kind = schema.get("type", "string")
    kind = next((k for k in kind if k != "null"), "string") if isinstance(kind, list) else kind
    if kind == "string":
        return text
    try:
        value = _reader.decode(text.lower() if kind == "boolean" else text)
    except ValueError:
        value = None
    if kind == "array" and not isinstance(value, list):
        return [part for part in re.split(r"[\s,，、]+", text) if part]
    return text if value is None else value


def usage(tool: str, schema: JsonObject) -> str:
    """One line that shows how to write a command: `/file_write path=… content=… [mode=…]`."""
    required = schema.get("required", [])
    properties = schema.get("properties") or {}
    if len(required) == 1 and len(properties) == 1:
        return f"/{tool} {required[0].upper()}"
    words = [f"{key}=…" for key in required] + [f"[{key}=…]" for key in properties if key not in required]
    return " ".join([f"/{tool}", *words])
