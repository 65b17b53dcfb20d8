"""Start to ready, and from the model server's first byte to the first event at a client; medians in milliseconds."""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.server import Server
from support.sse import read_events

CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"hello, this is one piece of an answer that a model would give "},"finish_reason":null}]}\n\n'
LAST = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class Model(BaseHTTPRequestHandler):
    """A model server that notes when it wrote its first byte."""

    protocol_version = "HTTP/1.1"
    first_byte = 0.0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        time.sleep(0.05)  # as a model thinks: the viewer is there before the first token
        Model.first_byte = time.perf_counter()
        self.wfile.write(head + CHUNK)
        for _ in range(10):
            time.sleep(0.005)
            self.wfile.write(CHUNK)
        self.wfile.write(LAST)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Quiet."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench serve")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--answers", type=int, default=40)
    options = parser.parse_args()
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{model.server_address[1]}/v1"
        settings = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "x", "OPENAI_MODEL": "m"}
        server = Server(Path(folder) / "instance", **settings)
        server.start()
        server.stop()
        show("start to ready (later starts)", [start(server) for _ in range(options.starts)])
        with server:
            [answer(server) for _ in range(3)]
            show("model's first byte to client's first delta", [answer(server) for _ in range(options.answers)])
    model.shutdown()
    return 0


def start(server: Server) -> float:
    """Seconds from starting the process to the first good answer."""
    begun = time.perf_counter()
    server.start()
    took = time.perf_counter() - begun
    server.stop()
    return took


def answer(server: Server) -> float:
    """Seconds from the model's first byte to the first text delta at a client that reads the run's events."""
    run = server.post("/api/tasks", {"input": "hello"})
    with server.session.get(f"{server.url}/api/runs/{run['id']}/events", stream=True, timeout=20) as response:
        for _, kind, _ in read_events(response):
            if kind == "text.delta":
                seen = time.perf_counter() - Model.first_byte
                break
        for _ in response.iter_content(4096):
            pass
    return seen


def show(what: str, seconds: list[float]) -> None:
    """One line: median, least and most."""
    ms = sorted(s * 1000 for s in seconds)
    sys.stdout.write(f"{what}: median {statistics.median(ms):.1f} ms, min {ms[0]:.1f}, max {ms[-1]:.1f}, n={len(ms)}\n")


if __name__ == "__main__":
    sys.exit(main())
