"""The arguments of a tool call, as models write them, into the text of one JSON object - or a reason why not."""

import ast
import json
import re
from typing import Any

from .. import strict_json

LITERAL_LIMIT_CHARS = 200_000
UNWRAP_LIMIT = 3
SPECIAL_TAIL_CHARS = 200
_SPECIAL_END = re.compile(r"(?:\s*(?:<[|｜][^<>]{1,40}[|｜]>|</s>|</tool_call>|<eos>|```))+\s*\Z")
_HALF_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_EMPTY = {"", "null", "None", "undefined", "{}", '""', "[]"}
_NAMES = {"true": True, "false": False, "null": None}
_strict = strict_json.Reader(parse_float=strict_json.finite, parse_constant=strict_json.no_constant)
_loose = strict_json.Reader(strict=False, parse_float=strict_json.finite, parse_constant=strict_json.no_constant)


def parse_arguments(raw: str) -> tuple[str, str | None]:
    """(text of an object, None), or (the text as it came, why no object could be found)."""
    try:
        value = _strict.decode(raw)
        if isinstance(value, dict):
            # An escape may stand for half a character: then the text is written anew, without it.
            return (object_text(value) if _HALF_ESCAPE.search(raw) else mend_surrogates(raw)), None
    except ValueError:
        pass
    text = _peeled(raw)
    if text in _EMPTY:
        return "{}", None
    found, why = _find(text)
    if found is None:
        return mend_surrogates(raw), f"The arguments are not a JSON object: {why}"
    return object_text(found), None


def object_text(value: dict[str, Any]) -> str:
    """An object as JSON text, without lone surrogates."""
    return mend_surrogates(json.dumps(value, ensure_ascii=False))


def mend_surrogates(text: str) -> str:
    """Joins surrogate pairs that arrived apart; a lone one becomes the replacement character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_object(text: str) -> bool:
    """True if the text is one whole JSON object (raw control characters allowed)."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(_loose.decode(text.strip()), dict)
    except ValueError:
        return False


def _peeled(raw: str) -> str:
    text = raw.strip().lstrip("\ufeff")
    if text.startswith("```") and text.endswith("```") and len(text) > len("``````"):
        text = re.sub(r"\A[a-zA-Z_]*", "", text[3:-3]).strip()
    # Only the end is looked at: a pattern over a long text of blanks would take too long.
    head, tail = text[:-SPECIAL_TAIL_CHARS], text[-SPECIAL_TAIL_CHARS:]
    return (head + _SPECIAL_END.sub("", tail)).strip()


def _find(text: str) -> tuple[dict[str, Any] | None, str]:
    value, why = _first_value(text)
    for _ in range(UNWRAP_LIMIT):
        if not isinstance(value, str):
            break
        if value.strip() in _EMPTY:
            return {}, ""
        value, why = _first_value(value.strip())
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        return value, ""
    return None, why or f"it is {_kind(value)}"


def _kind(value: object) -> str:
    return {list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")


def _first_value(text: str) -> tuple[Any, str]:
    """The first complete JSON value; of "{}" and then another object, the other one."""
    try:
        value, end = _loose.raw_decode(text)
    except ValueError as e:
        literal = _literal(text)
        return (literal, "") if literal is not None else (None, str(e))
    rest = text[end:].strip()
    if value == {} and rest.startswith("{"):
        try:
            other, _ = _loose.raw_decode(rest)
        except ValueError:
            return None, "an empty object is followed by an incomplete one"
        return other or value, ""
    return value, ""


def _literal(text: str) -> dict[str, Any] | None:
    """Python's way of writing an object; nothing is evaluated."""
    if not text.startswith("{") or len(text) > LITERAL_LIMIT_CHARS:
        return None
    try:
        value = literal_value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def literal_value(node: ast.expr) -> Any:
    """The value of a literal node, with JSON's names for true, false and null; ValueError for anything else."""
    if isinstance(node, ast.Dict):
        if any(key is None for key in node.keys):
            raise ValueError("unpacking")
        pairs = zip(node.keys, node.values, strict=True)
        return {str(literal_value(k)): literal_value(v) for k, v in pairs if k is not None}
    if isinstance(node, ast.List | ast.Tuple):
        return [literal_value(item) for item in node.elts]
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal_value(node.operand)
        if isinstance(value, int | float):
            return -value
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    raise ValueError("not a literal")
