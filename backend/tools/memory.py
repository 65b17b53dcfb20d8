"""What an executor remembers of results: its cache, what conversations asked before, and calls in flight."""

import time
from collections.abc import Callable, Hashable

from .cache import ENTRY_OVERHEAD_BYTES, Clock, Entry, Flights, Generations, ResultCache
from .calls import Call
from .context import CallContext
from .plans import Plan
from .results import Outcome

Waiter = Callable[[Outcome | None], None]


class Memory:
    """Answers calls from earlier ones where their tool allows it, never over a write, a user or a project."""

    def __init__(
        self, cache: ResultCache | None, history: ResultCache | None, generations: Generations, clock: Clock
    ) -> None:
        self._cache = cache
        self._history = history
        self._generations = generations
        self._clock = clock
        self._flights = Flights()
        self.remembers = cache is not None or history is not None

    # ------------------------------------------------------------ asking
    def recall(self, call: Call, plan: Plan, context: CallContext) -> Entry | None:
        """A fresh result of an equal call; names the earlier call if this conversation made it."""
        if not plan.reusable or context.fresh:
            return None
        if self._history is not None and context.conversation is not None:
            entry = self._history.get((context.conversation, call.key))
            if entry is not None:
                call.duplicate_of = entry.call_id
                return entry
        return self._cache.get(call.key) if self._cache is not None else None

    def last_good(self, call: Call) -> Entry | None:
        """A result of any age, for a tool that has failed."""
        return self._cache.stale(call.key) if self._cache is not None else None

    # ------------------------------------------------------------ equal calls at the same time
    def join(self, call: Call, plan: Plan, context: CallContext, waiter: Waiter | None) -> bool:
        """False if an equal call is in flight; `waiter` will be told how it ended."""
        call.generation = self._generations.of(context.write_scope)
        if not plan.reusable or self._cache is None or context.fresh or call.flight is not None or call.degraded:
            return True
        if not self._flights.join(call.key, waiter):
            return False
        call.flight = call.key
        return True

    def land(self, call: Call, outcome: Outcome | None) -> None:
        """Tell those who wait for this call; None sends them to try it themselves."""
        if call.flight is not None:
            self._flights.land(call.flight, outcome)
            call.flight = None

    # ------------------------------------------------------------ keeping
    def keep(self, call: Call, plan: Plan, context: CallContext, lifetime: float) -> None:
        """Remember the call's success if its tool allows that, and let those who wait have it."""
        outcome = call.outcome
        if outcome is None:
            return
        own = call.degraded is None or call.degraded == "RETRY_ONLY"
        if own and outcome.status == "success":
            self._store(call, outcome, plan, context, lifetime)
        self.land(call, outcome if own and outcome.status != "cancelled" else None)

    def _store(self, call: Call, outcome: Outcome, plan: Plan, context: CallContext, lifetime: float) -> None:
        if not plan.reusable:
            lifetime = 0.0  # only to stand in when the tool fails
        elif plan.lifetime is not None:
            lifetime = plan.lifetime
        pure = plan.definition.pure
        entry = Entry(
            outcome=outcome,
            scope=None if pure else context.write_scope,
            generation=0 if pure else call.generation,
            size=outcome.bytes_held + ENTRY_OVERHEAD_BYTES,
            expires=self._clock() + lifetime,
            lifetime=lifetime,
            stored_at=time.time(),
            call_id=call.id,
        )
        if self._cache is not None:
            self._cache.put(call.key, entry)
        if self._history is not None and context.conversation is not None and lifetime > 0:
            self._history.put((context.conversation, call.key), entry)

    # ------------------------------------------------------------ forgetting
    def wrote(self, scope: Hashable) -> None:
        """Something was written there: what was read before is never served again."""
        self._generations.advance(scope)
        for cache in (self._cache, self._history):
            if cache is not None:
                cache.drop_scope(scope)

    def clear(self) -> None:
        """Forget every result."""
        for cache in (self._cache, self._history):
            if cache is not None:
                cache.clear()
