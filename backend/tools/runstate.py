"""What the executor remembers of one run: ids in use, calls that repeat, paths tried outside the project."""

import posixpath
import threading
import uuid
from collections import OrderedDict
from collections.abc import Hashable, Iterable

MAX_RUNS_REMEMBERED = 4096
REPEATS_TOLD = 3  # the third equal call is answered with a hint
REPEATS_REFUSED = 4  # the fourth is not run
VIOLATIONS_ESCALATED = 3


class RunState:
    """One run; used by that run's thread only."""

    __slots__ = ("_calls", "_ids", "_violations")

    def __init__(self, used_ids: Iterable[str] = ()) -> None:
        self._ids = dict.fromkeys(used_ids, 1) if used_ids else {}  # how often each was asked for
        self._calls: dict[Hashable, int] = {}
        self._violations: dict[str, int] = {}

    def unique_id(self, wanted: str) -> str:
        """`wanted` if it is new in this run, else with a suffix; a made-up id for an empty one."""
        ids = self._ids
        if not wanted:
            wanted = f"call_{uuid.uuid4().hex[:12]}"
        if wanted not in ids:
            ids[wanted] = 1
            return wanted
        while True:
            ids[wanted] += 1
            chosen = f"{wanted}_{ids[wanted]}"
            if chosen not in ids:
                ids[chosen] = 1
                return chosen

    def count_call(self, key: Hashable) -> int:
        """How many times this call was asked for since the last write, this time included."""
        count = self._calls.get(key, 0) + 1
        self._calls[key] = count
        return count

    def wrote(self, key: Hashable) -> None:
        """A write happened: reads may give something new. The write's own count goes on."""
        self._calls = {key: self._calls.get(key, 0)}

    def count_violation(self, target: str) -> int:
        """How many times this run tried this target outside the project, this time included."""
        name = posixpath.normpath(target.replace("\\", "/"))
        count = self._violations.get(name, 0) + 1
        self._violations[name] = count
        return count


class RunStates:
    """The states of the latest runs, by run id; calls without a run share nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: OrderedDict[str, RunState] = OrderedDict()

    def of(self, run_id: str | None, used_ids: Iterable[str] = ()) -> RunState:
        """The state of that run, a new one if it was not seen lately (`used_ids` are taken already)."""
        if run_id is None:
            return RunState(used_ids)
        with self._lock:
            state = self._states.get(run_id)
            if state is None:
                state = self._states[run_id] = RunState(used_ids)
                if len(self._states) > MAX_RUNS_REMEMBERED:
                    self._states.popitem(last=False)
            else:
                self._states.move_to_end(run_id)
            return state

    def forget(self, run_id: str) -> None:
        """That run has ended."""
        with self._lock:
            self._states.pop(run_id, None)
