"""The commands of `run.py`, in their own environment: serve, chat, eval, link, backup, restore, bench."""

import argparse
import logging
import os
import signal
import socket
import sys
import threading
import time
import urllib.request
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sqlalchemy.exc import DatabaseError

from . import settings as settings_module
from .errors import InvalidInput, NanoClawError
from .services.instance import InstanceLock
from .settings import Settings

if TYPE_CHECKING:
    from .serving import Started

TRIED_PORTS = 50
READY_SECONDS = 30.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def main(argv: list[str]) -> int:
    """Run one command; the exit status."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        return int(options.run(options))
    except NanoClawError as error:
        say(error.message + (f"\nWhat to do: {error.suggestion}" if error.suggestion else ""))
        return 1
    except DatabaseError as error:
        say(
            f"The database cannot be used: {error.orig}.\nWhat to do: put back a copy, the newest of backups/ for example."
        )
        return 1
    except KeyboardInterrupt:
        return 130


def say(text: str) -> None:
    """A line for people, on standard error."""
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run.py")
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int)
    serve.add_argument("--no-browser", action="store_true")
    serve.set_defaults(run=_serve)
    chat = commands.add_parser("chat")
    chat.add_argument("question")
    chat.add_argument("--project")
    chat.add_argument("--model")
    chat.set_defaults(run=_chat)
    evaluation = commands.add_parser("eval")
    evaluation.add_argument("file", type=Path)
    evaluation.add_argument("--project")
    evaluation.add_argument("--model")
    evaluation.add_argument("--report", type=Path)
    evaluation.set_defaults(run=_eval)
    link = commands.add_parser("link")
    link.set_defaults(run=_link)
    backup = commands.add_parser("backup")
    backup.add_argument("file", type=Path)
    backup.add_argument("--with-keys", action="store_true")
    backup.set_defaults(run=_backup)
    restore = commands.add_parser("restore")
    restore.add_argument("file", type=Path)
    restore.set_defaults(run=_restore)
    bench = commands.add_parser("bench")
    bench.add_argument("name", nargs="?")
    bench.add_argument("rest", nargs=argparse.REMAINDER)
    bench.set_defaults(run=_bench)
    return parser


# ---------------------------------------------------------------- serve
def _serve(options: argparse.Namespace) -> int:
    settings = settings_module.load(os.environ, host=options.host)
    if settings.host not in LOOPBACK and not settings.public_url:
        raise InvalidInput(
            f"Listening on {settings.host} reaches beyond this machine.",
            suggestion="Set NANOCLAW_PUBLIC_URL to the address people will use (see docs/deploy.md), or leave --host out.",
        )
    from .app import prepare, starter
    from .services import instance as instance_folder

    settings = instance_folder.prepare(settings)
    lock = InstanceLock(settings.instance)
    if not lock.take():
        return _open_running(settings, lock, options)
    settings = prepare(replace(settings, port=_port(settings.host, options.port)))
    url = f"http://{_shown(settings.host)}:{settings.port}"
    lock.say(url=url, pid=os.getpid())
    code = _login_code(settings)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    build_here = starter(settings)

    def start() -> "Started":
        """In the serving process: a thread that ran before the fork could leave a lock held for ever in there."""
        started = build_here()
        welcome = (settings, f"{url}/auth/{code}", not options.no_browser)
        threading.Thread(target=_welcome, args=welcome, daemon=True).start()
        return started

    from .serving import serve

    try:
        serve(settings, start)
    except SystemExit as end:  # how gunicorn's two processes end
        _leave(int(end.code or 0))
    return 0


def _leave(status: int) -> NoReturn:
    """End this process, where everything is closed already: taking the interpreter apart costs seconds on a busy machine."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _port(host: str, asked: int | None) -> int:
    if asked is not None:
        if not _free(host, asked):
            raise InvalidInput(
                f"Port {asked} is in use by another program.",
                suggestion=f"Choose another (--port {asked + 1}), or end that program.",
            )
        return asked
    for port in range(8000, 8000 + TRIED_PORTS):
        if _free(host, port):
            if port != 8000:
                say(f"Port 8000 is in use by another program; taking {port}.")
            return port
    raise InvalidInput("No free port from 8000 to 8049.", suggestion="Name one with --port.")


def _free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError as fault:
            raise InvalidInput(
                f"Port {port} may not be opened by this user.", suggestion="Choose a port above 1023."
            ) from fault
        except OverflowError as fault:
            raise InvalidInput(f"{port} is not a port.", suggestion="Choose one from 1024 to 65535.") from fault
        except OSError:
            return False
    return True


def _welcome(settings: Settings, link: str, browser: bool) -> None:
    """Once the server answers: print the sign-in link, and open it."""
    if not _wait_ready(settings):
        say("The server does not answer. Its messages above say why.")
        return
    say(f"\nNanoClaw is ready. Open this link (good once, for 10 minutes):\n\n  {link}\n\nCtrl-C stops it.")
    if browser and _has_screen():
        webbrowser.open(link)


def _wait_ready(settings: Settings) -> bool:
    url = f"http://{_shown(settings.host)}:{settings.port}"
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if _answers(url):
            return True
        time.sleep(0.02)
    return False


def _answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/healthz", timeout=1):
            return True
    except OSError:
        return False


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - an address to show, not to bind
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _open_running(settings: Settings, lock: InstanceLock, options: argparse.Namespace) -> int:
    url = str(lock.read().get("url") or "")
    if not url:
        raise InvalidInput("Another NanoClaw is starting in this instance folder.", suggestion="Wait a moment.")
    link = f"{url}/auth/{_login_code(settings)}"
    say(f"NanoClaw runs already. Open this link (good once, for 10 minutes):\n\n  {link}")
    if not options.no_browser and _has_screen():
        webbrowser.open(link)
    return 0


# ---------------------------------------------------------------- link
def _link(_options: argparse.Namespace) -> int:
    from .services import instance as instance_folder

    settings = instance_folder.prepare(settings_module.load(os.environ))
    url = str(InstanceLock(settings.instance).read().get("url") or "")
    if not url or not (settings.instance / "nanoclaw.db").exists():
        raise InvalidInput("NanoClaw has not been started here yet.", suggestion="Start it: python3 run.py")
    print(f"{url}/auth/{_login_code(settings)}")
    if not _answers(url):
        say("NanoClaw is not running there: start it first (python3 run.py), which prints a link of its own.")
    return 0


def _login_code(settings: Settings) -> str:
    from .extensions import Database
    from .services.auth import make_login_code

    database = Database()
    database.open(settings.database)
    try:
        return make_login_code(database)
    finally:
        database.close()


# ---------------------------------------------------------------- backup, restore
def _backup(options: argparse.Namespace) -> int:
    from .services.backup import back_up

    report = back_up(settings_module.load(os.environ), options.file, options.with_keys)
    for left_out in report.left_out:
        say(f"Left out: {left_out}")
    keys = "with the keys: guard it" if options.with_keys else "without keys (--with-keys puts them in)"
    say(f"{options.file}: {report.files} files, {report.size / 1e6:.1f} MB before compression, {keys}.")
    return 0


def _restore(options: argparse.Namespace) -> int:
    from .services.backup import restore

    done = restore(settings_module.load(os.environ), options.file)
    say(f"Restored {done['files']} files of {done['made_at']}. What was there before lies in {done['kept_in']}.")
    if not done["with_keys"]:
        say("The backup holds no keys: enter those of your model providers anew.")
    return 0


# ---------------------------------------------------------------- chat, eval, bench
def _chat(options: argparse.Namespace) -> int:
    from .terminal.chat import chat

    return chat(settings_module.load(os.environ), options.question, options.project, options.model)


def _eval(options: argparse.Namespace) -> int:
    from .terminal.evaluating import EvalOptions, run_file

    wanted = EvalOptions(options.file, options.project, options.model, options.report)
    return run_file(settings_module.load(os.environ), wanted)


def _bench(options: argparse.Namespace) -> int:
    from bench.main import main as bench

    return bench(options.name, options.rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
