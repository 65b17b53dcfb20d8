"""What the instance tells a Prometheus server, as text."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlalchemy import func, select

from .. import sandbox
from ..meters import SECONDS
from ..models import GOING_ON, Run
from ..stores.retention import used_bytes
from ..tools.pool import shared_pool
from .runtime import Runtime

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Of the meters, by name: what each counts.
HELP = {
    "runs_ended": "Runs that ended, by status and reason.",
    "steps": "Steps that were finished.",
    "tool_calls": "Tool calls that ended, by tool and outcome; the tool is other for a name that there is not.",
    "tokens": "Tokens that providers reported, by kind.",
    "lease_takeovers": "Runs that were taken up after another worker had left them.",
    "leases_lost": "Runs that this process had to give up to another worker.",
    "commits": "Transactions of the run writer.",
    "events": "Events that were committed.",
    "events_untold": "Committed events that could not be published to viewers.",
    "storage_retries": "Attempts to write that the database refused and that were repeated.",
    "storage_kept": "Records that went to the fallback log.",
    "event_lag": "Seconds from recording something to telling viewers.",
}

Sample = tuple[dict[str, str], float]


def text(runtime: Runtime) -> str:
    """Every metric in the text format of Prometheus."""
    lines: list[str] = []
    for name, (help_, samples) in _gauges(runtime).items():
        lines += _family(name, "gauge", help_, samples)
    counts = runtime.meters.counts()
    for name in dict.fromkeys(key for key, _ in counts):
        samples = [(dict(labels), value) for (key, labels), value in counts.items() if key == name]
        lines += _family(f"{name}_total", "counter", HELP[name], samples)
    for name, (slots, total) in runtime.meters.times().items():
        lines += _histogram(f"{name}_seconds", HELP[name], slots, total)
    return "\n".join(lines) + "\n"


def _gauges(runtime: Runtime) -> dict[str, tuple[str, list[Sample]]]:
    ready = runtime.readiness()
    queue, waiting = ready.get("queue", {}), ready.get("database", {}).get("records_waiting", 0)
    return {
        "runs": ("Runs that wait or go on, by kind and status.", _runs(runtime)),
        "queue_waiting": ("Runs that wait for a thread.", [({}, queue.get("waiting", 0))]),
        "queue_running": ("Runs that are executed now.", [({}, queue.get("running", 0))]),
        "queue_threads": ("Threads that execute runs.", [({}, queue.get("threads", 0))]),
        "viewers": ("Open event streams of runs.", [({}, runtime.events.viewers())]),
        "fallback_records": ("Records that wait for the database in the fallback log.", [({}, waiting)]),
        "tool_threads": ("Threads that run tools.", [({}, shared_pool.threads)]),
        "tool_threads_abandoned": ("Threads held by tools that were given up.", [({}, shared_pool.abandoned)]),
        "sandbox_wall": (
            "1 for each wall of the sandbox that stands.",
            [({"wall": name}, float(state == "on")) for name, state in sandbox.walls().items()],
        ),
        "database_bytes": ("Bytes that the database uses.", [({}, used_bytes(runtime.db))]),
        "resident_memory_bytes": ("Memory of this process.", [({}, size) for size in _resident()]),
    }


def _runs(runtime: Runtime) -> list[Sample]:
    """Those that have ended are counted as they end: to count their rows anew would cost more with every run."""
    active = Run.status.in_(GOING_ON)
    query = select(Run.kind, Run.status, func.count()).where(active).group_by(Run.kind, Run.status)
    with runtime.db.read() as session:
        return [({"kind": kind, "status": status}, count) for kind, status, count in session.execute(query)]


def _resident() -> Iterator[float]:
    """Linux tells it in pages; elsewhere it is left out."""
    try:
        yield int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return


def _family(name: str, kind: str, help_: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP nanoclaw_{name} {help_}"
    yield f"# TYPE nanoclaw_{name} {kind}"
    for labels, value in samples:
        yield f"nanoclaw_{name}{_labels(labels)} {value:.10g}"


def _histogram(name: str, help_: str, slots: list[int], total: float) -> Iterator[str]:
    yield f"# HELP nanoclaw_{name} {help_}"
    yield f"# TYPE nanoclaw_{name} histogram"
    count = 0
    for bound, here in zip((*map(str, SECONDS), "+Inf"), slots, strict=True):
        count += here
        yield f'nanoclaw_{name}_bucket{{le="{bound}"}} {count}'
    yield f"nanoclaw_{name}_sum {total:.10g}"
    yield f"nanoclaw_{name}_count {count}"


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
