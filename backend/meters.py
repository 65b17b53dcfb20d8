"""Counters and histograms of this process, since its start; any thread may add."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
OTHER = "other"

Labels = tuple[tuple[str, str], ...]


class Meters:
    """Adding costs under a microsecond; nothing is computed before somebody asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By label: whether a value is one of ours. What a model makes up is counted as OTHER, so that the numbers stay few.
        self.known: dict[str, Callable[[str], bool]] = {}
        self._counts: dict[tuple[str, Labels], float] = {}
        self._times: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count something; labels tell kinds apart."""
        for label, is_known in self.known.items():
            if label in labels and not is_known(labels[label]):
                labels[label] = OTHER
        key = (name, tuple(labels.items()))
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + amount

    def time(self, name: str, seconds: float) -> None:
        """Put a duration into its histogram."""
        with self._lock:
            slots = self._times.setdefault(name, [0] * (len(SECONDS) + 1))
            slots[bisect_left(SECONDS, seconds)] += 1
            self._sums[name] = self._sums.get(name, 0.0) + seconds

    def counts(self) -> Mapping[tuple[str, Labels], float]:
        """Every counter, by name and labels."""
        with self._lock:
            return dict(self._counts)

    def times(self) -> Mapping[str, tuple[list[int], float]]:
        """Every histogram: how many fell into each slot of SECONDS (and beyond), and their sum."""
        with self._lock:
            return {name: (list(slots), self._sums[name]) for name, slots in self._times.items()}
