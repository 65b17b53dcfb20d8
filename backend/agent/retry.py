"""When a model request is sent again in another shape: too long a request is made smaller, twice at most."""

from dataclasses import dataclass, field

MAX_SHRINKS = 2
SHRINK_TO = 0.6  # of what was too long
MAX_CORRECTION = 2.0


@dataclass(slots=True)
class RequestBudget:
    """The room for messages, in our count of tokens; it only ever shrinks during a run.

    Providers count otherwise than we do: `learn` corrects our count by what they reported.
    """

    tokens: int
    shrinks: int = field(default=0)
    _correction: float = field(default=1.0)

    def room(self, taken: int) -> int:
        """Tokens left for messages when `taken` go to tool schemas."""
        return max(1, int(self.tokens / self._correction) - taken)

    def learn(self, estimated: int, reported: int) -> None:
        """`reported` prompt tokens were counted by the provider for a request that we counted as `estimated`."""
        if estimated > 0 and reported > 0:
            self._correction = min(MAX_CORRECTION, max(1.0, reported / estimated))

    def shrink(self, estimated: int) -> bool:
        """A request of `estimated` tokens was too long; False when it has been made smaller often enough."""
        if self.shrinks >= MAX_SHRINKS:
            return False
        self.shrinks += 1
        self.tokens = max(1, int(min(self.tokens, estimated * self._correction) * SHRINK_TO))
        return True
