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
    """Best microseconds a call: by the clock, and of the processor (which other processes disturb less)."""
    walls, cpus = [], []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        for number in range(n):
            work(number)
        walls.append((time.perf_counter() - wall) / n * 1e6)
        cpus.append((time.process_time() - cpu) / n * 1e6)
    return min(walls), min(cpus)


def distinct(n: int) -> list[dict[str, Any]]:
    return [request("noop", json.dumps({"text": "hello", "count": k, "flag": True})) for k in range(n)]


def measure(n: int, rounds: int) -> list[tuple[str, float, float]]:
    """Name, wall and processor microseconds a call."""
    plain = ToolExecutor(registry(), enable_cache=False, dedup_history=False)
    cached = ToolExecutor(registry())
    same, hop, calls = request("noop"), request("hop"), distinct(n)
    context = {"run_id": "bench", "conversation_id": "c", "project_id": "p", "user_id": "u"}
    batch = calls[:16]
    works: list[tuple[str, Callable[[int], Any], int, int]] = [
        ("for scale: json.loads of the arguments alone", lambda k: json.loads(ARGUMENTS), n, 1),
        ("inline, validated, recorded", lambda k: plain.process_tool_calls([same]), n, 1),
        ("inline, one of a batch of 16, with key", lambda k: plain.process_tool_calls_parallel(batch), n // 16, 16),
        ("inline, key, cache, history, run state; all misses", lambda k: fresh(cached, calls[k], context, k), n, 1),
        ("inline, cache hit", lambda k: cached.process_tool_calls([same]), n, 1),
        ("on a thread, validated, recorded", lambda k: plain.process_tool_calls([hop]), n // 10, 1),
    ]
    rows = []
    for name, work, times, calls_each in works:
        wall, cpu = per_call(work, times, rounds)
        rows.append((name, wall / calls_each, cpu / calls_each))
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
    print(f"Python {platform.python_version()}, best of {options.rounds} rounds of {options.n:,} calls\n")
    print(f"{'µs a call':60} {'clock':>8} {'cpu':>8}")
    for name, wall, cpu in measure(options.n, options.rounds):
        print(f"{name:60} {wall:8.1f} {cpu:8.1f}")
    print(f"\n{'ms':60} {'best':>8} {'median':>8}")
    best, median = parallel(options.rounds)
    print(f"{'16 calls of 100 ms at once':60} {best:8.1f} {median:8.1f}")
    took, runs = single_flight()
    print(f"{'32 threads, one call of 100 ms (runs: ' + str(runs) + ')':60} {took:8.1f}")


if __name__ == "__main__":
    main()
