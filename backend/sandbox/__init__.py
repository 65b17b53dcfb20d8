"""Runs untrusted Python behind kernel walls: a clean helper process forks one walled-in child per execution."""

import os
import threading
from collections.abc import Mapping
from typing import Any

from ..cancel import CancelToken
from ..errors import NanoClawError, SandboxUnavailable
from .levels import missing, requirement, set_requirement, switch_off, switched_off
from .pool import Pool, SandboxRequest, SandboxResult

__all__ = [
    "SandboxRequest",
    "SandboxResult",
    "close",
    "requirement",
    "run",
    "run_code",
    "selftest",
    "set_requirement",
    "start",
    "unavailable",
    "walls",
]

_lock = threading.Lock()
_pool: Pool | None = None


def _the_pool() -> Pool:
    global _pool
    with _lock:
        if _pool is None:
            _pool = Pool()
        return _pool


def _forget_after_fork() -> None:
    """A forked server process must neither use nor hold open the helpers of the one it came from."""
    global _pool, _lock
    _lock = threading.Lock()
    if _pool is not None:
        _pool.abandon()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def start() -> dict[str, str]:
    """Start the helpers now instead of at the first call; gives the walls. SandboxUnavailable if it cannot."""
    if requirement() == "off":
        raise SandboxUnavailable(str(missing({}, "off")))
    return dict(_the_pool().start().walls)


def close() -> None:
    """End the helpers; the next call starts new ones."""
    global _pool
    with _lock:
        pool, _pool = _pool, None
    if pool is not None:
        pool.close()


def walls() -> dict[str, str]:
    """`{name: "on" | "off: why"}` of this machine, the policy included."""
    if requirement() == "off":
        return {"policy": "off: the sandbox is off", "process": "off: the sandbox is off"}
    try:
        return {"policy": "on", **_the_pool().walls()}
    except SandboxUnavailable as error:
        return {"policy": "on", "process": f"off: {error.message}"}


def unavailable() -> str | None:
    """Why no code can run here now, or None."""
    if switched_off() is not None:
        return switched_off()
    level = requirement()
    return missing({}, level) if level == "off" else missing(walls(), level)


def run(request: SandboxRequest, cancelled: CancelToken | None = None) -> SandboxResult:
    """Run code; the result holds API fields, `.contents` the bytes of proposed files.

    Raises SandboxUnavailable (walls missing or switched off), Unavailable (no turn), ToolCancelled.
    """
    reason = unavailable()
    if reason is not None:
        raise SandboxUnavailable(reason)
    pool = _the_pool()
    result = pool.run(request, cancelled)
    pool.prepare()
    return result


def run_code(code: str, files: Mapping[str, bytes] | None = None, policy: bool = True) -> dict[str, Any]:
    """Run code as a library. `policy=False` leaves only the kernel walls, and so asks for them."""
    if not policy:
        reason = missing(walls(), "kernel")
        if reason is not None:
            raise SandboxUnavailable(reason)
    return run(SandboxRequest(code=code, files=dict(files or {}), policy=policy))


def selftest() -> list[str]:
    """Try the built-in escapes; gives what worked. One success switches the sandbox off."""
    from .escapes import try_escapes

    try:
        pool = _the_pool()
        failures = try_escapes(pool)
        pool.prepare()
    except NanoClawError:
        return []  # it does not run at all: unavailable() says why
    if failures:  # for good: a wall that fell once is not trusted again before somebody has looked
        switch_off(f"An escape worked in the self-test ({', '.join(failures)}); running code is off until a restart.")
    return failures
