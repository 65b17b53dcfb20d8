"""The text and the reasoning of one step as they are shown: pieces with offsets, exactly what is stored later."""

import time
from collections.abc import Callable

from .pairing import is_blank
from .recorder import Recorder
from .types import Delta, ModelReply

PARAGRAPH = "\n\n"
# A provider's notice that the text of this request so far was reasoning: the model closed a thought it never opened.
RECALL = "text_was_reasoning"


class _Strand:
    """One growing text. Blank beginnings are held back, so that an empty answer shows nothing."""

    def __init__(self, kind: str, recorder: Recorder, step: int) -> None:
        self._emit = recorder.emit
        self._event = f"{kind}.delta"
        self._step = step
        self._parts: list[str] = []
        self._length = 0
        self._request_start = 0
        self._held = ""
        self._request: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def new_request(self, gap: str) -> None:
        self._request.clear()
        self._request_start = self._length
        self._held = gap if self._length else ""

    def add(self, piece: str) -> None:
        piece = clean(piece)
        self._request.append(piece)
        if self._held or not self._length:
            self._held += piece
            if is_blank(self._held):
                return
            piece, self._held = self._held, ""
        if piece:
            self._emit(self._event, step=self._step, offset=self._length, text=piece)
            self._parts.append(piece)
            self._length += len(piece)

    def recall(self) -> str:
        """Take back what this request has shown, and show the rest anew from the beginning."""
        before, said = self.text[: self._request_start], self.text[self._request_start :]
        self.show_anew(before)
        self._request.clear()
        return said

    def show_anew(self, text: str) -> None:
        """After the step has begun anew for its viewers: `text` from offset 0."""
        self._parts, self._length, self._held = [], 0, ""
        self.add(text)

    def settle(self, whole: str) -> None:
        """Show what of the complete text was not streamed; what was shown stands."""
        whole, streamed = clean(whole), "".join(self._request)
        if whole.startswith(streamed):
            self.add(whole[len(streamed) :])
        elif is_blank(streamed):
            self.add(whole)


class StepStream:
    """Receives the deltas of every request of one step."""

    def __init__(self, recorder: Recorder, step: int, heard: Callable[[Delta], None] | None = None) -> None:
        self._text = _Strand("text", recorder, step)
        self._reasoning = _Strand("reasoning", recorder, step)
        self._thought: tuple[float, float] | None = None
        self._recorder = recorder
        self._step = step
        self._heard = heard

    @property
    def text(self) -> str:
        """The text shown so far."""
        return self._text.text

    @property
    def reasoning(self) -> str:
        """The reasoning shown so far."""
        return self._reasoning.text

    @property
    def thought_seconds(self) -> float:
        """From the first to the last piece of reasoning, as it came."""
        return self._thought[1] - self._thought[0] if self._thought else 0.0

    def new_request(self, *, continued: bool) -> None:
        """Another request of the same step: its text follows directly, or as a new paragraph."""
        self._text.new_request("" if continued else PARAGRAPH)
        self._reasoning.new_request(PARAGRAPH)

    def on_delta(self, delta: Delta) -> None:
        """Record and show one piece."""
        if delta.kind == "text":
            self._text.add(delta.text)
        elif delta.kind == "reasoning":
            self._reasoning.add(delta.text)
            now = time.monotonic()
            self._thought = (self._thought[0] if self._thought else now, now)
        else:
            self._recorder.notice(delta.code or "notice", delta.text)
            if delta.code == RECALL:
                self._recall()
        if self._heard is not None:
            self._heard(delta)

    def _recall(self) -> None:
        """What was text becomes reasoning; `step.started` tells viewers to drop what they have of the step."""
        self._recorder.emit("step.started", step=self._step)
        said = self._text.recall()
        self._reasoning.show_anew(self._reasoning.text + said)

    def settle(self, reply: ModelReply) -> None:
        """The request is complete: what a provider did not stream is shown now."""
        self.settle_partial(reply.text, reply.reasoning)

    def settle_partial(self, text: str, reasoning: str) -> None:
        """The same for a request that broke off."""
        self._reasoning.settle(reasoning)
        self._text.settle(text)


def clean(text: str) -> str:
    """Valid text for every database: halves of characters joined or replaced, no NUL."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\x00", "\ufffd") if "\x00" in text else text
