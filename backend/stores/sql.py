"""The state of one run in the database, as the engine's `StateStore`."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sqlalchemy import select, update

from ..agent.ports import Tell
from ..agent.types import CallRecord, Event, Record, StepRecord, WaitingMessage
from ..errors import LeaseLost
from ..extensions import Database
from ..models import Conversation, Message
from .batches import Batch, not_begun
from .writer import RunWriter


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Which run is written, under which lease; `handover` is set when its worker must let it go."""

    run_id: str
    epoch: int
    conversation_id: str | None
    handover: threading.Event = field(default_factory=threading.Event)


class SqlRunStore:
    """Writes under one lease: a worker that lost it gets LeaseLost and can change nothing more."""

    def __init__(self, database: Database, writer: RunWriter, place: RunPlace) -> None:
        self._db = database
        self._writer = writer
        self._place = place
        self._conversation_id = place.conversation_id

    def record(self, rows: Sequence[Record], events: Sequence[Event], tell: Tell, *, wait: bool = True) -> None:
        """Commit rows and events together, then tell; see `StateStore`."""
        if self._place.handover.is_set() and any(_begins_work(row) for row in rows):
            self._hand_over(rows, tell)
        batch = Batch(self._place.run_id, self._place.epoch, rows, list(events), tell, awaited=wait)
        self._writer.submit(batch, wait)

    def _hand_over(self, rows: Sequence[Record], tell: Tell) -> NoReturn:
        """What has begun may finish and be recorded; the next worker begins what comes after.

        A model's answer with calls that have not started is kept, so that it need not be asked again.
        """
        if any(isinstance(row, CallRecord) for row in rows):
            kept = [not_begun(row) for row in rows]
            self._writer.submit(Batch(self._place.run_id, self._place.epoch, kept, [], tell, awaited=True), True)
        raise LeaseLost("The run is handed over.")

    def waiting_messages(self, limit: int) -> list[WaitingMessage]:
        """Queued user messages of the conversation, oldest first; from here on they are this run's and stay as they are."""
        if self._conversation_id is None:
            return []
        query = (
            select(Message.id)
            .where(Message.conversation_id == self._conversation_id, Message.state == "queued")
            .order_by(Message.position)
            .limit(limit)
        )
        with self._db.read() as session:
            ids = session.scalars(query).all()
        return self._taken(ids) if ids else []

    def _taken(self, ids: Sequence[str]) -> list[WaitingMessage]:
        """Those that nobody has withdrawn meanwhile, with their words of now."""
        with self._db.write() as session:
            found = session.execute(
                update(Message)
                .where(Message.id.in_(ids), Message.state == "queued")
                .values(run_id=self._place.run_id)
                .returning(Message.id, Message.content, Message.attachments, Message.position)
            ).all()
        found = sorted(found, key=lambda row: row.position)
        return [WaitingMessage(row.id, row.content, tuple(row.attachments)) for row in found]

    def get_task_state(self, key: str) -> Any:
        """The conversation's value of that key, or None."""
        if self._conversation_id is None:
            return None
        with self._db.read() as session:
            state = session.scalar(select(Conversation.frontier).where(Conversation.id == self._conversation_id))
        return (state or {}).get(key)

    def set_task_state(self, key: str, value: Any) -> None:
        """Keep a value for the conversation."""
        if self._conversation_id is None:
            return
        with self._db.write() as session:
            row = Conversation.id == self._conversation_id
            state = session.scalar(select(Conversation.frontier).where(row)) or {}
            session.execute(update(Conversation).where(row).values(frontier={**state, key: value}))


def _begins_work(record: Record) -> bool:
    if isinstance(record, StepRecord):
        return record.status == "running" and not record.model_calls
    return isinstance(record, CallRecord) and record.call["status"] == "executing"
