"""Finds, sets and lists places in JSON values: JSON pointers, dotted paths, JMESPath."""

import json
from typing import Any

import jmespath
import jmespath.exceptions
import regex

from ....errors import InvalidArguments
from ...core import JsonObject

MAX_PATH_CHARACTERS = 2_000
MAX_RESULT_NODES = 300_000
MAX_FLAT_KEYS = 100_000
MAX_DIFFERENCES = 10_000

Steps = list[str | int]

STEP = regex.compile(
    r'\.?(?:([^.\[\]"]+)|"((?:[^"\\]|\\.)*)")|\[(-?\d{1,9})\]|\["((?:[^"\\]|\\.)*)"\]|\[\'([^\']*)\'\]'
)
PLAIN_KEY = regex.compile(r"[^.\[\]\"'/\s$]+")
QUERY_SIGNS = regex.compile(r"[*?@&|(){}`,:<>=!]|\.\.|^\s*$|\[\]")
JMESPATH_HELP = "Numbers in a condition stand in backticks, texts in quotes: a[?price > `6` && name == 'x'].b"
QUOTED_VALUE = regex.compile(r"[=<>]\s*\"")
SYNTAX_ERRORS = (jmespath.exceptions.ParseError, jmespath.exceptions.EmptyExpressionError)
MISSING = object()


def query(value: Any, path: str) -> tuple[Any, list[str]]:
    """What a JMESPath (or a JSON pointer, if it begins with /) finds, and notes on how it was read."""
    if path == "" or path.startswith(("/", "#/")):
        return find(value, steps_of(path.removeprefix("#"))), []
    path, notes = _as_jmespath(path)
    try:
        found = jmespath.search(path, value)
    except jmespath.exceptions.JMESPathError as error:
        plain = _plain_steps(path) if isinstance(error, SYNTAX_ERRORS) else None
        if plain:  # a["b"], 中.文: no JMESPath, but clear
            return find(value, plain), notes
        raise InvalidArguments(
            f"The path is not a valid JMESPath: {' '.join(str(error).split())}", suggestion=JMESPATH_HELP
        ) from None
    except (RecursionError, ValueError, TypeError, ArithmeticError, AttributeError, KeyError):
        raise InvalidArguments("The path cannot be worked out on this value.") from None
    if too_many_nodes(found):
        raise InvalidArguments("The path gives far more than it was given; ask for less.")
    if not found and QUOTED_VALUE.search(path):
        notes.append("In JMESPath \"x\" names a key; a text to compare with stands in single quotes: 'x'.")
    if found is None:
        notes.append("null: the path matches nothing here, or a null.")
    return found, notes


def _as_jmespath(path: str) -> tuple[str, list[str]]:
    if len(path) > MAX_PATH_CHARACTERS:
        raise InvalidArguments(f"The path is longer than {MAX_PATH_CHARACTERS:,} characters.")
    if not path.startswith("$"):
        return path, []
    if ".." in path:
        raise InvalidArguments(
            "Searching at any depth (..) is JSONPath, which is not known here.",
            suggestion="Write the way to it as a JMESPath: a.b[*].c; flatten lists every place.",
        )
    path = path[1:].lstrip(".") or "@"
    return path, [f"The path was read as the JMESPath {path!r}."]


def _plain_steps(path: str) -> Steps | None:
    try:
        return steps_of(path) if not QUERY_SIGNS.search(path) else None
    except InvalidArguments:
        return None


def too_many_nodes(value: Any) -> bool:
    """Whether writing the value out would take too long; shared parts count every time."""
    stack, seen = [value], 0
    while stack:
        item = stack.pop()
        seen += 1
        if seen + len(stack) > MAX_RESULT_NODES:
            return True
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def steps_of(path: str) -> Steps:
    """The steps of a JSON pointer (/a/0) or a dotted path (a.b[0], with or without $ in front)."""
    if path.startswith("/"):
        return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    path = path.removeprefix("$")
    steps: Steps = []
    at = 0
    while at < len(path):
        match = STEP.match(path, at)
        if match is None or match.end() == at:
            raise InvalidArguments(
                f"The path is not understood at position {at + 1}: {path[at : at + 20]!r}.",
                suggestion="Write it as a.b[0].c or as a JSON pointer /a/b/0/c.",
            )
        steps.append(_step(match))
        at = match.end()
    return steps


def _step(match: "regex.Match[str]") -> str | int:
    if match[3] is not None:
        return int(match[3])
    quoted = match[2] if match[2] is not None else match[4]
    if quoted is not None:
        return str(json.loads(f'"{quoted}"', strict=False))
    return str(match[1] if match[1] is not None else match[5])


def find(value: Any, steps: Steps) -> Any:
    """The value at that place; raises InvalidArguments naming the first step that is not there."""
    for number, step in enumerate(steps):
        inner = _child(value, step)
        if inner is MISSING:
            raise InvalidArguments(f"Nothing at {pointer(steps[: number + 1])}: {_what_is_there(value)}.")
        value = inner
    return value


def _child(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(str(step), MISSING)
    if isinstance(value, list):
        index = _index(step)
        if index is not None and -len(value) <= index < len(value):
            return value[index]
    return MISSING


def _index(step: str | int) -> int | None:
    if isinstance(step, int):
        return step
    return int(step) if regex.fullmatch(r"0|[1-9]\d{0,8}", step) else None


def _what_is_there(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(list(value)[:20])
        return f"the object there has the keys {keys}" if keys else "the object there is empty"
    if isinstance(value, list):
        return f"the list there has {len(value)} items"
    return f"there is {_kind(value)}, which has no parts"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "a number" if isinstance(value, int | float) else "a text"


def put(value: Any, steps: Steps, new: Any) -> Any:
    """The value with `new` at that place; missing objects are made, an index at the end appends."""
    if not steps:
        return new
    place = value
    for number, step in enumerate(steps[:-1]):
        inner = _child(place, step)
        if inner is MISSING or inner is None:
            inner = [] if isinstance(steps[number + 1], int) else {}
            _assign(place, step, inner, steps[: number + 1])
        place = inner
    _assign(place, steps[-1], new, steps)
    return value


def _assign(place: Any, step: str | int, new: Any, steps: Steps) -> None:
    if isinstance(place, dict):
        place[str(step)] = new
        return
    if not isinstance(place, list):
        raise InvalidArguments(f"Nothing can be set at {pointer(steps)}: {_what_is_there(place)}.")
    index = len(place) if step == "-" else _index(step)
    if index == len(place):
        place.append(new)
    elif index is not None and -len(place) <= index < len(place):
        place[index] = new
    else:
        raise InvalidArguments(f"Nothing can be set at {pointer(steps)}: {_what_is_there(place)}.")


def pointer(steps: Steps) -> str:
    """The JSON pointer of these steps."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def flatten(value: Any) -> JsonObject:
    """Every leaf by its dotted path (a.b[0]); empty lists and objects count as leaves."""
    flat: JsonObject = {}
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, item = stack.pop()
        if len(flat) > MAX_FLAT_KEYS:
            raise InvalidArguments(f"The value has more than {MAX_FLAT_KEYS:,} leaves.")
        if isinstance(item, dict) and item:
            stack.extend([(_dotted(path, key), inner) for key, inner in item.items()][::-1])
        elif isinstance(item, list) and item:
            stack.extend([(f"{path}[{index}]", inner) for index, inner in enumerate(item)][::-1])
        else:
            flat[path] = item
    return flat


def _dotted(path: str, key: str) -> str:
    if not PLAIN_KEY.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def merge(one: Any, other: Any) -> Any:
    """Deep merge of objects; for everything else the second wins, lists are not joined."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    merged = dict(one)
    for key, value in other.items():
        merged[key] = merge(merged[key], value) if key in merged else value
    return merged


def differences(one: Any, other: Any) -> list[JsonObject]:
    """What changed, by JSON pointer: added, removed or changed; order of keys does not matter."""
    found: list[JsonObject] = []
    _compare(one, other, [], found)
    return found


def _compare(one: Any, other: Any, steps: Steps, found: list[JsonObject]) -> None:
    if len(found) >= MAX_DIFFERENCES:
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            _compare(one.get(key, MISSING), other.get(key, MISSING), [*steps, key], found)
    elif isinstance(one, list) and isinstance(other, list):
        for index in range(max(len(one), len(other))):
            before = one[index] if index < len(one) else MISSING
            after = other[index] if index < len(other) else MISSING
            _compare(before, after, [*steps, index], found)
    elif one is MISSING:
        found.append({"path": pointer(steps), "change": "added", "new": other})
    elif other is MISSING:
        found.append({"path": pointer(steps), "change": "removed", "old": one})
    elif isinstance(one, bool) != isinstance(other, bool) or one != other:
        found.append({"path": pointer(steps), "change": "changed", "old": one, "new": other})
