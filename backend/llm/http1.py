"""The framing of HTTP/1.1 answers: the head, and the body by chunks, by length, or up to the end of the stream."""

from dataclasses import dataclass

CHUNK_LINE_LIMIT_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers; names in lower case, repeated ones joined by commas."""

    status: int
    headers: dict[str, str]
    version: str


def parse_head(data: bytes) -> tuple[Head, bytes] | None:
    """The head and what follows it, or None if there is no whole head yet; ConnectionError if it is none."""
    end, gap = data.find(b"\r\n\r\n"), 4
    if end < 0:
        end, gap = data.find(b"\n\n"), 2
    if end < 0:
        return None
    lines = data[:end].decode("latin-1").replace("\r\n", "\n").split("\n")
    words = lines[0].split(None, 2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        raise ConnectionError("the server does not answer in HTTP")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            name, value = name.strip().lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(int(words[1]), headers, words[0]), data[end + gap :]


class Body:
    """Takes the bytes after a head and gives back those of the body; ValueError if the framing is broken.

    `ended` tells that the body is over, `rest` holds bytes that came after it.
    """

    def __init__(self, head: Head) -> None:
        self.ended = False
        self.rest = b""
        self.keep_alive = _keeps_alive(head)
        self._chunks: _Chunks | None = None
        self._left: int | None = None
        if head.status in (204, 304):
            self.ended = True
        elif "chunked" in head.headers.get("transfer-encoding", "").lower():
            self._chunks = _Chunks()
        elif head.headers.get("content-length", "").isdigit():
            self._left = int(head.headers["content-length"])
            self.ended = self._left == 0
        else:
            self.keep_alive = False

    def feed(self, data: bytes) -> bytes:
        """The body's bytes in `data`."""
        if self.ended:
            self.rest += data
            return b""
        if self._chunks is not None:
            body = self._chunks.feed(data)
            if self._chunks.ended:
                self.ended, self.rest = True, self._chunks.rest
            return body
        if self._left is None:
            return data
        body, self.rest = data[: self._left], data[self._left :]
        self._left -= len(body)
        self.ended = self._left == 0
        return body

    def end(self) -> bytes:
        """The stream has ended; whether that is the body's end shows in `ended`."""
        if self._chunks is None and self._left is None:
            self.ended = True
        return b""


def _keeps_alive(head: Head) -> bool:
    wish = head.headers.get("connection", "").lower()
    return "close" not in wish and (head.version != "HTTP/1.0" or "keep-alive" in wish)


class _Chunks:
    """Chunked transfer coding, cut anywhere."""

    def __init__(self) -> None:
        self.ended = False
        self.rest = b""
        self._buffer = b""
        self._left = 0
        self._closing = False  # the line end after a chunk's data is due
        self._trailers = False

    def feed(self, data: bytes) -> bytes:
        buffer = self._buffer + data if self._buffer else data
        out: list[bytes] = []
        at = 0
        while not self.ended:
            if self._left:
                piece = buffer[at : at + self._left]
                if not piece:
                    break
                out.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._closing = not self._left
                continue
            end = buffer.find(b"\n", at)
            if end < 0:
                if len(buffer) - at > CHUNK_LINE_LIMIT_BYTES:
                    raise ValueError("a chunk without a size")
                break
            self._line(buffer[at:end].strip())
            at = end + 1
        self._buffer = buffer[at:]
        if self.ended:
            self.rest, self._buffer = self._buffer, b""
        return out[0] if len(out) == 1 else b"".join(out)

    def _line(self, line: bytes) -> None:
        if self._trailers:
            self.ended = not line
        elif self._closing and not line:
            self._closing = False
        else:
            self._closing = False
            self._left = int(line.partition(b";")[0].strip(), 16)
            if self._left < 0:
                raise ValueError("a negative chunk size")
            self._trailers = not self._left
