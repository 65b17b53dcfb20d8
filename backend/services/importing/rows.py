"""From a checked conversation of a file to rows: every id is new, and whose it is follows from who imports it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...agent.types import JsonObject
from ...ids import iso, new_id, utc_now
from ..drafts import Draft, copied_run
from ..runtime import Runtime
from .checking import Call, CallBlock, Entry, Message, TextBlock

Block = TextBlock | CallBlock
TOOL_NAME_CHARS = 64
SETTINGS = ("title", "model", "system_prompt", "temperature", "max_tokens", "thinking", "pinned", "archived")
TIMES_OF_CALL = ("cached_at", "expires_at", "started_at", "finished_at")
NOT_IN_CALL = {"id", "function", "result", "whole_result", "duplicate_of", "step", *TIMES_OF_CALL}


@dataclass(slots=True)
class Copied:
    """The rows of one message."""

    message: JsonObject
    run: JsonObject | None = None
    steps: list[JsonObject] = field(default_factory=list)
    calls: list[JsonObject] = field(default_factory=list)

    @property
    def size(self) -> int:
        """About how many characters are written."""
        return len(self.message["content"]) + sum(len(call.get("result") or "") for call in self.calls)


@dataclass(slots=True)
class Maker:
    """Makes the rows of one conversation."""

    runtime: Runtime
    user_id: str
    project_id: str | None
    _ids: dict[str, str] = field(default_factory=dict)

    def draft(self, entry: Entry) -> Draft:
        """The conversation without its messages."""
        values: JsonObject = {name: getattr(entry, name) for name in SETTINGS}
        values["project_id"] = self.project_id
        values["created_at"] = entry.created_at or utc_now()
        values["updated_at"] = entry.updated_at or utc_now()
        return Draft(self.runtime, self.user_id, values, entry.tags)

    def leaf_id(self, entry: Entry) -> str | None:
        """The new id of the message that was the active leaf, else of the last."""
        last = entry.messages[-1].id if entry.messages else ""
        return self._ids.get(entry.active_leaf_id or last)

    def messages(self, draft: Draft, entry: Entry) -> Iterator[Copied]:
        """The rows of each message, parents first."""
        for message in entry.messages:
            self._ids[message.id] = new_id()
            yield self._copied(draft, message)

    def _copied(self, draft: Draft, message: Message) -> Copied:
        created_at = message.created_at or utc_now()
        call_ids = {call.id: f"call_{new_id()}" for call in message.tool_calls}
        blocks = message.blocks or _blocks_of(message)
        run = copied_run(draft, created_at, model=message.model) if message.role == "assistant" else None
        row = {
            "id": self._ids[message.id], "parent_id": self._ids.get(message.parent_id or ""), "role": message.role,
            "content": message.content or _last_text(blocks), "reasoning": message.reasoning, "model": message.model,
            "blocks": [_block(block, call_ids) for block in blocks],
            "attachments": [attachment.model_dump() for attachment in message.attachments],
            "usage": message.usage, "error": message.error, "created_at": created_at,
            "run_id": run["id"] if run else None,
        }  # fmt: skip
        copied = Copied(row, run)
        if run is not None:
            self._add_steps(copied, message, blocks, call_ids)
            run["step_count"] = len(copied.steps)
        return copied

    def _add_steps(self, copied: Copied, message: Message, blocks: Sequence[Block], call_ids: dict[str, str]) -> None:
        """Steps as the blocks tell them, and the calls in them."""
        by_id = {call.id: call for call in message.tool_calls}
        steps = _Steps()
        for block in blocks:
            if isinstance(block, CallBlock):
                call = by_id[block.call_id]
                index = steps.call(call.step)
                copied.calls.append(self._call(copied, call, call_ids, (index, len(copied.calls))))
            else:
                steps.words(block)
        assert copied.run is not None
        for index, words in steps.found.items():
            copied.steps.append({"run_id": copied.run["id"], "index": index, "status": "completed", **words})

    def _call(self, copied: Copied, call: Call, call_ids: dict[str, str], place: tuple[int, int]) -> JsonObject:
        assert copied.run is not None
        step, position = place
        whole = call.whole_result
        own_id = call_ids[call.id]
        shown: JsonObject = {
            "id": own_id, "type": "function", "function": call.function.model_dump(), "provider_id": own_id,
            "step": step, "duplicate_of": call_ids.get(call.duplicate_of or ""),
            **call.model_dump(exclude=NOT_IN_CALL), **{name: iso(getattr(call, name)) for name in TIMES_OF_CALL},
        }  # fmt: skip
        return {
            "run_id": copied.run["id"], "id": own_id, "step": step, "position": position,
            "name": call.function.name[:TOOL_NAME_CHARS], "status": call.status, "cached": call.cached,
            "execution_time": call.execution_time, "call": shown, "result": call.result,
            "result_blob": self.runtime.blobs.put(whole.encode()) if whole is not None else None,
            "finished_at": iso(call.finished_at),
        }  # fmt: skip


@dataclass(slots=True)
class _Steps:
    """Which step each block belongs to: words after a call begin a new one, and so does a call of another step."""

    found: dict[int, JsonObject] = field(default_factory=dict)
    index: int = 0
    called: int | None = None  # the file's number of the step whose calls are read
    has_calls: bool = False

    def words(self, block: TextBlock) -> None:
        """A text or reasoning."""
        name = block.type
        if self.has_calls or self.found.get(self.index, {}).get(name):
            self._next()
        self.found.setdefault(self.index, {})[name] = block.text

    def call(self, step: int | None) -> int:
        """The number of the step that a call belongs to."""
        if self.has_calls and step != self.called:
            self._next()
        self.found.setdefault(self.index, {})
        self.called, self.has_calls = step, True
        return self.index

    def _next(self) -> None:
        self.index += 1
        self.has_calls = False


def _blocks_of(message: Message) -> list[Block]:
    """An answer that has its words alone, as a person may write it: what the model is given are blocks."""
    if message.role != "assistant":
        return []
    words = (("reasoning", message.reasoning), ("text", message.content))
    return [TextBlock.model_validate({"type": kind, "text": text}) for kind, text in words if text]


def _last_text(blocks: Sequence[Block]) -> str:
    return next((b.text for b in reversed(blocks) if isinstance(b, TextBlock) and b.type == "text"), "")


def _block(block: Block, call_ids: dict[str, str]) -> JsonObject:
    if isinstance(block, CallBlock):
        return {"type": "tool_call", "call_id": call_ids[block.call_id]}
    return block.model_dump()
