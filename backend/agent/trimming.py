"""Makes a legal list of messages fit a token budget, and remembers what it left out so that the prefix stays stable.

Works on lists that `pairing.repair` has made legal and keeps them legal: a call is never parted from its result.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from . import tokens
from .pairing import text_of
from .types import JsonObject, Message, ToolCallRequest

RESULT_LIMIT_CHARS = 16_000
NOTICE_ROOM_CHARS = 500  # a limited text may be this much longer than its limit: the notice of the cut
BULKY_CHARS = 500  # shorter texts are never compacted or cut
COMPACT_TO = 0.85  # of the budget, when old results are compacted
SNIP_TO = 0.75  # of the budget, when old turns are left out; lower, so that it does not happen at each step
CUT_LEVELS_CHARS = (8_000, 4_000, 2_000, 1_000, BULKY_CHARS)
NOTE_KEY = "note:"  # messages of the engine itself never begin a turn


@dataclass(slots=True)
class Frontier:
    """What was left out of earlier requests, by message key; `first` is the message that begins the kept tail."""

    first: str | None = None
    compacted: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    cut: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: JsonObject | None) -> "Frontier":
        """The frontier as stored; anything unreadable counts as nothing."""
        if not isinstance(data, dict):
            return cls()
        first = data.get("first")
        cut = data.get("cut")
        return cls(
            first if isinstance(first, str) else None,
            set(_strings(data.get("compacted"))),
            set(_strings(data.get("dropped"))),
            {str(k): v for k, v in cut.items() if isinstance(v, int)} if isinstance(cut, dict) else {},
        )

    def to_json(self, present: set[str]) -> JsonObject:
        """For the store: only what still concerns a message of the transcript."""
        return {
            "first": self.first,
            "compacted": sorted(self.compacted & present),
            "dropped": sorted(self.dropped & present),
            "cut": {k: v for k, v in sorted(self.cut.items()) if k in present},
        }


def fit(messages: list[Message], budget: int, frontier: Frontier) -> list[Message]:
    """Apply what is remembered, then leave out more until the budget is met; `frontier` learns what was left out."""
    whole = messages
    messages = [_limited(m) for m in _remembered(whole, frontier)]
    total = tokens.of_messages(messages)
    if total <= budget:
        return messages
    total = _compact_old(messages, total, budget, frontier)
    if total > budget:
        messages = _snip(messages, budget, frontier)
        if tokens.of_messages(messages) > budget:
            _cut_newest(messages, {m.key: m for m in whole}, budget, frontier)
    return messages


def said_before(messages: Sequence[Message], first: str | None) -> int:
    """How many messages come before `first` as a person counts them: an answer of many steps is one."""
    count, answering = 0, False
    for message in messages:
        if first is None or message.key == first:
            return count
        if message.role == "assistant" and not answering:
            count, answering = count + 1, True
        elif message.role == "user" and not message.key.startswith(NOTE_KEY):
            count, answering = count + 1, False
    return 0


# ---------------------------------------------------------------- what is remembered
def _remembered(messages: list[Message], frontier: Frontier) -> list[Message]:
    if frontier.first is not None:
        messages = _from(messages, frontier.first)
    if frontier.dropped:
        messages = _without(messages, frontier.dropped)
    if not frontier.compacted and not frontier.cut:
        return messages
    return [_as_remembered(m, frontier) for m in messages]


def _as_remembered(message: Message, frontier: Frontier) -> Message:
    if message.key in frontier.compacted:
        return _compacted(message)
    limit = frontier.cut.get(message.key)
    return message if limit is None else _cut(message, limit)


def _from(messages: list[Message], first: str) -> list[Message]:
    """System messages and the tail that begins with the message `first`; everything if it is not there."""
    for at, message in enumerate(messages):
        if message.key == first and message.role == "user":
            return [*_system(messages), *messages[at:]] if at else messages
    return messages


def _without(messages: list[Message], keys: set[str]) -> list[Message]:
    """Leave out assistant messages of these keys with their results."""
    out: list[Message] = []
    leaving = False
    for message in messages:
        if message.role != "tool":
            leaving = message.role == "assistant" and message.key in keys
        if not leaving:
            out.append(message)
    return out


def _system(messages: Sequence[Message]) -> list[Message]:
    return [m for m in messages[:1] if m.role == "system"]


# ---------------------------------------------------------------- old results to one line
def _compact_old(messages: list[Message], total: int, budget: int, frontier: Frontier) -> int:
    """Replace old bulky results of read-only tools by one line, oldest first, in place; the new total."""
    target = int(budget * COMPACT_TO)
    newest = _newest_group(messages)
    for at, message in enumerate(messages[:newest]):
        if total <= target:
            break
        if message.role == "tool" and message.read_only and _is_bulky(message):
            smaller = _compacted(message)
            total += tokens.of_message(smaller) - tokens.of_message(message)
            messages[at] = smaller
            frontier.compacted.add(message.key)
    return total


def _compacted(message: Message) -> Message:
    if not _is_bulky(message):
        return message
    line = f"[{message.name or 'tool'}: this earlier result ({len(text_of(message))} characters) was left out to save room; call the tool again if you need it.]"
    return replace(message, content=line, tokens=None)


def _newest_group(messages: Sequence[Message]) -> int:
    """Where the last assistant message with calls stands (or the end): what comes from there is never compacted."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].tool_calls:
            return at
    return len(messages)


# ---------------------------------------------------------------- old turns
def _snip(messages: list[Message], budget: int, frontier: Frontier) -> list[Message]:
    """Leave out the oldest whole turns until the rest is well within the budget; the newest turn always stays."""
    starts = [at for at, m in enumerate(messages) if m.role == "user" and not m.key.startswith(NOTE_KEY)]
    system = _system(messages)
    fixed = tokens.of_messages(system)
    rest = tokens.of_messages(messages) - fixed
    target = int(budget * SNIP_TO)
    begin = len(system)
    for start in starts:
        rest -= tokens.of_messages(messages[begin:start])
        begin = start
        if fixed + rest <= target:
            break
    if begin == len(system):
        return messages
    frontier.first = messages[begin].key
    return [*system, *messages[begin:]]


# ---------------------------------------------------------------- the newest turn alone
def _cut_newest(messages: list[Message], whole: dict[str, Message], budget: int, frontier: Frontier) -> None:
    """Cut the bulky parts of what is left, results first and oldest first; then leave out early steps; then cut texts.

    Every cut is made from the `whole` message (by key), so that it is the same when it is remembered.
    """
    results = [at for at, m in enumerate(messages) if m.role == "tool"]
    if not _cut_until(messages, results, whole, budget, frontier):
        _drop_steps(messages, budget, frontier)
        texts = [at for at, m in enumerate(messages) if m.role in ("user", "assistant")]
        _cut_until(messages, texts, whole, budget, frontier)


def _cut_until(
    messages: list[Message], places: list[int], whole: dict[str, Message], budget: int, frontier: Frontier
) -> bool:
    total = tokens.of_messages(messages)
    for limit in CUT_LEVELS_CHARS:
        for at in places:
            message = messages[at]
            if total <= budget:
                return True
            if _cut(message, limit) is message:
                continue
            messages[at] = smaller = _cut(whole.get(message.key, message), limit)
            total += tokens.of_message(smaller) - tokens.of_message(message)
            frontier.cut[message.key] = limit
    return total <= budget


def _drop_steps(messages: list[Message], budget: int, frontier: Frontier) -> None:
    """Leave out the oldest steps of the turn, in place, but the last one."""
    last = _newest_group(messages)
    total = tokens.of_messages(messages)
    keys = set()
    for step in _steps(messages[:last]):
        if total <= budget:
            break
        keys.add(step[0].key)
        total -= tokens.of_messages(step)
    if keys:
        frontier.dropped |= keys
        messages[:] = _without(messages, keys)


def _steps(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Each assistant message with its results."""
    step: list[Message] = []
    for message in messages:
        if message.role == "tool":
            step.append(message)
            continue
        if step:
            yield step
        step = [message] if message.role == "assistant" else []
    if step:
        yield step


# ---------------------------------------------------------------- single messages
def _limited(message: Message) -> Message:
    """A result as the model may see it at most, and never empty."""
    if message.role != "tool":
        return message
    text = text_of(message)
    if not text.strip():
        return replace(message, content=f"({message.name or 'the tool'} returned nothing)", tokens=None)
    if len(text) > RESULT_LIMIT_CHARS + NOTICE_ROOM_CHARS:
        return replace(message, content=_shortened(text, RESULT_LIMIT_CHARS + NOTICE_ROOM_CHARS), tokens=None)
    return message if isinstance(message.content, str) else replace(message, content=text, tokens=None)


def _cut(message: Message, limit: int) -> Message:
    """The message with every text longer than `limit` characters cut to that length, notice included."""
    calls = tuple(_cut_arguments(c, limit) for c in message.tool_calls)
    content = message.content
    if isinstance(content, str) and len(content) > limit:
        content = _shortened(content, limit)
    elif isinstance(content, list):
        content = [_cut_part(p, limit) for p in content]
    same_calls = all(a is b for a, b in zip(calls, message.tool_calls, strict=True))
    if same_calls and (content is message.content or content == message.content):
        return message
    return replace(message, content=content, tool_calls=calls, tokens=None)


def _cut_part(part: JsonObject, limit: int) -> JsonObject:
    if part.get("type") == "text":
        text = str(part.get("text", ""))
        return part if len(text) <= limit else {**part, "text": _shortened(text, limit)}
    return part


def _cut_arguments(call: ToolCallRequest, limit: int) -> ToolCallRequest:
    if len(call.arguments) <= limit:
        return call
    notice = {"_left_out": f"{len(call.arguments)} characters of arguments were left out to save room"}
    return replace(call, arguments=json.dumps(notice))


def _shortened(text: str, limit: int) -> str:
    """Head, notice and tail of a text, `limit` characters in all (at least what the notice needs)."""
    kept = max(0, limit - NOTICE_ROOM_CHARS) if limit > 2 * NOTICE_ROOM_CHARS else limit // 4
    head = kept * 3 // 4
    tail = kept - head
    notice = (
        f"\n[… cut: {len(text) - kept} of {len(text)} characters do not fit here. "
        "If you need them, ask again with a narrower range, or tell the user. …]\n"
    )
    return text[:head] + notice + (text[-tail:] if tail else "")


def _is_bulky(message: Message) -> bool:
    return len(text_of(message)) > BULKY_CHARS


def _strings(value: object) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []
