"""The JSON tool: checks, lays out, searches, changes and converts JSON text without losing a digit."""

from collections.abc import Callable
from typing import Any

from ....errors import InvalidArguments
from ...core import JsonObject
from ...factory import tool
from . import json_layout, tables
from .json_paths import MAX_DIFFERENCES, differences, find, flatten, merge, put, query, steps_of
from .strict_json import MAX_JSON_CHARACTERS, Checker, JsonProblem, Reader, holds_surrogate, write

SURROGATE_NOTE = "A text in it holds half a surrogate pair, which is written as an escape."


def _validate(text: str, arguments: JsonObject) -> JsonObject:
    checker = Checker()
    try:
        value = checker.read(text)
    except JsonProblem as problem:
        where = {"line": problem.line, "column": problem.column, "position": problem.position, "near": problem.near}
        return {"valid": False, "result": False, "error": problem.reason, **where}
    notes = [*checker.notes, *([SURROGATE_NOTE] if holds_surrogate(value) else [])]
    return {"valid": True, "result": True, "type": _type(value), **_notes(notes)}


def _type(value: Any) -> str:
    kinds: list[tuple[Any, str]] = [(dict, "object"), (list, "array"), (str, "string"), (bool, "boolean")]
    for kind, name in kinds:
        if isinstance(value, kind):
            return name
    return "null" if value is None else "number"


def _layout(lay_out: Callable[[str], str]) -> Callable[[str, JsonObject], JsonObject]:
    def run(text: str, arguments: JsonObject) -> JsonObject:
        checker = Checker()
        checker.read(text)
        return {"result": lay_out(text.removeprefix("\ufeff")), **_notes(checker.notes)}

    return run


def _query(text: str, arguments: JsonObject) -> JsonObject:
    reader = Reader()
    found, notes = query(reader.read(text), _path(arguments))
    return _value(found, [*reader.notes, *notes])


def _get(text: str, arguments: JsonObject) -> JsonObject:
    reader = Reader()
    return _value(find(reader.read(text), steps_of(_path(arguments))), reader.notes)


def _set(text: str, arguments: JsonObject) -> JsonObject:
    if "value" not in arguments:
        raise InvalidArguments("The operation 'set' needs 'value'.")
    reader = Reader()
    changed = put(reader.read(text), steps_of(_path(arguments)), arguments["value"])
    return {"result": write(changed), **_notes(reader.notes)}


def _keys(text: str, arguments: JsonObject) -> JsonObject:
    reader = Reader()
    value = find(reader.read(text), steps_of(arguments.get("path") or ""))
    if isinstance(value, list):
        raise InvalidArguments(f"A list of {len(value)} items has no keys; name an item by path, for example [0].")
    if not isinstance(value, dict):
        raise InvalidArguments(f"Only an object has keys; this is a {_type(value)}.")
    return _value(list(value), reader.notes)


def _flatten(text: str, arguments: JsonObject) -> JsonObject:
    reader = Reader()
    return _value(flatten(reader.read(text)), reader.notes)


def _merge(text: str, arguments: JsonObject) -> JsonObject:
    reader = Reader()
    return _value(merge(reader.read(text), _other(reader, arguments)), reader.notes)


def _diff(text: str, arguments: JsonObject) -> JsonObject:
    reader = Reader()
    found = differences(reader.read(text), _other(reader, arguments))
    notes = [
        *reader.notes,
        *([f"Only the first {MAX_DIFFERENCES:,} are given."] if len(found) >= MAX_DIFFERENCES else []),
    ]
    return {**_value(found, notes), "equal": not found}


def _to_csv(text: str, arguments: JsonObject) -> JsonObject:
    reader = Reader()
    value = reader.read(text)
    table = tables.to_csv(find(value, steps_of(arguments.get("path") or "")))
    return {**table, **_notes(reader.notes)}


def _from_csv(text: str, arguments: JsonObject) -> JsonObject:
    if len(text) > MAX_JSON_CHARACTERS:
        raise InvalidArguments(f"The CSV text is longer than {MAX_JSON_CHARACTERS:,} characters.")
    return tables.from_csv(text)


def _path(arguments: JsonObject) -> str:
    path = arguments.get("path")
    if path is None:
        raise InvalidArguments(f"The operation {arguments['operation']!r} needs 'path', such as store.book[0].title.")
    return str(path)


def _other(reader: Reader, arguments: JsonObject) -> Any:
    other = arguments.get("other")
    if other is None:
        raise InvalidArguments(f"The operation {arguments['operation']!r} needs 'other', the second JSON text.")
    return reader.read(other) if isinstance(other, str) else other


def _value(value: Any, notes: list[str]) -> JsonObject:
    if holds_surrogate(value):
        return {"result": write(value), **_notes([*notes, f"{SURROGATE_NOTE} The result is JSON text."])}
    return {"result": value, **_notes(notes)}


def _notes(notes: list[str]) -> JsonObject:
    return {"notes": notes} if notes else {}


OPERATIONS: dict[str, Callable[[str, JsonObject], JsonObject]] = {
    "validate": _validate,
    "format": _layout(json_layout.pretty),
    "minify": _layout(json_layout.minify),
    "query": _query,
    "get": _get,
    "set": _set,
    "keys": _keys,
    "flatten": _flatten,
    "merge": _merge,
    "diff": _diff,
    "to_csv": _to_csv,
    "from_csv": _from_csv,
}


@tool(
    name="json_process",
    description=(
        "Works on JSON text strictly by the standard: validate (line and column of a mistake), format, minify, query "
        "(JMESPath, or a JSON pointer that starts with /), get, set, keys, flatten, merge, diff, to_csv, from_csv. "
        "Big integers keep every digit."
    ),
    parameters={
        "type": "object",
        "properties": {
            "json_string": {"type": ["string", "object", "array"], "description": "The JSON text (from_csv: CSV text)"},
            "operation": {"type": "string", "enum": list(OPERATIONS), "description": "What to do"},
            "path": {
                "type": "string",
                "description": "For query, get, set; optional for keys, to_csv: a.b[0] or /a/b/0",
            },
            "other": {"type": ["string", "object", "array"], "description": "The second JSON text for merge and diff"},
            "value": {"description": "The new value for set"},
        },
        "required": ["json_string", "operation"],
        "additionalProperties": False,
    },
    category="data",
    read_only=True,
    pure=True,
)
def json_process(arguments: JsonObject) -> JsonObject:
    """`{operation, result}`; validate: `{valid, error, line, column, position, near}`; `notes` where there are any."""
    given = arguments["json_string"]
    text = given if isinstance(given, str) else write(given)
    return {"operation": arguments["operation"], **OPERATIONS[arguments["operation"]](text, arguments)}
