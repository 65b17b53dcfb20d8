"""Viewers that keep every byte they were sent, over as many connections as it takes."""

import contextlib
import threading
from dataclasses import dataclass, field

import requests
from support.server import TOKEN

PAUSE_SECONDS = 0.05
READ_SECONDS = 15.0


@dataclass
class Seen:
    """The frames of one run that one viewer got: `(id, event, data)` as text, in the order they came.

    What came again with the same bytes is counted once.
    """

    run_id: str
    frames: list[tuple[int, str, str]] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    ended: threading.Event = field(default_factory=threading.Event)


class Viewer:
    """Watches one run until its end; `again` starts from the beginning at each connection, else after its last event."""

    def __init__(self, url: str, run_id: str, *, again: bool = False) -> None:
        self.seen = Seen(run_id)
        self._url = f"{url}/api/runs/{run_id}/events"
        self._again = again
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave."""
        self._stop.set()
        self._thread.join(READ_SECONDS + 5)

    def _watch(self) -> None:
        with requests.Session() as session:
            session.trust_env = False
            session.headers["Authorization"] = f"Bearer {TOKEN}"
            while not self._stop.is_set() and not self.seen.ended.is_set():
                with contextlib.suppress(requests.RequestException, ConnectionError):  # the server is killed: expected
                    self._read(session)
                self._stop.wait(PAUSE_SECONDS)

    def _read(self, session: requests.Session) -> None:
        after = 0 if self._again or not self.seen.frames else self.seen.frames[-1][0]
        with session.get(self._url, params={"after": after}, stream=True, timeout=READ_SECONDS) as response:
            if response.status_code == 204:
                self.seen.ended.set()
            if response.status_code != 200:
                return
            lines: list[str] = []
            for raw in response.iter_lines(chunk_size=None):
                if raw:
                    lines.append(raw.decode())
                    continue
                self._keep(lines)
                lines = []
                if self._stop.is_set() or self.seen.ended.is_set():
                    return

    def _keep(self, lines: list[str]) -> None:
        fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":") and ": " in line)
        if "data" not in fields:
            return
        frame = (int(fields["id"]), fields["event"], fields["data"])
        if hash(frame) not in self.seen.known:
            self.seen.known.add(hash(frame))
            self.seen.frames.append(frame)
        if fields["event"] == "run.finished":
            self.seen.ended.set()
