"""Many streams at little cost: a model server and viewers, each one process with one loop, so that they measure and do not disturb."""

import json
import selectors
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field

TICK_SECONDS = 0.02
SETTLE_SECONDS = 3.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
LAST = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def chunk() -> bytes:
    """A piece of an answer that says when it was sent."""
    delta = {"content": f"@{time.time():.4f}; words "}
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}).encode() + b"\n\n"


def model_server(port: int, seconds: float) -> None:
    """Answers every request with 50 pieces a second for so many seconds; for ever."""
    listening = socket.create_server(("127.0.0.1", port), backlog=1024)
    listening.setblocking(False)
    streams: dict[socket.socket, float] = {}
    asking: dict[socket.socket, bytes] = {}
    tick = time.monotonic()
    while True:
        for sock in _accepted(listening):
            asking[sock] = b""
        for sock in list(asking):
            if _asked(sock, asking):
                del asking[sock]
                sock.send(HEAD)
                streams[sock] = time.monotonic() + seconds
        piece, now = chunk(), time.monotonic()
        for sock, until in list(streams.items()):
            try:
                sock.send(piece if now < until else LAST)
            except OSError:
                until = 0.0
            if now >= until:
                sock.close()
                del streams[sock]
        tick += TICK_SECONDS
        time.sleep(max(0.0, tick - time.monotonic()))


def _accepted(listening: socket.socket) -> list[socket.socket]:
    found = []
    try:
        while True:
            sock, _ = listening.accept()
            sock.setblocking(False)
            found.append(sock)
    except BlockingIOError:
        return found


def _asked(sock: socket.socket, asking: dict[socket.socket, bytes]) -> bool:
    """True once the whole request is there."""
    with suppress(BlockingIOError):
        asking[sock] += sock.recv(1 << 20)
    head, end, body = asking[sock].partition(b"\r\n\r\n")
    if not end:
        return False
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    return len(body) >= length


@dataclass
class Stream:
    """What one viewer has seen."""

    begun: float
    first: float | None = None
    events: int = 0
    lags: list[float] = field(default_factory=list)
    rest: bytes = b""


def watch(port: int, paths: list[str], headers: str, seconds: float) -> dict[str, list[float]]:
    """Open every path at once and read for so many seconds: first-event times, lags of pieces, events a stream."""
    selector, streams = selectors.DefaultSelector(), {}
    for path in paths:
        sock = socket.create_connection(("127.0.0.1", port))
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n".encode())
        sock.setblocking(False)
        streams[sock] = Stream(time.monotonic())
        selector.register(sock, selectors.EVENT_READ, streams[sock])
    end = time.monotonic() + seconds
    while streams and time.monotonic() < end:
        for key, _ in selector.select(0.05):
            sock, stream = key.fileobj, key.data
            data = sock.recv(1 << 18)
            if not data:
                selector.unregister(sock)
                sock.close()
                del streams[sock]
                continue
            _read(stream, data)
    seen = [key.data for key in selector.get_map().values()]
    for sock in streams:
        sock.close()
    return {
        "first": [s.first - s.begun for s in seen if s.first is not None],
        "lags": [lag for s in seen for lag in s.lags],
        "events": [float(s.events) for s in seen],
    }


def _read(stream: Stream, data: bytes) -> None:
    now = time.time()
    settled = time.monotonic() > stream.begun + SETTLE_SECONDS
    if stream.first is None and b"data: " in data:
        stream.first = time.monotonic()
    stream.events += data.count(b"data: ")
    text = stream.rest + data
    at = text.find(b"@")
    while at >= 0:
        end = text.find(b";", at)
        if end < 0:
            break
        with suppress(ValueError):
            sent = float(text[at + 1 : end])
            if settled:  # what was said before the viewer came is old when it comes
                stream.lags.append(now - sent)
        at = text.find(b"@", end)
    stream.rest = text[at:] if at >= 0 else b""


if __name__ == "__main__":
    if sys.argv[1] == "model":
        model_server(int(sys.argv[2]), float(sys.argv[3]))
    asked = json.load(sys.stdin)
    json.dump(watch(asked["port"], asked["paths"], asked["headers"], asked["seconds"]), sys.stdout)
