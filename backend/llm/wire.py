"""One answer of an OpenAI-compatible server: bytes in, pieces to show and at the end a whole reply out.

The reading is tolerant in form and strict in meaning: whatever a server does with framing, indexes, ids or
arguments, a reply is either whole or an error, and a call is either certain or carries an error.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from ..agent.types import Delta, DeltaKind, FinishReason, ModelReply, ToolCallRequest, Usage
from ..errors import ModelError, ModelTransient
from .arguments import mend_surrogates
from .deltas import CUT_CALL, CallAssembler, make_id
from .faults import complaint_in, error_for
from .reading import AnswerReader, token_count
from .reasoning import Reasoning, reasoning_of
from .sse import DONE
from .textcalls import CallTextFilter, TextEnd
from .think import ThinkSplitter

FINISH: dict[str, FinishReason] = {
    "stop": "stop", "end_turn": "stop", "stop_sequence": "stop", "eos": "stop", "eos_token": "stop", "complete": "stop",
    "length": "length", "max_tokens": "length", "max_output_tokens": "length", "model_length": "length",
    "model_context_window_exceeded": "length", "incomplete": "length",
    "tool_calls": "tool_calls", "tool_use": "tool_calls", "tool_call": "tool_calls", "function_call": "tool_calls",
    "content_filter": "content_filter", "safety": "content_filter", "sensitive": "content_filter",
    "recitation": "content_filter", "prohibited_content": "content_filter", "blocklist": "content_filter",
    "guardrail_intervened": "content_filter", "content_filtered": "content_filter",
    "refusal": "refusal",
    "error": "error", "network_error": "error", "insufficient_system_resource": "error", "abort": "error",
    "malformed_function_call": "error",
}  # fmt: skip
BLOCKING: frozenset[FinishReason] = frozenset({"content_filter", "refusal", "error"})
RECALLED = "The beginning of this answer was the model thinking aloud; it is no part of the answer."


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the reader must know beforehand.

    `tool_names`: tools the model knows (offered, or called earlier). `in_thought`: the model begins its answers
    in thought without an opening tag.
    `secret` is never shown.
    """

    tool_names: Collection[str] = ()
    in_thought: bool = False
    secret: str = ""
    new_id: Callable[[], str] = make_id


class ReplyReader(AnswerReader):
    """Reads one answer; `misjudged` tells that `in_thought` was wrong for it."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__()
        self.misjudged = False
        self._options = options
        self._think = ThinkSplitter(options.in_thought)
        self._filter = CallTextFilter(options.tool_names) if options.tool_names else None
        self._calls = CallAssembler(options.tool_names, options.new_id)
        self._text_calls: tuple[ToolCallRequest, ...] = ()
        self._raw_text = 0
        self._reasoning = Reasoning()
        self._usage = (0, 0)
        self._model = ""
        self._choice: Any = None
        self._chosen = False
        self._streamed = False
        self._refused = False
        self._high = ""

    # ------------------------------------------------------------ what has been read
    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return self._reasoning.text

    @property
    def orphan_thought(self) -> bool:
        """True if the answer began in thought without saying so."""
        return self._think.orphan

    # ------------------------------------------------------------ reading
    def finish(self, cut: str = "") -> list[Delta]:
        """The stream is over; `cut` says how, if not in order. ModelTransient if the answer is not whole."""
        self._take_rest()
        problem = self._problem(cut)
        for kind, text in self._think.close():
            self._split(kind, text)
        self._close_assumption()
        self._close_text(self._filter.close(bool(self._calls)) if self._filter else TextEnd())
        if problem is not None:
            raise self._error(problem)
        return self._taken()

    def _close_assumption(self) -> None:
        """A model that was known to begin in thought did not this time: what it said is the answer after all."""
        said = self._think.assumed
        if said and self.finish_reason in (None, "stop") and not self._calls:
            self.misjudged = True
            self._split("text", said)

    def _problem(self, cut: str) -> ModelError | None:
        """Why this is no whole answer."""
        if not (self.ended or self.finish_reason or (self._whole_document() and not cut)):
            return self._incomplete()
        if not self._chosen:
            return ModelTransient("The model's server sent an empty answer (no choices).")
        if self.finish_reason == "error":
            return ModelTransient("The model's server broke the answer off (finish reason: error).")
        return None

    def _whole_document(self) -> bool:
        return self._reader.kind == "json" and self._chosen and not self._streamed

    def _incomplete(self) -> ModelError:
        if self._reader.kind == "other" or (self._reader.size and not self.events):
            return ModelTransient(
                "The model's server answered with something that is no model answer (a web page?). Check the base URL."
            )
        return ModelTransient("The connection was closed before the answer was complete: the stream is incomplete.")

    def _taken(self) -> list[Delta]:
        """What to show, neighbours of one kind joined."""
        out = super()._taken()
        if len(out) < 2:
            return out
        joined: list[Delta] = []
        for delta in out:
            if joined and joined[-1].kind == delta.kind and delta.code is None:
                joined[-1] = Delta(delta.kind, joined[-1].text + delta.text)
            else:
                joined.append(delta)
        return joined

    # ------------------------------------------------------------ one event
    def _take(self, value: Any) -> None:
        if self.ended:
            return
        if value is DONE:
            self.ended = True
            return
        self.events += 1
        if not isinstance(value, dict):
            return
        if (complaint := complaint_in(value)) is not None:
            raise self._error(error_for(complaint, {}, self._options.secret))
        self._take_usage(value)
        if isinstance(value.get("model"), str):
            self._model = value["model"] or self._model
        choice = self._pick(value.get("choices"))
        if choice is not None:
            self._take_choice(choice)

    def _pick(self, choices: Any) -> dict[str, Any] | None:
        """The choice to read: always the one that came first."""
        if not isinstance(choices, list):
            return None
        for choice in choices:
            if not isinstance(choice, dict):
                continue
            if not self._chosen:
                self._chosen, self._choice = True, choice.get("index")
                return choice
            if choice.get("index") in (self._choice, None) or self._choice is None:
                return choice
        return None

    def _take_choice(self, choice: dict[str, Any]) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._streamed = True
            # Some say "stop" in every chunk: then it is no sign of the end.
            self.went_on = self.went_on or bool(
                self.finish_reason and (delta.get("content") or delta.get("tool_calls"))
            )
            self._take_message(delta, whole=False)
        if isinstance(message, dict) and not (isinstance(delta, dict) and delta):
            self._take_message(message, whole=True)
        if isinstance(choice.get("text"), str) and delta is None and message is None:
            self._content(choice["text"])
        if isinstance(choice.get("usage"), dict):
            self._take_usage(choice)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = FINISH.get(reason.lower(), "stop")

    def _take_message(self, message: dict[str, Any], whole: bool) -> None:
        thought = self._reasoning.take(message, whole)
        if thought:
            self._show("reasoning", thought)
        content = message.get("content")
        if content:
            self._take_content(content, whole)
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            self._content(refusal)
        if message.get("tool_calls"):
            if not (whole and self._calls):
                self._calls.add(message["tool_calls"])
        elif message.get("function_call") and not (whole and self._calls):
            self._calls.add_legacy(message["function_call"])

    def _take_content(self, content: Any, whole: bool) -> None:
        if isinstance(content, str):
            # A last chunk may repeat the whole message: only what is new in it is taken.
            if not (whole and self._raw_text):
                self._content(content)
            return
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str):
                self._content(part)
            elif isinstance(part, dict):
                if thought := reasoning_of(part):
                    self._reasoning.add(thought)
                    self._show("reasoning", thought)
                elif isinstance(part.get("text"), str):
                    self._content(part["text"])
                elif isinstance(part.get("refusal"), str):
                    self._refused = True
                    self._content(part["refusal"])

    def _take_usage(self, value: dict[str, Any]) -> None:
        groq = value.get("x_groq")
        usage = value.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
        if isinstance(usage, dict):
            prompt = _count(usage, "prompt_tokens", "input_tokens")
            completion = _count(usage, "completion_tokens", "output_tokens")
            # Some report running totals in every chunk: the largest is the last.
            self._usage = (max(self._usage[0], prompt), max(self._usage[1], completion))

    # ------------------------------------------------------------ text
    def _content(self, text: str) -> None:
        self._raw_text += len(text)
        for kind, piece in self._think.feed(text):
            self._split(kind, piece)

    def _split(self, kind: str, text: str) -> None:
        if kind == "reasoning":
            self._reasoning.add(text)
            self._show("reasoning", text)
        elif kind == "recall":
            self._recall()
        else:
            shown = self._filter.feed(text) if self._filter else text
            if shown:
                self._show_text(shown)

    def _recall(self) -> None:
        """All text so far was reasoning: the reply says so, and whoever showed it is told."""
        said = self.text
        if said:
            self._text.clear()
            self._reasoning.add(said)
            self._out.append(Delta("notice", RECALLED, "text_was_reasoning"))

    def _show_text(self, text: str) -> None:
        if self._high or not text.isascii():
            text = self._paired(text)
        if text:
            self._text.append(text)
            self._show("text", text)

    def _paired(self, text: str) -> str:
        """A character outside the basic plane may arrive as two halves in two events."""
        text = self._high + text
        self._high = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        return mend_surrogates(text[: len(text) - len(self._high)])

    def _show(self, kind: DeltaKind, text: str) -> None:
        self._out.append(Delta(kind, mend_surrogates(text) if kind == "reasoning" else text))

    def _close_text(self, end: TextEnd) -> None:
        if end.reasoning:
            self._reasoning.add(end.reasoning)
            self._show("reasoning", end.reasoning)
        if end.text:
            self._show_text(end.text)
        if self._high:
            self._high = ""
            self._show_text("\ufffd")
        self._text_calls = tuple(
            ToolCallRequest(self._options.new_id(), call.name, call.arguments, error=call.error) for call in end.calls
        )

    # ------------------------------------------------------------ the reply
    def reply(self) -> ModelReply:
        """The whole answer, after `finish`."""
        reason: FinishReason = self.finish_reason or "stop"
        if self._refused and reason == "stop":
            reason = "refusal"
        cut = reason == "length"
        calls = self._calls.finish(cut) or self._text_calls
        if cut:
            calls = tuple(_not_run(call) for call in calls)
        if reason in BLOCKING:
            calls = ()
        elif not cut:
            reason = "tool_calls" if calls else "stop"
        text = self.text
        return ModelReply(
            text=text,
            reasoning=self._reasoning.text,
            tool_calls=calls,
            finish_reason=reason,
            usage=Usage(*self._usage),
            model=self._model,
            reasoning_fields=self._reasoning.fields(),
        )


def _not_run(call: ToolCallRequest) -> ToolCallRequest:
    return ToolCallRequest(
        call.id, call.name, call.arguments, call.extra_content, call.provider_specific_fields, CUT_CALL
    )


def _count(usage: dict[str, Any], *names: str) -> int:
    for name in names:
        value = usage.get(name)
        if count := token_count(value):
            return count
    return 0
