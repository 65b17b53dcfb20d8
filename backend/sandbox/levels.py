"""Which walls are required, which stand, and whether the sandbox is on."""

import os
import sys
import threading
from collections.abc import Mapping

VARIABLE = "NANOCLAW_SANDBOX"
LEVELS = ("strict", "kernel", "policy", "off")
_KERNEL = ("process", "rlimits", "seccomp")
_FOLDERS = ("landlock", "empty_root")

_lock = threading.Lock()
_required: str | None = None
_switched_off: str | None = None


def requirement() -> str:
    """`strict`, `kernel`, `policy` or `off`: what was set, else the environment, else the platform's default."""
    if _required is not None:
        return _required
    given = os.environ.get(VARIABLE, "").strip().lower()
    if given:
        return given if given in LEVELS else "strict"  # a typing error must not open anything
    return "strict" if sys.platform.startswith("linux") else "off"


def set_requirement(level: str | None) -> None:
    """Set the level; None goes back to the environment. ValueError for a level that does not exist."""
    global _required
    if level is not None and level not in LEVELS:
        raise ValueError(f"{VARIABLE}: {level!r} is none of {', '.join(LEVELS)}")
    with _lock:
        _required = level


def missing(walls: Mapping[str, str], level: str) -> str | None:
    """Why these walls are not enough for this level, or None."""
    if level == "off":
        return f"Running code is switched off ({VARIABLE}=off)."
    if not sys.platform.startswith("linux"):
        return "Running code needs Linux: run the server in a Linux container or virtual machine."
    if level == "policy":
        return None
    fallen = [f"{name} is {walls.get(name, 'off')}" for name in _KERNEL if walls.get(name) != "on"]
    if level == "strict" and all(walls.get(name) != "on" for name in _FOLDERS):
        fallen += [f"{name} is {walls.get(name, 'off')}" for name in _FOLDERS]
    if not fallen:
        return None
    return f"This machine lacks what {VARIABLE}={level} requires: {'; '.join(fallen)}."


def switch_off(reason: str | None) -> None:
    """Turn the sandbox off with a reason (an escape worked), or on again with None."""
    global _switched_off
    with _lock:
        _switched_off = reason


def switched_off() -> str | None:
    """The reason why it was switched off, or None."""
    return _switched_off
