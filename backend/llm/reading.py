"""What reading an answer has in common, whatever the server speaks: bytes into values, pieces to show, errors that keep what came."""

from abc import ABC, abstractmethod
from typing import Any

from ..agent.types import Delta, FinishReason, ModelReply
from ..errors import ModelError, ModelTransient
from .sse import EventReader

# No request has more: what is larger was made up, and would not fit where it is added up.
MOST_TOKENS = 1_000_000_000


def token_count(value: Any) -> int:
    """A count that a server reports; 0 for what is none."""
    sane = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_TOKENS
    return int(value) if sane else 0


class AnswerReader(ABC):
    """Reads one answer. `ended` is set by the end marker, `finish_reason` as soon as the server has said it.

    `events` counts what was read, `went_on` tells that more came after the finish reason.
    """

    def __init__(self) -> None:
        self.ended = False
        self.finish_reason: FinishReason | None = None
        self.events = 0
        self.went_on = False
        self._reader = EventReader()
        self._text: list[str] = []
        self._out: list[Delta] = []

    @property
    def text(self) -> str:
        """The visible text so far."""
        return "".join(self._text)

    @property
    @abstractmethod
    def reasoning(self) -> str:
        """The reasoning so far."""

    def feed(self, data: bytes) -> list[Delta]:
        """The pieces to show that these bytes bring; ModelError if they say that something went wrong."""
        try:
            values = self._reader.feed(data)
        except ValueError as e:
            raise self._error(ModelTransient(f"The model's answer cannot be read: {e}.")) from e
        for value in values:
            self._take(value)
        return self._taken()

    @abstractmethod
    def finish(self, cut: str = "") -> list[Delta]:
        """The stream is over; `cut` says how, if not in order. ModelTransient if the answer is not whole."""

    @abstractmethod
    def reply(self) -> ModelReply:
        """The whole answer, after `finish`."""

    @abstractmethod
    def _take(self, value: Any) -> None:
        """Read one event."""

    def _take_rest(self) -> None:
        """Read what the end of the stream leaves over."""
        if not self.ended:
            for value in self._reader.close():
                self._take(value)

    def _taken(self) -> list[Delta]:
        """What to show."""
        out, self._out = self._out, []
        return out

    def _error(self, error: ModelError) -> ModelError:
        error.partial_text, error.partial_reasoning = self.text, self.reasoning
        return error
