"""After a run's end: the pieces of each text become one event, in small transactions, while viewers go on reading."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update

from ..extensions import Database
from ..ids import utc_now
from ..models import Run, RunEvent
from .gentle import Gentle
from .grouping import DELTAS
from .rows import dumps

RUNS_A_ROUND = 50
PAGE_EVENTS = 1000


@dataclass(slots=True)
class _Strand:
    """The pieces of one text or reasoning of a step, between two beginnings of that step."""

    kind: str
    first: dict[str, Any]
    parts: list[str] = field(default_factory=list)
    length: int = 0
    numbers: list[int] = field(default_factory=list)

    def add(self, seq: int, piece: dict[str, Any]) -> None:
        at = piece["offset"] - self.first["offset"]
        if at < self.length:  # an overlap: the later piece counts, as it does for viewers
            text = "".join(self.parts)[:at]
            self.parts, self.length = [text], len(text)
        self.parts.append(piece["text"])
        self.length += len(piece["text"])
        self.numbers.append(seq)


def fold_ended(database: Database, ended_before: datetime) -> int:
    """Fold the logs of runs that have ended before a moment, some of them; how many."""
    query = (
        select(Run.id)
        .where(Run.folded_at.is_(None), Run.finished_at.is_not(None), Run.finished_at < ended_before)
        .order_by(Run.finished_at)
        .limit(RUNS_A_ROUND)
    )
    with database.read() as session:
        ids = session.scalars(query).all()
    for run_id in ids:
        fold(database, run_id)
    return len(ids)


def fold(database: Database, run_id: str) -> None:
    """One event per text of a step, under the number of its last piece.

    A step that began anew (its answer was taken back, or its worker died) keeps what each beginning had shown.
    The whole text is written before its pieces are removed: whoever reads in between drops what overlaps.
    """
    gentle = Gentle(database)
    for strand in _strands(database, run_id):
        *pieces, last = strand.numbers
        if not pieces:
            continue
        whole = dumps({**strand.first, "text": "".join(strand.parts)})
        with gentle.write() as session:
            row = (RunEvent.run_id == run_id, RunEvent.seq == last)
            session.execute(update(RunEvent).where(*row).values(data=whole))
        while pieces:
            some, pieces = pieces[: gentle.rows], pieces[gentle.rows :]
            with gentle.write(full=bool(pieces)) as session:
                session.execute(delete(RunEvent).where(RunEvent.run_id == run_id, RunEvent.seq.in_(some)))
    with gentle.write() as session:
        session.execute(update(Run).where(Run.id == run_id).values(folded_at=utc_now()))


def _strands(database: Database, run_id: str) -> list[_Strand]:
    found: list[_Strand] = []
    current: dict[tuple[int, str], _Strand] = {}
    after = 0
    while True:
        query = (
            select(RunEvent.seq, RunEvent.type, RunEvent.data)
            .where(RunEvent.run_id == run_id, RunEvent.seq > after, RunEvent.type.in_((*DELTAS, "step.started")))
            .order_by(RunEvent.seq)
            .limit(PAGE_EVENTS)
        )
        with database.read() as session:
            page = session.execute(query).all()
        for seq, kind, text in page:
            data = json.loads(text)
            if kind == "step.started":
                current = {key: strand for key, strand in current.items() if key[0] != data["step"]}
                continue
            key = (data["step"], kind)
            if key not in current:
                current[key] = _Strand(kind, data)
                found.append(current[key])
            current[key].add(seq, data)
        if len(page) < PAGE_EVENTS:
            return found
        after = page[-1].seq
