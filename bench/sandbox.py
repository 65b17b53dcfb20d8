"""How long the code sandbox takes from the call to the result, cold and warm, alone and together, and what it holds."""

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from backend.sandbox.pool import Pool, SandboxRequest, has_heavy_modules

PLAIN = "1 + 1"
NUMPY = "import numpy as np\nint(np.arange(3).sum())"
PANDAS = "import pandas as pd\nlen(pd.DataFrame({'a': [1, 2]}))"
PAUSE_SECONDS = 0.02  # between two calls of a person or a model; lets the spare child be made


def _milliseconds(act: Callable[[], Any]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def _summary(times: list[float]) -> dict[str, float]:
    times = sorted(times)
    return {
        "least": round(times[0], 2),
        "p50": round(statistics.median(times), 2),
        "p95": round(times[int(len(times) * 0.95)], 2),
        "max": round(times[-1], 2),
    }


def _call(pool: Pool, code: str) -> None:
    result = pool.run(SandboxRequest(code))
    assert result["error"] is None, result["error"]


def cold(rounds: int) -> dict[str, float]:
    """A new helper for every call: start to first result."""
    times = []
    for _ in range(rounds):
        pool = Pool()
        times.append(_milliseconds(lambda: _call(pool, PLAIN)))  # noqa: B023
        pool.close()
    return _summary(times)


def warm(pool: Pool, code: str, rounds: int, pause: float = 0.0) -> dict[str, float]:
    """One call after the other, with or without a pause between them."""
    _call(pool, code)
    times = []
    for _ in range(rounds):
        time.sleep(pause)
        times.append(_milliseconds(lambda: _call(pool, code)))
    return _summary(times)


def together(pool: Pool, threads: int, calls: int) -> dict[str, float]:
    """Many callers at once: milliseconds for all of them, and each one's own wait."""
    with ThreadPoolExecutor(threads) as executor:
        started = time.perf_counter()
        each = list(executor.map(lambda _: _milliseconds(lambda: _call(pool, PLAIN)), range(calls)))
        total = (time.perf_counter() - started) * 1000
    return {"all": round(total, 1), **_summary(each)}


def memory(pool: Pool) -> list[dict[str, Any]]:
    """Proportional and resident MiB of every idle process of the pool."""
    import psutil

    found = []
    for pid in pool.pids():
        for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            try:
                info = process.memory_full_info()
            except psutil.NoSuchProcess:  # the last run's child, just being reaped
                continue
            found.append({"pss": round(info.pss / 2**20, 1), "rss": round(info.rss / 2**20, 1)})
    return found


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    results: dict[str, Any] = {"python": platform.python_version(), "cold_ms": cold(5)}
    pool = Pool()
    results["plain_ms"] = warm(pool, PLAIN, given.rounds, PAUSE_SECONDS)
    results["plain_in_a_row_ms"] = warm(pool, PLAIN, given.rounds)
    results["8_at_once_ms"] = together(pool, 8, 80)
    results["100_at_once_ms"] = together(pool, 100, 100)
    results["idle_light_mib"] = memory(pool)
    if has_heavy_modules():
        results["first_numpy_ms"] = round(_milliseconds(lambda: _call(pool, NUMPY)), 1)
        results["numpy_ms"] = warm(pool, NUMPY, given.rounds, PAUSE_SECONDS)
        results["pandas_ms"] = warm(pool, PANDAS, given.rounds, PAUSE_SECONDS)
        results["idle_both_mib"] = memory(pool)
    pool.close()
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
