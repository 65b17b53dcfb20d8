"""A model server on the bare socket, for what no proper server does."""

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator


def read_request(sock: socket.socket) -> bytes:
    """One whole request; empty if the client has left."""
    data = b""
    while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < _body_length(data):
        piece = sock.recv(65536)
        if not piece:
            return b""
        data += piece
    return data


def _body_length(data: bytes) -> int:
    found = re.search(rb"(?i)\r\ncontent-length: (\d+)\r\n", data)
    return int(found.group(1)) if found else 0


@contextlib.contextmanager
def raw_server(
    answer: Callable[[socket.socket, bytes], None], wrap: Callable[[socket.socket], socket.socket] = lambda sock: sock
) -> Iterator[str]:
    """A server on the bare socket: `answer` gets each connection with its first request."""
    listener = socket.create_server(("127.0.0.1", 0))
    open_sockets: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            open_sockets.append(sock)
            threading.Thread(target=one, args=(sock,), daemon=True).start()

    def one(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sock = wrap(sock)
            open_sockets.append(sock)
            if data := read_request(sock):
                answer(sock, data)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        # Closing alone does not wake an accept that is under way.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for sock in open_sockets:
            sock.close()


def event(text: str, finish: str | None = None) -> bytes:
    return (
        b"data: "
        + json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}).encode()
        + b"\n\n"
    )


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
END = b"data: [DONE]\n\n"


@contextlib.contextmanager
def proxy(target: int, seen: list[bytes], status: bytes = b"200 OK") -> Iterator[int]:
    """A proxy that sends everything to one port of this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    open_sockets: list[socket.socket] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def one(sock: socket.socket) -> None:
        head = sock.recv(65536)
        seen.append(head)
        if head.startswith(b"CONNECT"):
            sock.sendall(b"HTTP/1.1 " + status + b"\r\n\r\n")
            if not status.startswith(b"200"):
                return
        upstream = socket.create_connection(("127.0.0.1", target))
        open_sockets.append(upstream)
        if not head.startswith(b"CONNECT"):
            upstream.sendall(head)
        threading.Thread(target=pump, args=(upstream, sock), daemon=True).start()
        pump(sock, upstream)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                open_sockets.append(sock)
                threading.Thread(target=one, args=(sock,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for sock in open_sockets:
            sock.close()
