"""`run.py bench [NAME]`: lists the benchmarks, or runs one of them."""

import importlib
import sys

BENCHES = {
    "dispatch": "tool dispatch in process: microseconds a call, parallel tools, cache, single flight",
    "durability": "the writer under 1, 20, 100 runs; a conversation of 10,000 messages; 200 viewers of 200 runs; upkeep of 200,000 events",
    "sandbox": "execute_python: cold, warm, with numpy, many at once",
    "web": "the web app in a browser: streams, long conversations, first load, traces against their goals",
    "serve": "start to ready, and from the model server's first byte to the client's first event",
}


def main(name: str | None, rest: list[str]) -> int:
    """Run one benchmark; without a name, list them."""
    if name not in BENCHES:
        sys.stdout.write("usage: run.py bench NAME\n\n")
        for known, what in BENCHES.items():
            sys.stdout.write(f"  {known:10} {what}\n")
        sys.stdout.write("\nBeside other agent frameworks: see bench/README.md\n")
        return 0 if name is None else 2
    module = importlib.import_module(f"bench.{name}")
    sys.argv = [f"bench {name}", *rest]
    return int(module.main() or 0)
