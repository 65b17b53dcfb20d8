"""Pieces of tool calls into whole calls, whatever a server does with index, id and name."""

import json
import re
import secrets
import string
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from ..agent.types import ToolCallRequest
from .arguments import is_object, mend_surrogates, object_text, parse_arguments

ID_CHARS = 9
_ALPHABET = string.ascii_letters + string.digits
_KNOWN_KEYS = {"index", "id", "type", "function", "name", "arguments"}
_NAME_NOISE = re.compile(r"<[|｜].*|\(.*\)$", re.DOTALL)
CUT_CALL = "The answer was cut off while the call was written; it was not run."


def make_id() -> str:
    """A new call id: nine letters and digits, which is what the strictest servers ask for."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(ID_CHARS))


@dataclass(slots=True)
class _Open:
    """A call under construction."""

    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    value: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return object_text(self.value) if self.value is not None else "".join(self.pieces)

    @property
    def begun(self) -> bool:
        """Arguments have come."""
        return self.value is not None or bool(self.pieces)

    @property
    def complete(self) -> bool:
        """The arguments are a whole object; the end is looked at first, since this is asked for every piece."""
        if self.value is not None:
            return True
        return bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and is_object("".join(self.pieces))


@dataclass(frozen=True, slots=True)
class _Piece:
    """One entry of delta.tool_calls."""

    index: int | None
    id: str
    name: str
    arguments: str | dict[str, Any]
    extra: dict[str, Any]


class CallAssembler:
    """`index` is only a key, a new id opens a call, a name opens a call where the one before is complete."""

    def __init__(self, tool_names: Collection[str] = (), new_id: Callable[[], str] = make_id) -> None:
        self._names = set(tool_names)
        self._new_id = new_id
        self._calls: list[_Open] = []
        self._by_id: dict[str, _Open] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, entries: Any) -> None:
        """The `tool_calls` of one delta or message."""
        listed = entries if isinstance(entries, list) else [entries]
        pieces = [_piece(entry) for entry in listed if isinstance(entry, dict)]
        keyless = len(pieces) > 1 and not any(p.id or p.name or p.index is not None for p in pieces)
        for position, piece in enumerate(pieces):
            # Nothing but fragments, one for each call: their place in the list is the only key left.
            target = self._calls[position] if keyless and position < len(self._calls) else self._target(piece)
            self._fill(target, piece)

    def add_legacy(self, function_call: Any) -> None:
        """The old `function_call` of a delta or message: at most one call."""
        if isinstance(function_call, dict):
            self.add([{"index": 0, "function": function_call}])

    # ------------------------------------------------------------ which call
    def _target(self, piece: _Piece) -> _Open:
        known = self._by_id.get(piece.id) if piece.id else None
        if piece.index is None:
            current = known or (self._calls[-1] if self._calls else None)
        elif known is not None and known.index == piece.index:
            current = known
        else:
            current = next((c for c in reversed(self._calls) if c.index == piece.index), None)
            if current is None and not piece.id and not piece.name and self._calls:
                current = self._stray_target()
        if current is None or self._opens(current, piece):
            current = _Open(piece.index)
            self._calls.append(current)
        if piece.id:
            current.id = current.id or piece.id
            self._by_id[piece.id] = current
        return current

    def _stray_target(self) -> _Open | None:
        """A nameless fragment under an unknown index goes to the last call, unless that one is complete."""
        last = self._calls[-1]
        return None if last.complete else last

    def _opens(self, current: _Open, piece: _Piece) -> bool:
        """Whether `piece` begins a call of its own although it could continue `current`."""
        other_id = bool(piece.id and current.id and piece.id != current.id and self._by_id.get(piece.id) is not current)
        if piece.name and current.name and not self._same_name(current, piece.name):
            return current.begun or other_id
        if not piece.name:
            opens = other_id and bool(piece.arguments) and current.complete
            return opens and not _repeats(current.text, piece.arguments)
        if current.complete:
            begins = bool(piece.arguments) and _starts(piece.arguments)
            return other_id or (begins and not _repeats(current.text, piece.arguments))
        if not other_id:
            return False
        return _starts(piece.arguments) if current.begun else not piece.arguments

    def _same_name(self, current: _Open, name: str) -> bool:
        """A repeat, or a fragment that makes the name longer."""
        if name == current.name:
            return True
        joined = current.name + name
        if self._names:
            return (
                name.startswith(current.name)
                or joined in self._names
                or (name not in self._names and any(known.startswith(joined) for known in self._names))
            )
        return name.startswith(current.name) or not current.begun

    # ------------------------------------------------------------ what is in it
    def _fill(self, call: _Open, piece: _Piece) -> None:
        call.name = self._merged_name(call.name, piece.name)
        if isinstance(piece.arguments, dict):
            if piece.arguments or call.value is None:
                call.value = {**(call.value or {}), **piece.arguments}
        elif piece.arguments:
            call.pieces.append(piece.arguments)
        for key, value in piece.extra.items():
            old = call.extra.get(key)
            call.extra[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value

    def _merged_name(self, old: str, new: str) -> str:
        if not old or not new or old == new:
            return old or new
        if old + new in self._names:
            return old + new
        if old in self._names:
            return old
        return new if new.startswith(old) else old + new

    # ------------------------------------------------------------ the calls
    def finish(self, cut: bool = False) -> tuple[ToolCallRequest, ...]:
        """The calls; with `cut` (finish reason "length") none of them may be run."""
        taken: set[str] = set()
        return tuple(
            self._finished(call, taken, cut) for call in self._calls if call.name or call.id or call.text.strip()
        )

    def _finished(self, call: _Open, taken: set[str], cut: bool) -> ToolCallRequest:
        text, error = self._arguments(call)
        name = tidy_name(call.name, self._names)
        if not name:
            error = "The call has no tool name."
        key = mend_surrogates(call.id)
        while not key or key in taken:
            key = self._new_id()
        taken.add(key)
        extra = {k: v for k, v in call.extra.items() if v is not None}
        content = extra.pop("extra_content", None)
        return ToolCallRequest(
            id=key,
            name=name,
            arguments=text,
            extra_content=content if isinstance(content, dict) else None,
            provider_specific_fields=extra or None,
            error=CUT_CALL if cut else error,
        )

    def _arguments(self, call: _Open) -> tuple[str, str | None]:
        text, error = parse_arguments(call.text)
        if (
            error
            and len(call.pieces) > 1
            and all(b.startswith(a) for a, b in zip(call.pieces, call.pieces[1:], strict=False))
        ):
            # Each piece repeats everything so far: the last one is the whole.
            return parse_arguments(call.pieces[-1])
        return text, error


def _piece(entry: dict[str, Any]) -> _Piece:
    function = entry.get("function")
    if not isinstance(function, dict):
        function = entry
    raw_id, name, arguments = entry.get("id"), function.get("name"), function.get("arguments")
    if isinstance(arguments, list | int | float | bool):
        arguments = json.dumps(arguments)
    return _Piece(
        _number(entry.get("index")),
        str(raw_id) if isinstance(raw_id, str | int) and not isinstance(raw_id, bool) else "",
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, str | dict) else "",
        {k: v for k, v in entry.items() if k not in _KNOWN_KEYS and v is not None},
    )


def _number(index: Any) -> int | None:
    if isinstance(index, str) and index.strip().isdigit():
        return int(index)
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _starts(arguments: str | dict[str, Any]) -> bool:
    return isinstance(arguments, dict) or arguments.lstrip()[:1] == "{"


def _repeats(text: str, arguments: str | dict[str, Any]) -> bool:
    return (object_text(arguments) if isinstance(arguments, dict) else arguments.strip()) == text.strip()


def tidy_name(name: str, known: Collection[str]) -> str:
    """The name of a tool without what models hang on to it, if that makes it a known one."""
    name = name.strip()
    if name in known:
        return name
    bare = _NAME_NOISE.sub("", name).strip().strip("\"'`")
    last = re.split(r"[.:/]", bare)[-1].strip()
    for candidate in (bare, last):
        if candidate in known:
            return candidate
    folded = last.lower().replace("-", "_")
    alike = [k for k in known if k.lower().replace("-", "_") == folded]
    return alike[0] if len(alike) == 1 else mend_surrogates(name)
