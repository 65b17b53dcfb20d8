"""The reasoning of an answer, in whichever fields a server sends it, and the fields to send back with it."""

from typing import Any

FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "thought", "thoughts")
ECHOED = ("reasoning_content", "reasoning", "reasoning_details", "reasoning_text")
_DETAIL_TEXT = ("text", "summary")
_NAMES = frozenset((*FIELDS, "reasoning_details"))


class Reasoning:
    """Collects the pieces of one answer."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._named: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces)

    def add(self, text: str) -> None:
        """A piece that came with the content."""
        self._pieces.append(text)

    def take(self, message: dict[str, Any], whole: bool) -> str:
        """The reasoning of a delta; that of a whole message only if nothing was streamed before."""
        if _NAMES.isdisjoint(message):  # nearly every delta of most models
            return ""
        known = whole and bool(self._pieces)
        shown = ""
        for name in FIELDS:
            text = _plain(message.get(name))
            if not text:
                continue
            if name in ECHOED and not known:
                self._named.setdefault(name, []).append(text)
            shown = shown or text  # servers that fill two fields say the same in both
        details = message.get("reasoning_details")
        if isinstance(details, list) and not (known and self._details):
            said = "".join(self._detail(item) for item in details if isinstance(item, dict))
            shown = shown or said
        if known or not shown:
            return ""
        self._pieces.append(shown)
        return shown

    def _detail(self, item: dict[str, Any]) -> str:
        same = next(
            (d for d in self._details if d.get("index") == item.get("index") and d.get("type") == item.get("type")),
            None,
        )
        if same is None:
            self._details.append(dict(item))
        else:
            for key, value in item.items():
                if key in (*_DETAIL_TEXT, "data") and isinstance(value, str) and isinstance(same.get(key), str):
                    same[key] += value
                elif value is not None:
                    same[key] = value
        return "".join(item[key] for key in _DETAIL_TEXT if isinstance(item.get(key), str))

    def fields(self) -> dict[str, Any] | None:
        """The provider's own fields, as they are to be echoed."""
        out: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._named.items()}
        if self._details:
            out["reasoning_details"] = self._details
        return out or None


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_plain(item) for item in value)
    if isinstance(value, dict):
        return next((_plain(value[key]) for key in ("text", "content", "thinking", "summary") if value.get(key)), "")
    return ""


def reasoning_of(part: dict[str, Any]) -> str:
    """The thoughts in one part of a content list, or an empty text if it is no such part."""
    kind = part.get("type")
    if kind in ("thinking", "reasoning", "thought", "reasoning_text") or ("thinking" in part and "text" not in part):
        return _plain({k: v for k, v in part.items() if k != "type"})
    return ""
