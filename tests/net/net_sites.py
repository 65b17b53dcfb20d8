"""Small servers whose every byte a test decides."""

import contextlib
import socket
import threading
from collections.abc import Callable

PAGE = b"<html><head><title>T</title></head><body><p>hello world</p></body></html>"
Answer = bytes | Callable[[socket.socket, bytes], None]


def http(body: str | bytes = PAGE, extra: str = "", kind: str = "text/html", status: str = "200 OK") -> bytes:
    """A plain answer; `extra` are header lines, each ended by CR LF."""
    data = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n{extra}Connection: close\r\n"
    return (head + (f"Content-Type: {kind}\r\n" if kind else "") + "\r\n").encode("latin-1") + data


def moved(location: str, status: str = "302 Found", extra: str = "") -> bytes:
    """A redirect."""
    return http(b"", f"Location: {location}\r\n{extra}", status=status)


class Site:
    """Gives `answer` to every request; `pages` (path -> answer) go before it. robots.txt is 404 unless in `pages`."""

    def __init__(self) -> None:
        self.answer: Answer = http()
        self.pages: dict[str, Answer] = {}
        self.requests: list[bytes] = []
        self.touched = threading.Event()
        self.closed = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """Take no more connections."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def silence(self, connection: socket.socket, _request: bytes = b"") -> None:
        """An answer: say nothing more until the client has gone."""
        self.touched.set()
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass
        self.closed.set()

    def paths(self) -> list[str]:
        """The paths asked for, robots.txt left out."""
        return [path for path in (r.split(b" ")[1].decode() for r in self.requests) if path != "/robots.txt"]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                more = connection.recv(65536)
                if not more:
                    return
                request += more
            self.requests.append(request)
            path = request.split(b" ")[1].decode("latin-1")
            missing = http(b"", status="404 Not Found") if path == "/robots.txt" else self.answer
            answer = self.pages.get(path, missing)
            if callable(answer):
                answer(connection, request)
            else:
                connection.sendall(answer)
