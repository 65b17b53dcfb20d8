"""Bytes of an answer into JSON objects: server-sent events, one JSON document or JSON lines, cut anywhere."""

import re
from typing import Any, Final

from .. import strict_json

EVENT_LIMIT_BYTES = 32 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
END_MARK = b"[DONE]"
DONE: Final = object()
_LINE_END = re.compile(rb"\r\n|\n|\r")
# Strict about structure only: raw control characters inside strings are what some servers send.
_decode = strict_json.Reader(strict=False).decode


def parse_json(data: bytes) -> Any:
    """JSON from bytes that may hold broken UTF-8; ValueError if it is no JSON."""
    return _decode(data.decode("utf-8", "replace").strip())


class EventReader:
    """`feed` gives the objects that are complete; `DONE` is the end marker of the protocol.

    What the body is follows from its first character, not from what was asked for or from the headers.
    """

    def __init__(self) -> None:
        self.kind = ""  # "sse", "json" or "other" once known
        self.size = 0
        self._buffer = b""
        self._pending: list[bytes] = []
        self._name = b""
        self._after_cr = False
        self._whole = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """Objects that are complete with these bytes."""
        self.size += len(data)
        if not self.kind:
            data = self._start(data)
            if not self.kind:
                return []
        return self._feed_lines(data) if self.kind == "sse" else self._feed_document(data)

    def _start(self, data: bytes) -> bytes:
        data = self._buffer + data
        if data.startswith(BOM[: len(data)]):
            if len(data) < len(BOM):
                self._buffer = data
                return b""
            data = data[len(BOM) :]
        text = data.lstrip()
        first = text[:1]
        if not first or (len(text) < len(END_MARK) and END_MARK.startswith(text)):
            self._buffer = data
            return b""
        self._buffer = b""
        self.kind = "json" if first in b"{[" and not text.startswith(END_MARK) else "sse"
        if first == b"<":
            self.kind = "other"
        return data

    # ------------------------------------------------------------ events
    def _feed_lines(self, data: bytes) -> list[Any]:
        if self._after_cr and data:
            data = data[1:] if data[:1] == b"\n" else data
            self._after_cr = False
        buffer = self._buffer + data if self._buffer else data
        lines = buffer.split(b"\n") if b"\r" not in buffer else _LINE_END.split(buffer)
        # A CR ends a line at once; a LF that follows it, perhaps in the next read, belongs to the same end.
        self._after_cr = buffer.endswith(b"\r")
        self._buffer = lines.pop()
        if len(self._buffer) > EVENT_LIMIT_BYTES:
            raise ValueError("an event without an end")
        out: list[Any] = []
        for line in lines:
            self._line(line, out)
        return out

    def _line(self, line: bytes, out: list[Any]) -> None:
        if line.startswith(b"data:"):
            self._data(line[5:].strip(), out)
        elif not line:
            self._end_event(out)
        elif line.startswith(b"event:"):
            self._name = line[6:].strip()
        elif line.startswith(END_MARK):
            out.append(DONE)
        elif line[:1] in b"{":
            self._data(line, out)

    def _end_event(self, out: list[Any]) -> None:
        """A blank line: an error event whose data is no JSON is an error all the same."""
        if self._pending and self._name == b"error":
            out.append({"error": b"\n".join(self._pending).decode("utf-8", "replace")})
        self._pending.clear()
        self._name = b""

    def _data(self, value: bytes, out: list[Any]) -> None:
        while value.startswith(b"data:"):
            value = value[5:].strip()
        if value == END_MARK:
            out.append(DONE)
            return
        # A line that is a whole object is an event, whether or not a blank line follows.
        try:
            parsed = parse_json(value)
        except ValueError:
            parsed = self._joined(value)
        if isinstance(parsed, dict):
            self._pending.clear()
            if self._name == b"error" and "error" not in parsed:
                parsed = {"error": parsed}
            out.append(parsed)
        elif isinstance(parsed, str) and self._name == b"error":
            self._pending.clear()
            out.append({"error": parsed})
        elif isinstance(parsed, list):
            self._pending.clear()
            out.extend(item for item in parsed if isinstance(item, dict))

    def _joined(self, value: bytes) -> Any:
        self._pending.append(value)
        if len(self._pending) == 1:
            return None
        try:
            return parse_json(b"\n".join(self._pending))
        except ValueError:
            return None

    # ------------------------------------------------------------ documents
    def _feed_document(self, data: bytes) -> list[Any]:
        out: list[Any] = []
        whole = self._whole
        whole += data
        if len(whole) > EVENT_LIMIT_BYTES:
            raise ValueError("an answer that is too large")
        if self.kind == "other" or whole[:1] == b"[":
            return out
        while (end := whole.find(b"\n")) >= 0 and not self._pending:
            line = bytes(whole[:end]).strip()
            if line:
                try:
                    parsed = parse_json(line.removeprefix(b"data:"))
                except ValueError:
                    self._pending.append(b"")  # a document over several lines: it is read at the end
                    return out
                out.append(parsed)
            del whole[: end + 1]
        return out

    def close(self) -> list[Any]:
        """What is left at the end of the stream."""
        if self.kind == "sse":
            out: list[Any] = []
            self._line(self._buffer, out)
            self._buffer = b""
            self._end_event(out)
            return out
        return self._close_document()

    def _close_document(self) -> list[Any]:
        text = bytes(self._whole).strip()
        self._whole.clear()
        if not text or self.kind != "json":
            return []
        try:
            parsed = parse_json(text)
        except ValueError:
            return []
        return [parsed] if isinstance(parsed, dict) else [item for item in parsed if isinstance(item, dict)]
