"""Frames on the data socket: one type byte, four length bytes, then the payload."""

import json
import os
import struct
from dataclasses import dataclass, field
from typing import Any

HEADER = struct.Struct("!BI")
STDOUT, STDERR, FILE, FINAL = 1, 2, 3, 4
READ_BYTES = 1 << 16


@dataclass(slots=True)
class Request:
    """One execution as it goes over the pipe."""

    code: str
    policy: bool = True
    files: dict[str, bytes] = field(default_factory=dict)

    def pack(self) -> bytes:
        """Length-prefixed JSON head, then the files' bytes one after the other."""
        head = {"code": self.code, "policy": self.policy, "files": [[n, len(b)] for n, b in self.files.items()]}
        text = json.dumps(head).encode("utf-8")
        return b"".join([struct.pack("!I", len(text)), text, *self.files.values()])


def read_request(fd: int) -> Request | None:
    """The request on `fd`, or None if the other side went away without sending one."""
    first = _read_exactly(fd, 4)
    if first is None:
        return None
    head = _read_exactly(fd, int(struct.unpack("!I", first)[0]))
    if head is None:
        return None
    fields: dict[str, Any] = json.loads(head)
    files: dict[str, bytes] = {}
    for name, size in fields["files"]:
        content = _read_exactly(fd, size)
        if content is None:
            return None
        files[name] = content
    return Request(fields["code"], fields["policy"], files)


def _read_exactly(fd: int, size: int) -> bytes | None:
    parts = []
    while size:
        part = os.read(fd, min(size, READ_BYTES))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_frame(fd: int, kind: int, payload: bytes) -> None:
    """Send one frame whole."""
    view = memoryview(HEADER.pack(kind, len(payload)) + payload)
    while view:
        view = view[os.write(fd, view) :]
