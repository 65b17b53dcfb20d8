"""A model server that says 5,000 tokens at a set pace, and remembers when it sent the last one."""

import itertools
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKENS = 5_000
PER_SECOND = 250
TOKEN_CHARS = 4
LAST = "THE-END"
SECTION = """## Part {n} of the answer

A paragraph with *emphasis*, `code` and [a link](https://example.org/{n}), long enough to be broken into lines.

- first thing of part {n}
- second thing, with **weight**
  - a nested one

> A quotation that goes over a line and says what was known before.

```python
{code}
```

| name | value | share |
|---|---:|---:|
{rows}

"""


def document() -> str:
    """Headings, lists, quotations, code blocks of 16 lines and tables of 8 rows."""
    text = ""
    for n in itertools.count(1):
        code = "\n".join(f"value_{k} = compute({k}, part={n})" for k in range(16))
        rows = "\n".join(f"| row {k} | {k * n} | {k} % |" for k in range(8))
        text += SECTION.format(n=n, code=code, rows=rows)
        if len(text) >= TOKENS * TOKEN_CHARS:
            return text[: TOKENS * TOKEN_CHARS] + f"\n\n{LAST}"
    raise AssertionError


def fence() -> str:
    """One fence of the same length."""
    line = "result = transform(value, index=17)  # and a word\n"
    body = (line * (TOKENS * TOKEN_CHARS // len(line) + 1))[: TOKENS * TOKEN_CHARS]
    return f"```python\n{body}\n# {LAST}"


class Pace:
    """The server; a prompt with "fence" is answered with code, any other with the document."""

    def __init__(self) -> None:
        self.last_sent = 0.0  # seconds since the epoch, as the page's Date.now()
        handler = type("Handler", (_Handler,), {"pace": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """The base URL for a provider."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()


def _pieces(prompt: str) -> Iterator[str]:
    text = fence() if "fence" in prompt else document()
    for at in range(0, len(text) - len(LAST), TOKEN_CHARS):
        yield text[at : min(at + TOKEN_CHARS, len(text) - len(LAST))]
    yield LAST


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pace: Pace

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = str(next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user"))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        self.close_connection = True
        begun = time.perf_counter()
        try:
            for n, piece in enumerate(_pieces(prompt)):
                ahead = begun + n / PER_SECOND - time.perf_counter()
                if ahead > 0:
                    time.sleep(ahead)
                self._send({"content": piece})
                self.pace.last_sent = time.time()
            self._send({}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")
        except ConnectionError:
            pass  # the reader has left

    def _send(self, delta: dict[str, str], reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")

    def log_message(self, *_: object) -> None:
        """Quiet."""
