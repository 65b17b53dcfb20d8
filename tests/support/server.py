"""A real NanoClaw server as a process, on a free port, with an instance folder of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).resolve().parent.parent.parent
TOKEN = "test-admin-token"
READY_SECONDS = 120.0
STOP_SECONDS = 60.0
INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONDONTWRITEBYTECODE")


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """`with Server(folder, **settings) as server:`; `restart` keeps folder and port."""

    def __init__(self, instance: Path, **settings: str) -> None:
        self.instance = instance
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Bearer {TOKEN}"
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Server":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.session.close()

    # ---------------------------------------------------------------- the process
    def environment(self) -> Mapping[str, str]:
        """What the process is given: nothing of ours but what any program gets."""
        mine = {name: os.environ[name] for name in INHERITED if name in os.environ}
        return {
            **mine,
            "PYTHONPATH": str(ROOT),
            "NANOCLAW_INSTANCE": str(self.instance),
            "NANOCLAW_ADMIN_TOKEN": TOKEN,
            "NANOCLAW_PROBE_LOCAL": "0",
            "NANOCLAW_THREADS": "64",
            **self._settings,
        }

    def start(self) -> None:
        """Start and wait until it answers."""
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start, and wait for nothing."""
        argv = [sys.executable, "-m", "backend.cli", "serve", "--no-browser", "--port", str(self.port)]
        self.instance.parent.mkdir(parents=True, exist_ok=True)
        self.log = self.instance.parent / f"{self.instance.name}.log"
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                argv,
                cwd=self.instance.parent,
                env=dict(self.environment()),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_ready(self) -> None:
        """Wait until it answers; fails the test when it ends instead."""
        assert self._process is not None
        deadline, last = time.monotonic() + READY_SECONDS, "nothing"
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                answer = self.session.get(f"{self.url}/healthz", timeout=2)
                if answer.ok:
                    return
                last = f"{answer.status_code} {answer.text[:200]}"
            except (requests.ConnectionError, requests.Timeout) as fault:
                last = type(fault).__name__
            time.sleep(0.02)
        self.kill()
        said = self.log.read_text(errors="replace")[-3000:]
        raise AssertionError(f"the server did not start; the last answer was {last}; it said:\n{said}")

    def stop(self) -> int:
        """SIGTERM; its exit status."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._process = None
        return status

    def wait_end(self) -> int:
        """Wait for the process to end by itself; its exit status."""
        assert self._process is not None
        status = self._process.wait(STOP_SECONDS)
        self._process = None
        return status

    def kill(self) -> None:
        """SIGKILL for the whole group, as a crash of the machine would."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Start again after `stop` or `kill`."""
        self.start()

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None
        return self._process.pid

    def login_link(self) -> str:
        """A fresh sign-in link, as `run.py link` prints it."""
        argv = [sys.executable, "-m", "backend.cli", "link"]
        done = subprocess.run(
            argv,
            cwd=self.instance.parent,
            env=dict(self.environment()),
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        return done.stdout.strip()

    # ---------------------------------------------------------------- the API
    def call(self, method: str, path: str, expect: int | None = None, **kw: Any) -> Any:
        """One request; its JSON. Fails the test when the status is another than expected (any 2xx by default)."""
        response = self.session.request(method, self.url + path, timeout=kw.pop("timeout", 30), **kw)
        good = response.status_code == expect if expect else response.ok
        assert good, f"{method} {path}: {response.status_code} {response.text[:1000]}"
        return response.json() if response.content and "json" in response.headers.get("Content-Type", "") else response

    def get(self, path: str, **kw: Any) -> Any:
        """GET, as JSON."""
        return self.call("GET", path, **kw)

    def post(self, path: str, body: Any = None, **kw: Any) -> Any:
        """POST JSON, as JSON."""
        return self.call("POST", path, json=body if body is not None else {}, **kw)

    def post_file(self, path: str, name: str, content: bytes) -> Any:
        """Upload one file as multipart."""
        return self.call("POST", path, files={"file": (name, content)})

    def events(self, run_id: str, after: int = 0, until: str = "run.finished") -> list[tuple[int, str, dict]]:
        """The events of a run up to and with the first `until`."""
        from support.sse import read_events

        with self.session.get(
            f"{self.url}/api/runs/{run_id}/events", params={"after": after}, stream=True, timeout=60
        ) as response:
            assert response.status_code == 200, response.text
            out = []
            for event in read_events(response):
                out.append(event)
                if event[1] == until:
                    break
            return out

    def wait_run(self, run_id: str) -> dict[str, Any]:
        """Follow a run to its end; the run as the API tells it."""
        self.events(run_id)
        run: dict[str, Any] = self.get(f"/api/runs/{run_id}")
        return run
