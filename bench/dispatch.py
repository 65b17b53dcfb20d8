"""How long the executor takes for what is not the tool: one dispatched call, sixteen at once, the cache, one flight."""

import argparse
import json
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from backend.tools import ToolExecutor, ToolRegistry
from backend.tools.factory import define

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer", "minimum": 0},
        "flag": {"type": "boolean"},
    },
    "required": ["text", "count", "flag"],
}
ARGUMENTS = json.dumps({"text": "hello world", "count": 3, "flag": True})
NAP_SECONDS = 0.1
FLIGHT_THREADS = 32
AIMS = {"validated": 6.0, "keyed": 15.0, "parallel": 104.0}


def request(name: str, arguments: str = ARGUMENTS, id_: str = "call_1") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def registry() -> ToolRegistry:
    def nap(arguments: dict[str, Any]) -> str:
        time.sleep(NAP_SECONDS)
        return "ok"

    return ToolRegistry(
        [
            define("noop", "Does nothing.", SCHEMA, lambda arguments: "ok", read_only=True, inline=True),
            define("hop", "Does nothing, on a thread.", SCHEMA, lambda arguments: "ok", read_only=True),
            define("nap", "Sleeps 100 ms.", SCHEMA, nap, read_only=True),
        ]
    )


def per_call(work: Callable[[int], Any], n: int, rounds: int) -> tuple[float, float]:
    """Best and median microseconds a call."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for number in range(n):
            work(number)
        times.append((time.perf_counter() - began) / n * 1e6)
    return min(times), statistics.median(times)


def distinct(n: int) -> list[dict[str, Any]]:
    return [request("noop", json.dumps({"text": "hello", "count": k, "flag": True})) for k in range(n)]


def measure(n: int, rounds: int) -> list[tuple[str, float, float, str]]:
    plain = ToolExecutor(registry(), enable_cache=False, dedup_history=False)
    cached = ToolExecutor(registry())
    same, hop, calls = request("noop"), request("hop"), distinct(n)
    context = {"run_id": "bench", "conversation_id": "c", "project_id": "p", "user_id": "u"}
    rows = []

    def add(name: str, work: Callable[[int], Any], times: int, unit: str = "µs") -> None:
        best, median = per_call(work, times, rounds)
        rows.append((name, best, median, unit))

    add("inline, validated, recorded", lambda k: plain.process_tool_calls([same]), n)
    add("inline, the same as one of a batch of 16", lambda k: plain.process_tool_calls_parallel(calls[:16]), n // 16)
    rows[-1] = (rows[-1][0], rows[-1][1] / 16, rows[-1][2] / 16, "µs")
    add("inline, with key, cache, history, run state (all misses)", lambda k: fresh(cached, calls[k], context, k), n)
    add("inline, cache hit", lambda k: cached.process_tool_calls([same]), n)
    add("on a thread, validated, recorded", lambda k: plain.process_tool_calls([hop]), n // 10)
    return rows


def fresh(executor: ToolExecutor, call: dict[str, Any], context: dict[str, Any], number: int) -> Any:
    """Every call of a round is new; a round begins with an empty memory and a new run."""
    if number == 0:
        executor.clear_history()
        executor.forget_run("bench")
    return executor.process_tool_calls([call], context)


def parallel(rounds: int) -> tuple[float, float]:
    """Milliseconds for 16 calls of 100 ms with the defaults."""
    executor = ToolExecutor(registry(), enable_cache=False, dedup_history=False)
    calls = [request("nap", json.dumps({"text": "x", "count": k, "flag": False}), f"c{k}") for k in range(16)]
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        results = executor.process_tool_calls_parallel(calls)
        times.append((time.perf_counter() - began) * 1e3)
        assert all(result["success"] for result in results)
    return min(times), statistics.median(times)


def single_flight() -> tuple[float, int]:
    """Milliseconds until 32 threads have the answer of one call of 100 ms, and how often it ran."""
    runs = []

    def nap(arguments: dict[str, Any]) -> str:
        runs.append(1)
        time.sleep(NAP_SECONDS)
        return "ok"

    executor = ToolExecutor(ToolRegistry([define("nap", "Sleeps.", SCHEMA, nap, read_only=True)]))
    gate = threading.Barrier(FLIGHT_THREADS + 1)

    def ask() -> None:
        gate.wait()
        assert executor.process_tool_calls([request("nap")])[0]["success"]

    threads = [threading.Thread(target=ask) for _ in range(FLIGHT_THREADS)]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - began) * 1e3, len(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="calls a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {options.rounds} rounds of {options.n:,} calls; best and median\n")
    for name, best, median, unit in measure(options.n, options.rounds):
        print(f"{name:60} {best:8.1f} {median:8.1f} {unit}")
    best, median = parallel(options.rounds)
    print(f"{'16 calls of 100 ms at once':60} {best:8.1f} {median:8.1f} ms")
    took, runs = single_flight()
    print(f"{'32 threads, one call of 100 ms (runs: ' + str(runs) + ')':60} {took:8.1f} {'':8} ms")


if __name__ == "__main__":
    main()
