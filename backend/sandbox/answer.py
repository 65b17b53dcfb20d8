"""Reads what a child sends. The child may be hostile: every byte is counted, typed and bounded here."""

import json
import math
import socket
from dataclasses import dataclass, field
from typing import Any

from .inside import limits, wire

JSON_DEPTH_ERRORS = (ValueError, RecursionError)
UTF8_MAX = 4  # bytes a character


class BrokenChannel(Exception):
    """The child did not keep to the protocol."""


@dataclass(slots=True)
class Collected:
    """Everything received so far."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    files: dict[str, bytes] = field(default_factory=dict)
    final: dict[str, Any] | None = None
    truncated: bool = False


class Reader:
    """Frames from a socket into a Collected, until the closing frame or the end of the stream."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()
        self.got = Collected()

    def read_all(self) -> Collected:
        """Block until the child is done or gone. Raises BrokenChannel, TimeoutError (socket's own timeout)."""
        while self.got.final is None:
            header = self._take(wire.HEADER.size)
            if header is None:
                break
            kind, size = wire.HEADER.unpack(header)
            if size > _size_limit(kind):
                raise BrokenChannel("a frame is too long")
            payload = self._take(size)
            if payload is None:
                break
            self._accept(kind, payload)
        return self.got

    def _take(self, size: int) -> bytes | None:
        while len(self._buffer) < size:
            try:
                part = self._sock.recv(wire.READ_BYTES)
            except ConnectionError:
                part = b""
            if not part:
                return None
            self._buffer += part
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _accept(self, kind: int, payload: bytes) -> None:
        if kind == wire.STDOUT:
            self._append(self.got.stdout, payload, limits.STDOUT_MAX_CHARS * UTF8_MAX)
        elif kind == wire.STDERR:
            self._append(self.got.stderr, payload, limits.STDERR_MAX_CHARS * UTF8_MAX)
        elif kind == wire.FILE:
            self._add_file(payload)
        else:
            self.got.final = _parse_final(payload)

    def _append(self, target: bytearray, payload: bytes, limit: int) -> None:
        if len(target) + len(payload) > limit:
            raise BrokenChannel("more output than allowed")
        target += payload

    def _add_file(self, payload: bytes) -> None:
        length = int.from_bytes(payload[:4], "big")
        try:
            name = json.loads(payload[4 : 4 + length])
        except JSON_DEPTH_ERRORS as error:
            raise BrokenChannel("a file has no readable name") from error
        content = payload[4 + length :]
        total = sum(map(len, self.got.files.values())) + len(content)
        if not isinstance(name, str) or not _is_plain(name):
            raise BrokenChannel("a file has no proper name")
        if len(self.got.files) >= limits.FILES_OUT_MAX or total > limits.FILES_OUT_MAX_BYTES:
            raise BrokenChannel("more files than allowed")
        self.got.files[name] = content


def _is_plain(name: str) -> bool:
    """A relative path of ordinary parts: the name is only proposed, but it will be shown and may be used."""
    parts = name.split("/")
    return 0 < len(name) <= limits.NAME_MAX_CHARS and name.isprintable() and not {"", ".", ".."} & set(parts)


def _size_limit(kind: int) -> int:
    sizes = {
        wire.STDOUT: limits.STDOUT_MAX_CHARS * UTF8_MAX,
        wire.STDERR: limits.STDERR_MAX_CHARS * UTF8_MAX,
        wire.FILE: limits.FILE_OUT_MAX_BYTES + limits.NAME_MAX_CHARS * 8,
        wire.FINAL: limits.FINAL_MAX_BYTES,
    }
    return sizes.get(kind, -1)


def _parse_final(payload: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(payload)
    except JSON_DEPTH_ERRORS as error:
        raise BrokenChannel("the closing frame is not JSON") from error
    if not isinstance(raw, dict):
        raise BrokenChannel("the closing frame is not an object")
    return {
        "value": _text(raw.get("value"), limits.VALUE_MAX_CHARS),
        "value_json": _json(raw.get("value_json")),
        "error_type": _text(raw.get("error_type"), 100),
        "error": _text(raw.get("error"), limits.ERROR_MAX_CHARS),
        "limit": _text(raw.get("limit"), 20),
        "truncated": raw.get("truncated") is True,
        "wall_seconds": _number(raw.get("wall_seconds")),
        "cpu_seconds": _number(raw.get("cpu_seconds")),
        "peak_kib": _number(raw.get("peak_kib")),
    }


def _text(value: Any, limit: int) -> str | None:
    return value[:limit].encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _json(value: Any) -> Any:
    if not isinstance(value, str) or len(value) > limits.VALUE_JSON_MAX_CHARS:
        return None
    try:
        return json.loads(value, parse_constant=lambda _: None)
    except JSON_DEPTH_ERRORS:
        return None


def _number(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e12 and math.isfinite(value) else 0.0
