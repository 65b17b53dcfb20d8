"""Reads the attack files and aims them at canaries; says what an answer gave away."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.sandbox.escapes import Canaries, canaries
from backend.sandbox.inside import limits

CASES = Path(__file__).parent / "cases"  # plain text, so that no formatter rewrites an attack
_PART = re.compile(r"^## (\S+?)(?::.*)?\n\n```python\n(.*?)\n```\n\nIt succeeded if: (\w+)\.", re.S | re.M)
ENVIRONMENT_SECRET = "canary-in-the-environment"
LIMIT_SECONDS = 0.4
SLACK_SECONDS = 3.0
MEMORY_MAX_MB = 1024


@dataclass(frozen=True)
class Attack:
    name: str
    code: str
    harm: str


def attacks() -> list[Attack]:
    """Every attack of every file."""
    found = [Attack(*part) for path in sorted(CASES.glob("*.txt")) for part in _PART.findall(path.read_text("utf-8"))]
    assert len(found) > 300
    return found


@contextmanager
def aimed(attack: Attack, pid: int) -> Iterator[tuple[str, Callable[[dict[str, Any]], str | None]]]:
    """The code with its targets, and a function that names the harm an answer shows, or None."""
    with canaries() as targets:
        places = {
            "FILE": targets.secret_file,
            "DIR": targets.folder,
            "WRITE": targets.written,
            "PORT": targets.port,
            "PID": pid,
            "MINUS": "-" * 40_000,
        }
        code = re.sub(r"@@(\w+)@@", lambda m: str(places[m[1]]), attack.code)
        yield code, lambda answer: _harm(targets, attack, answer)


def _harm(targets: Canaries, attack: Attack, answer: dict[str, Any]) -> str | None:
    text = repr(answer)
    checks = {
        "leak": targets.secret in text or ENVIRONMENT_SECRET in text,
        "dirlist": f"unnamed-{targets.secret}" in text,
        "connect": targets.was_reached(),
        "write": targets.written.exists() or targets.written.is_symlink(),
        "changed": targets.secret_file.read_text() != targets.secret,
        "marker": attack.harm == "marker" and "PWNED" in answer["stdout"] + answer["stderr"] + str(answer["value"]),
        "crossed": "CROSSED" in answer["stdout"],
        "time": answer["wall_seconds"] > LIMIT_SECONDS + SLACK_SECONDS,
        "memory": answer["peak_memory_mb"] > MEMORY_MAX_MB,
        "size": len(answer["stdout"]) > limits.STDOUT_MAX_CHARS or len(text) > 4 * limits.STDOUT_MAX_CHARS,
    }
    return next((name for name, happened in checks.items() if happened), None)
