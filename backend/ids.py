"""Ids and times as they appear everywhere: UUIDv7 strings, UTC timestamps in ISO 8601 with milliseconds."""

import os
import time
import uuid
from datetime import UTC, datetime


def new_id() -> str:
    """A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return str(uuid.UUID(int=value))


def utc_now() -> datetime:
    """Now, aware, UTC."""
    return datetime.now(UTC)


def iso(moment: datetime | None) -> str | None:
    """`2026-01-31T12:00:00.123Z`; naive values are taken as UTC."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def iso_now() -> str:
    """`iso` of now."""
    return iso(utc_now()) or ""
