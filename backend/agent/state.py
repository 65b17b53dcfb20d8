"""What one run knows while it goes on; the phases work on it, one after the other."""

from dataclasses import dataclass, field, replace

from ..cancel import CancelToken
from ..ids import iso_now
from . import tokens
from .answer import Answer
from .guardrails import Guardrails
from .observers import Observers
from .ports import CallExecutor, LLMProvider, OutputChannel, StateStore
from .recorder import Recorder
from .retry import RequestBudget
from .streaming import StepStream
from .types import CallRecord, Delta, JsonObject, Message, ModelReply, RunSpec, StepRecord, Usage


@dataclass(frozen=True, slots=True)
class Doors:
    """What the engine stands between: a model, tools, a store, a listener and observers."""

    provider: LLMProvider
    executor: CallExecutor
    store: StateStore
    channel: OutputChannel
    observers: Observers


@dataclass(slots=True)
class Step:
    """The step under way: its record, what is shown of it, its calls, and the model's last reply."""

    record: StepRecord
    stream: StepStream
    calls: list[CallRecord] = field(default_factory=list)
    reply: ModelReply | None = None

    def keep(self, reply: ModelReply) -> None:
        """Count one more model request of this step."""
        self.reply = reply
        record = self.record
        record.model_calls += reply.requests
        record.usage += reply.usage
        record.finish_reason = reply.finish_reason
        record.model = reply.model or record.model
        record.reasoning_fields = reply.reasoning_fields

    def sync(self) -> StepRecord:
        """The record with what is shown so far."""
        self.record.text = self.stream.text
        self.record.reasoning = self.stream.reasoning
        self.record.thought_seconds = self.stream.thought_seconds
        return self.record


class RunState:
    """One run: its conversation so far, its counters, its answer."""

    def __init__(self, doors: Doors, spec: RunSpec, cancelled: CancelToken) -> None:
        self.doors = doors
        self.spec = spec
        self.recorder = Recorder(spec.run_id, doors.store, doors.channel)
        elapsed = spec.resume.elapsed_seconds if spec.resume else 0.0
        self.guard = Guardrails(spec.limits, cancelled, elapsed)
        self.transcript: list[Message] = [Message("system", spec.system_prompt, key="system"), *spec.transcript]
        self.frontier = _frontier(doors.store)
        self.schemas = _schemas(doors.executor, spec.tools)
        self.schema_tokens = tokens.of_tools(self.schemas)
        self.budget = RequestBudget(spec.token_budget)
        self.answer = Answer(spec.parent_message_id)
        self.usage = Usage()
        self.step: Step | None = None
        self.call_ids: set[str] = set()
        self.drains = 0
        self.ignored_messages: set[str] = set()

    def open_step(self) -> Step:
        """Begin the next step and say so."""
        index = self.guard.steps
        self.step = Step(
            StepRecord(self.spec.run_id, index, started_at=iso_now(), model=self.spec.model), self._stream(index)
        )
        self.observe("step.before", step=index)
        event = self.recorder.event("step.started", step=index)
        self.recorder.write([replace(self.step.record)], [event], wait=False)
        return self.step

    def _stream(self, index: int) -> StepStream:
        return StepStream(self.recorder, index, self._heard if self.doors.observers else None)

    def _heard(self, delta: Delta) -> None:
        self.observe("model.delta", kind=delta.kind, text=delta.text)

    def observe(self, moment: str, **data: object) -> None:
        """Tell the observers."""
        if self.doors.observers:
            self.doors.observers.notify(moment, {"run_id": self.spec.run_id, **data})


def _frontier(store: StateStore) -> JsonObject | None:
    stored = store.get_task_state("frontier")
    return stored if isinstance(stored, dict) else None


def _schemas(executor: CallExecutor, names: tuple[str, ...]) -> list[JsonObject]:
    """Schemas of the tools offered, in the order of their names; names without a tool are left out."""
    found = (executor.registry.get(name) for name in sorted(set(names)))
    return [definition.to_openai_schema() for definition in found if definition is not None]
