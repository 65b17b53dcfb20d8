"""The ways in which models write a tool call as text, each read into a name and arguments."""

import ast
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from .. import strict_json
from .arguments import literal_value, object_text, parse_arguments
from .deltas import tidy_name

_NAME_KEYS = ("name", "tool_name", "function_name", "tool", "function", "recipient_name", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "params", "tool_input", "action_input")
_loose = strict_json.Reader(strict=False)


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call found in text; `error` is set if it is not whole."""

    name: str
    arguments: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Markup:
    """What a piece of markup holds: calls, the text around them, thoughts."""

    calls: tuple[TextCall, ...]
    text: str = ""
    reasoning: str = ""


MARKUP_LIMIT_CHARS = 1_000_000
MARK_LIMIT = 400
_MARKS = ("<tool", "<function", "<func", "invoke", "parameter", "<arg_key>", "call▁begin", "<|", "[TOOL_", "✿")
CUT_MARKUP = "The call was not written to its end; it was not run."


def read_markup(text: str, names: Collection[str]) -> Markup | None:
    """The calls in markup that begins with an opener, or None if there are none (or more than any model means)."""
    if len(text) > MARKUP_LIMIT_CHARS or sum(text.count(mark) for mark in _MARKS) > MARK_LIMIT:
        return None
    for reader in (_harmony, _deepseek, _kimi, _xmlish, _glm, _mistral, _gemma_call, _tagged):
        found = reader(text, names)
        if found is not None and (found.calls or found.text or found.reasoning):
            return found
    return None


def read_bare(text: str, names: Collection[str]) -> tuple[TextCall, ...]:
    """The calls of an answer that is nothing but calls: JSON, or a list of Python calls; empty if it is anything else.

    A lone `name(…)` is how people write about a call, so it is none.
    """
    body = text.strip()
    fence = re.fullmatch(r"```(\w*)\s*(.*?)\s*```", body, re.DOTALL)
    language, body = (fence.group(1), fence.group(2).strip()) if fence else ("", body)
    if body[:1] in ("{", "["):
        calls, end = _json_calls(body, names, bare=True)
        if calls and not body[end:].strip():
            return calls
    python = language == "tool_code" or body[:1] == "[" or "default_api." in body
    return _pythonic(body, names) if python else ()


# ---------------------------------------------------------------- JSON
def _json_calls(text: str, names: Collection[str], bare: bool = False) -> tuple[tuple[TextCall, ...], int]:
    """The calls of the JSON value (or values, one after another) at the beginning of `text`, and where they end."""
    calls: list[TextCall] = []
    at = 0
    while True:
        while at < len(text) and text[at] in " \t\r\n;,":
            at += 1
        if text[at : at + 1] not in ("{", "["):
            return tuple(calls), at
        try:
            value, end = _loose.raw_decode(text, at)
        except ValueError:
            return tuple(calls), at
        found = [_json_call(item, names, bare) for item in (value if isinstance(value, list) else [value])]
        if not found or any(call is None for call in found):
            return tuple(calls), at
        calls += [call for call in found if call is not None]
        at = end


def _json_call(value: Any, names: Collection[str], bare: bool) -> TextCall | None:
    """With `bare` (no tag says that this is a call) the name must be a known one."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = next((value[k] for k in _NAME_KEYS if isinstance(value.get(k), str)), "")
    name = tidy_name(name, names)
    key = next((k for k in _ARGUMENT_KEYS if k in value), None)
    if name not in names and (bare or not name or key is None):
        return None
    raw = value[key] if key is not None else {}
    text, error = parse_arguments(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False))
    return TextCall(name, text, error)


# ---------------------------------------------------------------- tags around JSON
_OPEN_TAG = re.compile(
    r"<tool_calls?>|<tool_use>|<function_calls?>|<functioncall>|<\|tool_call\|?>|<\|START_ACTION\|>"
    r"|<\|action_start\|>(?:<\|\w+\|>)?|<\|python_tag\|>|\[TOOL_REQUEST\]|functools(?=\[)|✿FUNCTION✿\s*:\s*"
)
_CLOSE_TAG = re.compile(
    r"\s*(?:```\s*)?(?:</tool_calls?>|</tool_use>|</function_calls?>|</functioncall>|<\|/?tool_call\|?>|<tool_call\|>"
    r"|<\|END_ACTION\|>|<\|action_end\|>|\[END_TOOL_REQUEST\]|<\|eom_id\|>|<\|eot_id\|>)"
)


def _tagged(text: str, names: Collection[str]) -> Markup | None:
    calls: list[TextCall] = []
    rest: list[str] = []
    at = 0
    while (opening := _OPEN_TAG.search(text, at)) is not None:
        rest.append(text[at : opening.start()])
        at = opening.end()
        body = text[at:]
        skipped = re.match(r"\s*(?:```\w*\s*)?", body)
        start = skipped.end() if skipped else 0
        found, used = _json_calls(body[start:], names)
        if not found and (qwen := re.match(r"([\w.-]+)\s*\n?✿ARGS✿\s*:\s*", body)):
            found, used, start = _qwen_old(body, qwen, names)
        if not found:
            call, used, start = *_python_tag(opening.group(), body, names), 0
            found = (call,) if call else ()
        if not found:
            broken = _broken_json(body, names)
            return Markup((*calls, broken), "".join(rest)) if broken else None
        calls += found
        at += start + used
        closing = _CLOSE_TAG.match(text, at)
        at = closing.end() if closing else at
    rest.append(text[at:])
    return Markup(tuple(calls), re.sub(r"✿\w+✿:?", "", "".join(rest))) if calls else None


def _qwen_old(body: str, head: re.Match[str], names: Collection[str]) -> tuple[tuple[TextCall, ...], int, int]:
    name = tidy_name(head.group(1), names)
    arguments, _, _ = body[head.end() :].partition("✿")
    if name not in names:
        return (), 0, 0
    return (TextCall(name, *parse_arguments(arguments)),), len(arguments), head.end()


def _python_tag(tag: str, body: str, names: Collection[str]) -> tuple[TextCall | None, int]:
    if tag != "<|python_tag|>":
        return None, 0
    source = body.split("<|")[0].strip()
    source = re.sub(r"\A(\w+)\.call\(", r"\1(", source)
    calls = _pythonic(source, names)
    return (calls[0], len(body)) if calls else (None, 0)


def _broken_json(body: str, names: Collection[str]) -> TextCall | None:
    """A call that names a tool but whose JSON cannot be read (mostly: cut); answered, never run."""
    name = re.search(r'"(?:name|tool_name|function)"\s*:\s*"([^"]+)"', body)
    if name is None or tidy_name(name.group(1), names) not in names:
        return None
    raw = re.search(r'"(?:arguments|parameters|args|input)"\s*:\s*(.*)', body, re.DOTALL)
    if raw:
        text, error = parse_arguments(_CLOSE_TAG.split(raw.group(1))[0])
        if error is None:
            return TextCall(tidy_name(name.group(1), names), text)
    return TextCall(tidy_name(name.group(1), names), "{}", CUT_MARKUP)


# ---------------------------------------------------------------- XML-like
_FUNCTION = re.compile(
    r"<(?:(?:[|｜]DSML[|｜])?(?:antml:)?invoke\s+name=|function=)[\"']?([\w.:-]+)[\"']?\s*>(.*?)"
    r"(</(?:[|｜]DSML[|｜])?(?:antml:)?(?:invoke|function)>)",
    re.DOTALL,
)
_HALF_FUNCTION = re.compile(r"<(?:(?:[|｜]DSML[|｜])?(?:antml:)?invoke\s+name=|function=)[\"']?([\w.:-]+)[\"']?")
_PARAMETER = re.compile(
    r"<(?:[|｜]DSML[|｜])?(?:antml:)?parameter(?:\s+name)?=[\"']?([\w.-]+)[\"']?([^>]*)>(.*?)</(?:[|｜]DSML[|｜])?(?:antml:)?parameter>",
    re.DOTALL,
)
_WRAPPER = re.compile(
    r"</?(?:[|｜]DSML[|｜])?(?:antml:|minimax:)?(?:tool_calls?|function_calls?)>|<[|｜]DSML[|｜]\w*>?"
)


def _xmlish(text: str, names: Collection[str]) -> Markup | None:
    """`<function=NAME><parameter=KEY>value</parameter></function>` and `<invoke name="NAME">…` with their wrappers."""
    calls: list[TextCall] = []
    for match in _FUNCTION.finditer(text):
        name = tidy_name(match.group(1), names)
        if name not in names:
            return None
        body = match.group(2)
        pairs = _PARAMETER.findall(body)
        if pairs or not body.strip():
            calls.append(TextCall(name, object_text({key: _xml_value(value, marks) for key, marks, value in pairs})))
        else:
            calls.append(TextCall(name, *parse_arguments(body)))
    rest = _FUNCTION.sub("", text)
    half = _HALF_FUNCTION.search(rest)
    if half is not None and tidy_name(half.group(1), names) in names:
        calls.append(TextCall(tidy_name(half.group(1), names), "{}", CUT_MARKUP))
        rest = rest[: half.start()]
    return Markup(tuple(calls), _WRAPPER.sub("", rest)) if calls else None


def _xml_value(text: str, marks: str = "") -> Any:
    """A parameter's value: JSON where it is JSON beyond doubt, else the text; one line end at each side is layout."""
    body = text.removeprefix("\n").removesuffix("\n")
    if 'string="true"' in marks:
        return body
    try:
        value = _loose.decode(body)
    except ValueError:
        return body
    # "12" may stand for a text or a number: the executor casts by the schema, and the text loses nothing.
    return value if isinstance(value, dict | list | bool) or value is None else body


_GLM = re.compile(
    r"<tool_call>\s*([\w.-]+)\s*((?:<arg_key>(?:(?!</arg_value>).)*+</arg_value>\s*)*+)</tool_call>", re.DOTALL
)
_GLM_PAIR = re.compile(r"<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


def _glm(text: str, names: Collection[str]) -> Markup | None:
    """`<tool_call>NAME <arg_key>…</arg_key><arg_value>…</arg_value></tool_call>`."""
    calls = []
    for match in _GLM.finditer(text):
        name = tidy_name(match.group(1), names)
        if name not in names:
            return None
        pairs = _GLM_PAIR.findall(match.group(2))
        calls.append(TextCall(name, object_text({key: _xml_value(value) for key, value in pairs})))
    return Markup(tuple(calls), _GLM.sub("", text)) if calls else None


# ---------------------------------------------------------------- special tokens
_DEEPSEEK = re.compile(
    r"<[｜|]tool▁call▁begin[｜|]>(?:function<[｜|]tool▁sep[｜|]>)?\s*([\w.-]+)\s*(?:<[｜|]tool▁sep[｜|]>)?\s*"
    r"(?:```(?:json)?\s*)?(.*?)(?:```\s*)?<[｜|]tool▁call▁end[｜|]>",
    re.DOTALL,
)
_DEEPSEEK_TOKEN = re.compile(r"<[｜|]tool▁calls?▁(?:begin|end)[｜|]>")
_KIMI = re.compile(
    r"<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>",
    re.DOTALL,
)
_KIMI_TOKEN = re.compile(r"<\|tool_calls_section_(?:begin|end)\|>")


def _by_pattern(text: str, names: Collection[str], pattern: re.Pattern[str], tokens: re.Pattern[str]) -> Markup | None:
    calls = []
    for name, arguments in pattern.findall(text):
        known = tidy_name(name, names)
        if known not in names:
            return None
        calls.append(TextCall(known, *parse_arguments(arguments)))
    return Markup(tuple(calls), tokens.sub("", pattern.sub("", text))) if calls else None


def _deepseek(text: str, names: Collection[str]) -> Markup | None:
    return _by_pattern(text, names, _DEEPSEEK, _DEEPSEEK_TOKEN)


def _kimi(text: str, names: Collection[str]) -> Markup | None:
    return _by_pattern(text, names, _KIMI, _KIMI_TOKEN)


_GEMMA = re.compile(r"<\|tool_call>\s*call:([\w.-]+)\s*(\{.*?\})\s*<tool_call\|>", re.DOTALL)
_NOTHING = re.compile(r"(?!)")


def _gemma_call(text: str, names: Collection[str]) -> Markup | None:
    """`<|tool_call>call:NAME{key:<|"|>value<|"|>}<tool_call|>`."""
    quoted = text.replace('<|"|>', '"')
    quoted = re.sub(r"([{,]\s*)(\w+)\s*:", r'\1"\2":', quoted) if quoted != text else quoted
    return _by_pattern(quoted, names, _GEMMA, _NOTHING)


_MISTRAL = re.compile(r"(?:\[TOOL_CALLS\])?\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\]|(?=\{))")


def _mistral(text: str, names: Collection[str]) -> Markup | None:
    """`[TOOL_CALLS][{…}]`, `[TOOL_CALLS]NAME[ARGS]{…}`, `[TOOL_CALLS]NAME{…}`."""
    if not text.startswith("[TOOL_CALLS]"):
        return None
    body = text.removeprefix("[TOOL_CALLS]").lstrip()
    found, end = _json_calls(body, names)
    if found:
        return Markup(found, body[end:].replace("[/TOOL_CALLS]", ""))
    calls: list[TextCall] = []
    while (head := _MISTRAL.match(body)) and tidy_name(head.group(1), names) in names:
        name = tidy_name(head.group(1), names)
        body = body[head.end() :].lstrip()
        try:
            value, end = _loose.raw_decode(body)
        except ValueError:
            return Markup((*calls, TextCall(name, "{}", CUT_MARKUP)))
        calls.append(TextCall(name, object_text(value) if isinstance(value, dict) else "{}"))
        body = body[end:]
    if calls:
        return Markup(tuple(calls), body.replace("[/TOOL_CALLS]", ""))
    broken = _broken_json(body, names)
    return Markup((broken,)) if broken else None


_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>(.*?)<\|message\|>(.*?)(?=<\|(?:end|call|return|start|channel)\|>|\Z)(?:<\|(?:end|call|return)\|>)?",
    re.DOTALL,
)


def _harmony(text: str, names: Collection[str]) -> Markup | None:
    """OpenAI's open models: channels `analysis`, `commentary to=functions.NAME`, `final`."""
    if "<|channel|>" not in text:
        return None
    calls: list[TextCall] = []
    said: list[str] = []
    thought: list[str] = []
    for head, body in _CHANNEL.findall(text):
        target = re.search(r"to=(?:functions\.)?([\w.-]+)", head)
        if target and tidy_name(target.group(1), names) in names:
            calls.append(TextCall(tidy_name(target.group(1), names), *parse_arguments(body)))
        elif head.strip().startswith("analysis"):
            thought.append(body)
        else:
            said.append(body)
    return Markup(tuple(calls), "\n".join(said), "\n".join(thought))


# ---------------------------------------------------------------- Python
def _pythonic(source: str, names: Collection[str]) -> tuple[TextCall, ...]:
    """`[name(key=value), …]` or `name(key=value)`: known names, literal values by keyword only."""
    try:
        node = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    items = node.elts if isinstance(node, ast.List) else [node]
    calls = [_python_call(item, names) for item in items]
    return tuple(c for c in calls if c is not None) if calls and all(calls) else ()


def _python_call(node: ast.expr, names: Collection[str]) -> TextCall | None:
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "print" and len(node.args) == 1:
        return _python_call(node.args[0], names)
    name = tidy_name(ast.unparse(node.func), names)
    if name not in names or node.args:
        return None
    try:
        values = {word.arg: literal_value(word.value) for word in node.keywords if word.arg}
    except ValueError:
        return None
    return TextCall(name, object_text(values)) if len(values) == len(node.keywords) else None
