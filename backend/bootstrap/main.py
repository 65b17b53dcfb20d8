"""From `python3 run.py …` to the program in its own environment: set up what is missing, then hand over."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable

from . import environment, frontend
from .handover import without_secrets
from .report import SetupError, say, step

HELP = """usage: python3 run.py [command] [options]

  serve (default)       start NanoClaw on http://127.0.0.1:8000   --host --port --no-browser
  test [PYTEST ARGS]    run every test; --full adds the long ones
  chat "QUESTION"       one agent turn in the terminal            --project NAME --model NAME
  eval FILE.jsonl       run every prompt of a file and report    --project NAME --model NAME --report FILE
  link                  print a new sign-in link
  backup FILE           the whole instance in one file          --with-keys
  restore FILE          put a backup in its place; the server must be stopped
  bench [NAME]          measure
  help                  this text

The first start sets everything up (about a minute); later ones take about a second.
Settings: environment variables or instance/nanoclaw.env, see docs/deploy.md.
"""
NEEDS_PAGE = ("serve",)
COMMANDS = ("serve", "test", "chat", "eval", "link", "backup", "restore", "bench")


def main(argv: list[str]) -> int:
    """Run one command; the exit status."""
    if argv and argv[0] in ("help", "--help", "-h"):
        sys.stdout.write(HELP)
        return 0
    command, rest = ("serve", argv) if not argv or argv[0].startswith("-") else (argv[0], argv[1:])
    if command not in COMMANDS:
        say(f"There is no command {command!r}.\n\n{HELP}")
        return 2
    try:
        if command == "test":
            from .testing import test

            return test(rest)
        _set_up(command)
        return _hand_over(command, rest)
    except SetupError as fault:
        say(f"\n{fault.what}\n\nWhat to do: {fault.remedy}")
        return 1
    except KeyboardInterrupt:
        say("\nStopped.")
        return 130


def _set_up(command: str) -> None:
    page = command in NEEDS_PAGE and not frontend.up_to_date()
    if page and not environment.PYTHON.exists():
        say("Setting NanoClaw up. This happens once and takes about a minute.")
    build = _InBackground(_build_page) if page else None
    environment.ensure(environment.RUN_FILES)
    if build is not None:
        build.wait()


def _build_page() -> None:
    """A page that cannot be built is no reason not to start: the server says how to get one."""
    try:
        with step("Building the web app"):
            frontend.build()
    except SetupError as fault:
        say(f"\n{fault.what}\n\nThe server starts without the web app. What to do: {fault.remedy}\n")


class _InBackground:
    """Builds the page beside pip; without a Node on the machine it has to wait for pip, which brings one."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._thread: threading.Thread | None = None
        if environment.PYTHON.exists() or _has_npm():
            self._thread = threading.Thread(target=work, daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Until the page is built or has failed."""
        if self._thread is None:
            self._work()
        else:
            self._thread.join()


def _has_npm() -> bool:
    import shutil

    return shutil.which("npm") is not None


def _hand_over(command: str, rest: list[str]) -> int:
    argv = [str(environment.PYTHON), "-m", "backend.cli", command, *rest]
    path = os.pathsep.join(p for p in (str(environment.ROOT), os.environ.get("PYTHONPATH", "")) if p)
    env = {**os.environ, "PYTHONPATH": path}
    if os.name != "nt":
        os.execve(argv[0], argv, without_secrets(env))  # noqa: S606 - the same process, the same signals
    return subprocess.run(argv, env=env, check=False).returncode  # noqa: S603
