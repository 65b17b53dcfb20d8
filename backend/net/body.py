"""Reads a response body within limits: bytes on the wire, bytes after unpacking, and whatever ends the fetch."""

import http.client
import zlib
from dataclasses import dataclass
from typing import Literal, Protocol

from ..errors import FetchError

CHUNK_BYTES = 65_536
GZIP_MAGIC = b"\x1f\x8b"

SNIFF_BYTES = 64
CODINGS = frozenset(("gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz", "exi"))

Cut = Literal["size", "time", "broken"]


@dataclass(frozen=True, slots=True)
class Body:
    """The unpacked bytes; `cut` says why some are missing, or None."""

    data: bytes
    cut: Cut | None = None


class _Unpacker(Protocol):
    def feed(self, data: bytes, room: int) -> bytes: ...

    @property
    def complete(self) -> bool: ...


class _Plain:
    complete = True

    def feed(self, data: bytes, room: int) -> bytes:
        return data


class _Inflate:
    """gzip (several members too) or deflate with or without the zlib header; plain if it proves to be neither."""

    def __init__(self, first: bytes, gzipped: bool) -> None:
        self._gzipped = gzipped
        self._bits = 31 if gzipped else 15 if _is_zlib(first) else -15
        self._plain = gzipped and not first.startswith(GZIP_MAGIC)
        self._stream = zlib.decompressobj(self._bits)
        self._produced = 0

    @property
    def complete(self) -> bool:
        return self._plain or self._stream.eof

    def feed(self, data: bytes, room: int) -> bytes:
        if self._plain:
            return data
        try:
            out = self._inflate(data, room)
        except zlib.error:
            if self._produced:
                raise
            self._plain = True
            return data
        self._produced += len(out)
        return out

    def _inflate(self, data: bytes, room: int) -> bytes:
        out = b""
        while data and len(out) < room:
            if self._stream.eof:
                if not self._gzipped or not data.startswith(GZIP_MAGIC):
                    break  # rubbish after the end is not part of the page
                self._stream = zlib.decompressobj(self._bits)
            out += self._stream.decompress(data, room - len(out))
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
        return out


def read_body(response: http.client.HTTPResponse, limit: int, encoding: str) -> Body:
    """Read and unpack at most `limit` bytes (of each). What came before a break is kept.

    Raises FetchError for an encoding that is not known; the caller asks its lifeline why reading stopped.
    """
    unpacker: _Unpacker | None = None
    out, wire, first = bytearray(), 0, b""
    try:
        while data := response.read1(CHUNK_BYTES):
            wire += len(data)
            if unpacker is None:
                data = first = first + data
                if len(first) < len(GZIP_MAGIC):
                    continue
                unpacker = _unpacker(encoding, first)
            out += unpacker.feed(data, limit + 1 - len(out))
            if len(out) > limit or wire > limit:
                return Body(bytes(out[:limit]), "size")
    except TimeoutError:
        return Body(bytes(out), "time")
    except (http.client.HTTPException, OSError, ValueError, zlib.error):
        return Body(bytes(out), "broken")
    if unpacker is None:
        return Body(first)
    # `length` is what Content-Length promised and did not come
    return Body(bytes(out), None if unpacker.complete and not response.length else "broken")


def gunzip(data: bytes, limit: int) -> Body:
    """Unpack a gzip file, at most `limit` bytes of it."""
    try:
        out = _Inflate(data, gzipped=True).feed(data, limit + 1)
    except zlib.error:
        return Body(b"", "broken")
    return Body(out[:limit], "size" if len(out) > limit else None)


def _unpacker(encoding: str, first: bytes) -> _Unpacker:
    names = [n for n in (part.strip().lower() for part in encoding.split(",")) if n in CODINGS]
    if not names:  # none, identity, or words like "utf-8" that servers put there by mistake
        return _Plain()
    if len(names) == 1 and names[0] in ("gzip", "x-gzip", "deflate"):
        return _Inflate(first, names[0] != "deflate")
    if first[:SNIFF_BYTES].isascii() and first.lstrip()[:1] in (b"<", b"{", b"["):
        return _Plain()  # labelled as packed, and plainly is not
    raise FetchError(f"The page is packed as {', '.join(names)!r}, which was not asked for and is not read.")


def _is_zlib(first: bytes) -> bool:
    return len(first) >= 2 and first[0] & 0x0F == 8 and int.from_bytes(first[:2]) % 31 == 0
