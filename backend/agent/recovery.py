"""What to do with a reply that is not an answer: blank, cut, malformed or refused. Pure decisions, no requests."""

from collections.abc import Sequence
from dataclasses import dataclass

from .guardrails import RunStopped, TerminationResult, failed
from .pairing import is_blank
from .trimming import NOTE_KEY
from .types import Message, ModelReply, RequestKind, ToolCallRequest

MAX_REQUESTS_FOR_BLANKS = 4  # the first, two retries, one without tools
MAX_CONTINUATIONS = 3

ASK_FOR_ANSWER = "Please give your answer to the user now, as text, from what you have."
CONTINUE = (
    "Your answer was cut off by the length limit. Go on exactly where it stopped; repeat nothing and add no preface."
)
CUT_SHORT = (
    "Your last reply was cut off by the length limit before it was complete, and nothing of it was used. "
    "Be briefer, or make a smaller call."
)
NAMELESS_CALLS = (
    "Your last reply called tools without naming them, so nothing was run. Call a tool by its name, or answer as text."
)
SUM_UP = (
    "The limit of steps for this run is reached and no more tools can be used. "
    "Tell the user briefly what is done, what you found, and what remains."
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """How to ask again: notes after the transcript (never stored), with or without tools."""

    notes: tuple[Message, ...] = ()
    tools: bool = True
    kind: RequestKind = "normal"
    continued: bool = False


def note(text: str) -> Message:
    """A message of the engine to the model; it goes with one request only."""
    return Message("user", text, key=f"{NOTE_KEY}user")


class Recovery:
    """Judges the replies of one step; at most 4 requests for blank ones and 3 continuations of cut ones."""

    def __init__(self, kind: RequestKind = "normal") -> None:
        self.kind = kind
        self.blanks = 0
        self.continuations = 0

    def next(self, reply: ModelReply, text: str, *, tools: bool) -> Attempt | None:
        """How to ask again, or None when the reply stands. `text` is what the step has shown so far.

        Raises RunStopped for a reply that ends the run.
        """
        if reply.finish_reason in ("content_filter", "refusal"):
            raise RunStopped(_filtered())
        if reply.finish_reason == "error":
            raise RunStopped(
                failed("error", "model_error", "The model ended its answer with an error.", retryable=True)
            )
        if reply.finish_reason == "length":
            return self._after_cut(text)
        if tools and good_calls(reply.tool_calls):
            return None
        if tools and reply.tool_calls:
            return self._ask_again(text, NAMELESS_CALLS)
        return self._ask_again(text, None) if is_blank(text) else None

    def _after_cut(self, text: str) -> Attempt | None:
        if self.continuations < MAX_CONTINUATIONS:
            self.continuations += 1
            if is_blank(text):
                return Attempt((note(CUT_SHORT),), kind="continuation")
            return Attempt((_said(text), note(CONTINUE)), kind="continuation", continued=True)
        if is_blank(text):
            raise RunStopped(_empty("The model's answer was cut off by its length limit before any text came."))
        return None

    def _ask_again(self, text: str, correction: str | None) -> Attempt | None:
        self.blanks += 1
        notes = () if is_blank(text) else (_said(text),)
        if self.blanks >= MAX_REQUESTS_FOR_BLANKS:
            if is_blank(text):
                raise RunStopped(_empty(f"The model gave no answer in {self.blanks} requests."))
            return None
        if self.blanks == MAX_REQUESTS_FOR_BLANKS - 1:
            return Attempt((*notes, note(ASK_FOR_ANSWER)), tools=False, kind="final")
        return Attempt((*notes, note(correction)) if correction else (), kind=self.kind)


def good_calls(calls: Sequence[ToolCallRequest]) -> tuple[ToolCallRequest, ...]:
    """The calls that have a name; the others cannot be answered."""
    return tuple(c for c in calls if not is_blank(c.name))


def _said(text: str) -> Message:
    return Message("assistant", text, key=f"{NOTE_KEY}said")


def _filtered() -> TerminationResult:
    return failed(
        "content_filter",
        "content_filter",
        "The model's provider stopped this answer (content filter or refusal).",
        suggestion="Rephrase the request, or choose another model.",
        retryable=False,
    )


def _empty(message: str) -> TerminationResult:
    return failed(
        "empty_answer",
        "empty_answer",
        message,
        suggestion="Ask again, or choose another model.",
        retryable=True,
    )
