"""Running a program of the set-up: its output is kept for the message if it fails."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .report import SetupError

SHOWN_LINES = 15
NETWORK_SIGNS = (
    "temporary failure in name resolution", "name or service not known", "network is unreachable",
    "failed to establish a new connection", "enotfound", "econnrefused", "etimedout", "eai_again",
    "could not find a version that satisfies", "connection timed out", "proxyerror",
)  # fmt: skip


def run(argv: Sequence[str], what: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run to the end and return the output. Raises SetupError with a remedy that fits what the program said."""
    try:
        done = subprocess.run(  # noqa: S603 - our own command lines
            list(argv), cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    except OSError as fault:
        raise SetupError(
            f"{what} failed: {argv[0]} cannot be started ({fault.strerror}).", "Check that it is installed."
        ) from fault
    if done.returncode:
        raise SetupError(f"{what} failed. Its last words:\n{_tail(done.stdout)}", _remedy(done.stdout))
    return done.stdout


def _tail(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-SHOWN_LINES:])


def _remedy(text: str) -> str:
    lower = text.lower()
    if any(sign in lower for sign in NETWORK_SIGNS):
        return (
            "The package registry could not be reached. Check the network; behind a proxy set HTTPS_PROXY, "
            "with a mirror set PIP_INDEX_URL (and `npm config set registry …`). Then start again."
        )
    if "no space left" in lower or "enospc" in lower:
        return "The disk is full: free about 1 GB and start again."
    return "Start again; if it fails in the same way, the lines above say where."
