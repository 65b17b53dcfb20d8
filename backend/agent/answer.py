"""The answer as it grows over the steps: its blocks in the order they happened, for one message of the conversation."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..ids import iso_now, new_id
from .types import CallRecord, JsonObject, MessageRecord, StepRecord, Usage

LEAST_TOLD_SECONDS = 1.0


@dataclass(slots=True)
class Answer:
    """What has been answered since the last user message. `content` is the last text, `blocks` is everything."""

    parent_id: str | None
    id: str = field(default_factory=new_id)
    created_at: str = field(default_factory=iso_now)
    content: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    blocks: list[JsonObject] = field(default_factory=list)
    calls: list[JsonObject] = field(default_factory=list)

    def add_step(self, step: StepRecord, calls: Iterable[CallRecord]) -> None:
        """Add a finished step: at most one reasoning and one text block, then its calls."""
        if step.reasoning:
            self.blocks.append({"type": "reasoning", "text": step.reasoning, **_seconds(step.thought_seconds)})
        if step.text:
            self.blocks.append({"type": "text", "text": step.text})
            self.content = step.text
        for record in calls:
            self.blocks.append({"type": "tool_call", "call_id": record.call["id"]})
            self.calls.append(record.call)
        self.usage += step.usage
        self.model = step.model or self.model

    def reasoning(self) -> str:
        """All reasoning, step after step."""
        return "\n\n".join(b["text"] for b in self.blocks if b["type"] == "reasoning")

    def to_record(self, conversation_id: str, run_id: str, error: JsonObject | None = None) -> MessageRecord | None:
        """The message to store; None when there is nothing to keep and no error to show."""
        if not self.blocks and error is None:
            return None
        return MessageRecord(
            id=self.id,
            conversation_id=conversation_id,
            parent_id=self.parent_id,
            role="assistant",
            content=self.content,
            run_id=run_id,
            reasoning=self.reasoning(),
            blocks=self.blocks,
            tool_calls=self.calls,
            model=self.model,
            usage=self.usage.to_json(),
            error=error,
            created_at=self.created_at,
        )


def _seconds(thought: float) -> JsonObject:
    """How long the model thought, where that is long enough to be told."""
    return {"seconds": round(thought, 1)} if thought >= LEAST_TOLD_SECONDS else {}
