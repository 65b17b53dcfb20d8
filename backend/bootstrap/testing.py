"""`run.py test`: every check that the project has, in one command, the same for people and for CI."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import browser, environment, frontend
from .report import SetupError, say, step

ROOT = environment.ROOT
WORKERS = "4"


def test(args: Sequence[str]) -> int:
    """Run the tests; with pytest's own arguments, only pytest. The exit status."""
    full = "--full" in args
    chosen = [a for a in args if a != "--full"]
    if not environment.PYTHON.exists():
        say("Setting up for the tests. This happens once and takes a few minutes.")
    environment.ensure(environment.TEST_FILES)
    env = _browser(chosen)
    if not frontend.up_to_date():
        with step("Building the web app"):
            frontend.build()
    failed = [] if chosen else _checks()
    started = time.monotonic()
    say("  pytest")
    if _run([_tool("python"), "-m", "pytest", *_pytest(chosen, full)], ROOT, env):
        failed.append("pytest")
    if failed:
        say(f"\nFailed: {', '.join(failed)} ({time.monotonic() - started:.0f} s)")
        return 1
    say("\nEverything passed.")
    return 0


def _checks() -> list[str]:
    """Style, types, imports, and the web app's own tests; the names of those that failed."""
    npm = frontend.find_npm()
    frontend.install_modules(npm)
    checks: list[tuple[str, list[str], Path]] = [
        ("ruff check", [_tool("ruff"), "check", "."], ROOT),
        ("ruff format", [_tool("ruff"), "format", "--check", "-q", "."], ROOT),
        ("mypy", [_tool("mypy")], ROOT),
        ("import contracts", [_tool("lint-imports")], ROOT),
        ("web app: types", [*npm.argv, "run", "-s", "typecheck"], frontend.FOLDER),
        ("web app: tests", [*npm.argv, "test", "-s"], frontend.FOLDER),
    ]
    failed = []
    for name, argv, folder in checks:
        say(f"  {name}")
        if _run(argv, folder, {"PATH": npm.path, "NO_COLOR": "1"}):
            failed.append(name)
    return failed


def _browser(chosen: Sequence[str]) -> Mapping[str, str]:
    path = browser.ensure()
    if path is None and os.environ.get("CI") and not chosen:
        raise SetupError("There is no browser for the browser tests.", "apt-get install chromium")
    return {browser.VARIABLE: path} if path else {}


def _pytest(chosen: Sequence[str], full: bool) -> list[str]:
    args = list(chosen)
    if not any(a.startswith(("-n", "-p", "--pdb")) for a in args):
        # In the order of tests/conftest.py, not by the number of tests: the slowest files have few.
        args += ["-n", WORKERS, "--dist", "loadfile", "--no-loadscope-reorder"]
    return args + (["--full", "--timeout", "1800"] if full else [])


def _tool(name: str) -> str:
    return str(environment.PYTHON.parent / (name + (".exe" if os.name == "nt" else "")))


def _run(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> int:
    sys.stderr.flush()
    return subprocess.run(list(argv), cwd=folder, env={**os.environ, **env}, check=False).returncode  # noqa: S603
