"""Checks arguments against a tool's JSON Schema: safe casts, defaults, and every problem at once."""

import difflib
import json
import math
import re
from collections.abc import Iterable
from typing import Any

import jsonschema_rs

from ..errors import InvalidArguments
from .core import JsonObject

MAX_PROBLEMS_SHOWN = 20
MAX_CAST_DEPTH = 32
SHOWN_CHARACTERS = 120
MAX_CHOICES_SHOWN = 60
UNKNOWN = "unknown argument"

TRUE_WORDS = frozenset({"true", "1", "yes", "on"})
FALSE_WORDS = frozenset({"false", "0", "no", "off"})
INTEGER_TEXT = re.compile(r"[+-]?[0-9]{1,1000}")
NUMBER_TEXT = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?")


class ArgumentSchema:
    """A compiled parameter schema. `names` are the declared arguments, `open` whether others may come too."""

    def __init__(self, schema: JsonObject) -> None:
        """Raises ValueError if `schema` is not a valid JSON Schema for an object."""
        self.schema = {"type": "object", **schema}
        self.properties: JsonObject = self.schema.get("properties") or {}
        self.names = frozenset(self.properties)
        extra = self.schema.get("additionalProperties", not self.names)
        self.open = bool(extra) or "patternProperties" in self.schema
        self._defaults = [(k, v["default"]) for k, v in self.properties.items() if _is_object(v) and "default" in v]
        self._integers = tuple(k for k, v in self.properties.items() if _is_object(v) and v.get("type") == "integer")
        self._deep = any(_has_inner(spec, 0) for spec in self.properties.values())
        self._may_wrap = bool(self.names) and "arguments" not in self.names
        self._is_valid = _compile(self.schema).is_valid
        self._iter_errors = _compile(self.schema).iter_errors

    def prepare(self, arguments: JsonObject) -> JsonObject:
        """The arguments cast, with defaults; raises InvalidArguments naming every problem with its path."""
        if self._may_wrap and len(arguments) == 1 and "arguments" in arguments:
            arguments = _unwrapped(arguments)
        if not self._is_valid(arguments):
            arguments = _cast(arguments, self.schema, 0)
            if not self._is_valid(arguments):
                raise self._refusal(arguments)
        if not self.open and not arguments.keys() <= self.names:
            raise self._refusal(arguments)
        for name in self._integers:
            value = arguments.get(name)
            if value.__class__ is float:
                arguments[name] = int(value)
        for name, default in self._defaults:
            if name not in arguments:
                arguments[name] = _fresh(default)
        if self._deep:
            arguments = _completed(arguments, self.schema, 0)
        return arguments

    def _refusal(self, arguments: JsonObject) -> InvalidArguments:
        problems = self._problems(arguments)
        shown = [f"{path}: {text}" if path else text for path, text in problems[:MAX_PROBLEMS_SHOWN]]
        if len(problems) > MAX_PROBLEMS_SHOWN:
            shown.append(f"and {len(problems) - MAX_PROBLEMS_SHOWN} more")
        return InvalidArguments("Invalid arguments: " + "; ".join(shown) + ".", suggestion=self._usage())

    def _problems(self, arguments: JsonObject) -> list[tuple[str, str]]:
        found = [problem for error in self._iter_errors(arguments) for problem in _describe(error, arguments)]
        if not self.open:
            found += [(name, UNKNOWN) for name in arguments if name not in self.names]
        return list(dict.fromkeys(found))

    def _usage(self) -> str:
        if not self.names:
            return "This tool takes no arguments."
        required = set(self.schema.get("required", ()))
        parts = [
            f"{name} ({_type_name(spec)}{', required' if name in required else ''})"
            for name, spec in self.properties.items()
        ]
        return "Arguments of this tool: " + ", ".join(parts) + "."


def _has_inner(schema: Any, depth: int) -> bool:
    """Whether something below the first level has a default, or may be a whole number written as 3.0."""
    if not isinstance(schema, dict) or depth > MAX_CAST_DEPTH:
        return False
    inner = [*_inner(schema).values(), schema.get("items")]
    found = [one for one in inner if isinstance(one, dict)]
    return any(one.get("type") == "integer" or "default" in one or _has_inner(one, depth + 1) for one in found)


def _inner(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _completed(value: Any, schema: Any, depth: int) -> Any:
    """Valid arguments with the defaults of inner objects, and 3.0 as 3 where an integer is asked for."""
    if not isinstance(schema, dict) or depth > MAX_CAST_DEPTH:
        return value
    if isinstance(value, float) and schema.get("type") == "integer":
        return int(value)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_completed(item, schema["items"], depth + 1) for item in value]
    inner = _inner(schema)
    if not isinstance(value, dict) or not inner:
        return value
    missing = {k: _fresh(v["default"]) for k, v in inner.items() if k not in value and _is_object(v) and "default" in v}
    return {k: _completed(v, inner.get(k), depth + 1) for k, v in {**value, **missing}.items()}


def _compile(schema: JsonObject) -> Any:
    try:
        return jsonschema_rs.validator_for(schema, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise ValueError(f"not a valid JSON Schema: {error.args[0] if error.args else error}") from None


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _fresh(default: Any) -> Any:
    return json.loads(json.dumps(default)) if isinstance(default, dict | list) else default


def _unwrapped(arguments: JsonObject) -> JsonObject:
    """{"arguments": {...}} or {"arguments": "{...}"}: a wrapper some models add."""
    inner = arguments["arguments"]
    if isinstance(inner, str):
        inner = _parsed(inner)
    return inner if isinstance(inner, dict) else arguments


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# ---------------------------------------------------------------- casts: only those with one reading
def _cast(value: Any, schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > MAX_CAST_DEPTH:
        return value
    wanted = _types(schema)
    if isinstance(value, str) and "string" not in wanted:
        value = _cast_text(value, wanted)
    elif isinstance(value, int | float) and not isinstance(value, bool) and wanted == ("string",):
        value = _cast_number(value)
    if isinstance(value, dict) and isinstance(schema.get("properties"), dict):
        inner, required = schema["properties"], schema.get("required", ())
        return {
            k: _cast(v, inner[k], depth + 1) if k in inner else v
            for k, v in value.items()
            if v is not None or k in required or k not in inner or _may_be_null(inner[k])
        }
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_cast(item, schema["items"], depth + 1) for item in value]
    return value


def _may_be_null(schema: Any) -> bool:
    """False where null can only mean that an optional argument was left out."""
    if not isinstance(schema, dict):
        return True
    wanted = _types(schema)
    return (not wanted or "null" in wanted) and ("enum" not in schema or None in schema["enum"])


def _types(schema: JsonObject) -> tuple[str, ...]:
    given = schema.get("type", ())
    options = schema.get("anyOf") or schema.get("oneOf")
    if not given and options and all(isinstance(one, dict) and isinstance(one.get("type"), str) for one in options):
        return tuple(one["type"] for one in options)  # as pydantic writes an optional number
    return (given,) if isinstance(given, str) else tuple(given)


def _cast_text(text: str, wanted: Iterable[str]) -> Any:
    stripped = text.strip()
    for kind in wanted:
        result = _CASTS[kind](stripped) if kind in _CASTS else None
        if result is not None:
            return result
    return None if "null" in wanted and stripped.lower() in {"null", "none", ""} else text


def _to_integer(text: str) -> int | None:
    if INTEGER_TEXT.fullmatch(text):
        return int(text)
    number = _to_number(text)
    return int(number) if isinstance(number, float) and number.is_integer() else None


def _to_number(text: str) -> int | float | None:
    if INTEGER_TEXT.fullmatch(text):
        return int(text)
    number = float(text) if NUMBER_TEXT.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def _to_boolean(text: str) -> bool | None:
    lowered = text.lower()
    return True if lowered in TRUE_WORDS else False if lowered in FALSE_WORDS else None


def _to_object(text: str) -> JsonObject | None:
    value = _parsed(text) if text.startswith("{") else None
    return value if isinstance(value, dict) else None


def _to_list(text: str) -> list[Any] | None:
    value = _parsed(text) if text.startswith("[") else None
    return value if isinstance(value, list) else None


_CASTS = {"integer": _to_integer, "number": _to_number, "boolean": _to_boolean, "object": _to_object, "array": _to_list}


def _cast_number(value: int | float) -> Any:
    return str(value) if isinstance(value, int) or math.isfinite(value) else value


# ---------------------------------------------------------------- telling what is wrong
def _describe(error: Any, arguments: JsonObject) -> list[tuple[str, str]]:
    path = list(error.instance_path)
    keyword = error.kind.name
    if keyword == "required":
        return [(_path([*path, error.kind.property]), "required, but missing")]
    if keyword == "additionalProperties":
        return [(_path([*path, name]), UNKNOWN) for name in error.kind.unexpected]
    value = _at(arguments, path)
    if isinstance(value, float) and not math.isfinite(value):
        return [(_path(path), "must be a finite number")]
    if keyword == "enum":
        return [(_path(path), _choices(value, error.kind.options))]
    if keyword == "type":
        return [(_path(path), f"must be {' or '.join(sorted(error.kind.types))}, not {_shown(value)}")]
    return [(_path(path), _cut(error.message))]


def _choices(value: Any, options: list[Any]) -> str:
    known = {str(option).casefold(): str(option) for option in options}
    near = [known[name] for name in difflib.get_close_matches(str(value)[:SHOWN_CHARACTERS].casefold(), known, 1)]
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"{_shown(value)} is not one of {', '.join(str(option) for option in options[:MAX_CHOICES_SHOWN])}{hint}"


def _at(value: Any, path: list[Any]) -> Any:
    for step in path:
        value = value[step]
    return value


def _path(steps: list[Any]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def _type_name(spec: Any) -> str:
    if not isinstance(spec, dict):
        return "any"
    if "enum" in spec:
        return _cut(" | ".join(str(choice) for choice in spec["enum"]))
    return " or ".join(_types(spec)) or "any"
