"""The fallback log: what the database does not take is kept in a file, and entered when it takes writes again.

The file's room is reserved at start, so that a full disk can still take what has happened last.
"""

import json
import logging
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..agent.types import (
    CallRecord,
    Event,
    JsonObject,
    MessageRecord,
    Record,
    RunRecord,
    StepRecord,
    ToolCallRequest,
    Usage,
)
from ..ids import new_id
from .batches import Batch, not_begun

log = logging.getLogger(__name__)

NAME = "fallback.jsonl"
RESERVED_BYTES = 4 << 20
PRIVATE = 0o600
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (RunRecord, StepRecord, CallRecord, MessageRecord)}


class Fallback:
    """What waits for the database, by run and in order: in memory, and in the file in case the process ends."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Batch]] = {}
        self._end = 0
        self._file: int | None = None

    def open(self) -> None:
        """Reserve room in the file; call it when what it held is replayed. Without room, the disk may refuse later."""
        if self._path is None:
            return
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), PRIVATE)
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file, 0, RESERVED_BYTES)
        except OSError as fault:
            log.warning("no room could be reserved for the fallback log: %s", fault.strerror)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def count(self) -> int:
        """How many moments wait."""
        return sum(map(len, self._waiting.values()))

    def run_ids(self) -> list[str]:
        """Which runs have something that waits."""
        return list(self._waiting)

    def of(self, run_id: str) -> list[Batch]:
        """What waits of a run, the oldest first."""
        return self._waiting.get(run_id, [])

    def keep(self, batch: Batch) -> None:
        """Keep what happened: a call whose start could not be stored does not start, so its start is left out."""
        kept = replace(batch, rows=[not_begun(row) for row in batch.rows], events=self._new_events(batch))
        kept.events = [event for event in kept.events if event.type != "tool_call.started"]
        kept.error, kept.kept_as = None, new_id()
        with self._lock:
            self._waiting.setdefault(batch.run_id, []).append(kept)
            self._append(kept)

    def without_known(self, batch: Batch) -> list[Event]:
        """A batch's events but those that are kept already: an engine tries again what it was told had failed."""
        return self._new_events(batch) if batch.run_id in self._waiting else batch.events

    def settled(self, run_id: str) -> None:
        """What waited of a run is in the database, or may not be any more."""
        with self._lock:
            if self._waiting.pop(run_id, None) is not None:
                self._rewrite()

    def close(self) -> None:
        """Leave the file for the next start if something waits, else remove it."""
        with self._lock:
            if self._file is None:
                return
            os.close(self._file)
            self._file = None
            if self._path is not None and not self._waiting:
                self._path.unlink(missing_ok=True)

    def _new_events(self, batch: Batch) -> list[Event]:
        known = {id(event) for kept in self.of(batch.run_id) for event in kept.events}
        return [event for event in batch.events if id(event) not in known]

    # ---------------------------------------------------------------- the file
    def _rewrite(self) -> None:
        self._end = 0
        if self._file is None:
            return
        try:
            _write_at(self._file, b"\0" * min(os.fstat(self._file).st_size, RESERVED_BYTES), 0)
        except OSError as fault:
            log.error("the fallback log could not be cleared: %s", fault.strerror)
        for batches in self._waiting.values():
            for batch in batches:
                self._append(batch)

    def _append(self, batch: Batch) -> None:
        if self._file is None:
            return
        try:
            line = (json.dumps(_to_json(batch), ensure_ascii=False) + "\n").encode()
            written = _write_at(self._file, line, self._end)
            getattr(os, "fdatasync", os.fsync)(self._file)  # macOS and Windows have no fdatasync
        except (OSError, ValueError, TypeError) as fault:
            why = fault.strerror if isinstance(fault, OSError) else type(fault).__name__
            log.error("run %s: a record is kept in memory only, the file does not take it: %s", batch.run_id, why)
            return
        self._end += written


def _write_at(file: int, data: bytes, place: int) -> int:
    """Whoever writes holds the lock: where there is no pwrite (Windows), to seek and to write does the same."""
    if hasattr(os, "pwrite"):
        return os.pwrite(file, data, place)
    os.lseek(file, place, os.SEEK_SET)
    return os.write(file, data)


def read(path: Path) -> list[Batch]:
    """What an earlier process could not enter, in order; a line that was cut off is passed over."""
    try:
        content = path.read_bytes().replace(b"\0", b"")
    except FileNotFoundError:
        return []
    batches = []
    for line in content.splitlines():
        try:
            batches.append(_from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            log.error("a line of the fallback log cannot be read; it is left out")
    return batches


def _to_json(batch: Batch) -> JsonObject:
    return {
        "id": batch.kept_as,
        "run_id": batch.run_id,
        "epoch": batch.epoch,
        "rows": [{"kind": type(row).__name__, **asdict(row)} for row in batch.rows],
        "events": [{"type": event.type, "data": event.data} for event in batch.events],
        "blobs": {str(place): name for place, name in batch.blobs.items()},
    }


def _from_json(line: JsonObject) -> Batch:
    return Batch(
        run_id=line["run_id"],
        epoch=line["epoch"],
        rows=_records(line["rows"]),
        events=[Event(event["type"], event["data"]) for event in line["events"]],
        tell=_nobody,
        awaited=True,
        blobs={int(place): name for place, name in line["blobs"].items()},
        kept_as=line["id"],
    )


def _records(rows: Iterable[JsonObject]) -> Sequence[Record]:
    records = []
    for row in rows:
        values = {name: value for name, value in row.items() if name != "kind"}
        if isinstance(values.get("usage"), dict) and row["kind"] != "MessageRecord":
            values["usage"] = Usage(**values["usage"])
        if values.get("request"):
            values["request"] = ToolCallRequest(**values["request"])
        records.append(KINDS[row["kind"]](**values))
    return records


def _nobody(events: Sequence[Event]) -> None:
    """At start there is nobody to tell yet."""
