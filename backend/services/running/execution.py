"""Executing one claimed run: the engine over the database, and what follows its end."""

import logging
import threading
from dataclasses import dataclass, field

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from ...agent.core import AgentCore
from ...agent.guardrails import TerminationResult
from ...agent.ports import StateStore
from ...agent.types import RunOutcome
from ...cancel import CancelToken
from ...channels.log import EventLog
from ...errors import LeaseLost, NanoClawError
from ...ids import utc_now
from ...models import GOING_ON, Conversation, Message, Project, Run
from ...stores.leases import MAX_DEATHS, Lease
from ...stores.sql import RunPlace, SqlRunStore
from ...stores.writer import RunWriter
from ..runs import RunRequest, add_chat_run
from ..runtime import Runtime
from .assembly import assemble
from .giving_up import bare_end, cannot_start, crashed_too_often, given_up

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Execution:
    """What executing runs needs beside the runtime."""

    runtime: Runtime
    writer: RunWriter
    events: EventLog
    handover: threading.Event = field(default_factory=threading.Event)

    def execute(self, lease: Lease, cancelled: CancelToken) -> str | None:
        """Run to the end; returns the id of the next run to submit, if messages are left waiting.

        Raises LeaseLost when another worker has taken the run over.
        """
        owner, conversation_id = self._place(lease.run_id)
        place = RunPlace(lease.run_id, lease.epoch, conversation_id, self.handover)
        store = SqlRunStore(self.runtime.db, self.writer, place)
        self._announce(owner, lease.run_id, conversation_id)
        try:
            if lease.deaths >= MAX_DEATHS:
                self._give_up(lease, store, crashed_too_often(lease))
            else:
                self._run(lease, store, cancelled)
        except LeaseLost:
            raise
        except NanoClawError as error:
            self._give_up(lease, store, cannot_start(error))
        finally:
            self._announce(owner, lease.run_id, conversation_id)
        return start_waiting(self.runtime, conversation_id)

    def _run(self, lease: Lease, store: StateStore, cancelled: CancelToken) -> RunOutcome:
        assembled = assemble(self.runtime, lease.run_id, lease.again)
        self._name_model(lease, assembled.spec.model)
        core = AgentCore(assembled.provider, self.runtime.executor, store, self.events)
        return core.run(assembled.spec, cancelled)

    def _name_model(self, lease: Lease, model: str) -> None:
        """A run that asked for no model tells which one answers it."""
        with self.runtime.db.write() as session:
            unnamed = Run.id == lease.run_id, Run.lease_epoch == lease.epoch, Run.model == ""
            session.execute(update(Run).where(*unnamed).values(model=model))

    def _place(self, run_id: str) -> tuple[str, str | None]:
        with self.runtime.db.read() as session:
            row = session.execute(select(Run.owner_id, Run.conversation_id).where(Run.id == run_id)).one()
            return row.owner_id, row.conversation_id

    def _announce(self, owner: str, run_id: str, conversation_id: str | None) -> None:
        self.runtime.tabs.publish(owner, "run", run_id)
        if conversation_id:
            self.runtime.tabs.publish(owner, "conversation", conversation_id)

    def _give_up(self, lease: Lease, store: StateStore, why: TerminationResult) -> None:
        """A run that cannot go on ends with its reason like any other, and keeps what was done of it."""
        log.warning("run %s is given up: %s", lease.run_id, (why.error or {}).get("code"))
        if lease.deaths >= 2 * MAX_DEATHS:  # even to read all that was done of it kills the server
            store.record(*bare_end(self.runtime, lease.run_id, why), self.events.send_progress)
            return
        core = AgentCore(self.runtime.catalogue.offline, self.runtime.executor, store, self.events)
        core.run(given_up(self.runtime, lease, why))


def start_waiting(runtime: Runtime, conversation_id: str | None) -> str | None:
    """When a run has ended and messages still wait, the oldest starts the next run. Returns its id."""
    if conversation_id is None:
        return None
    with runtime.db.write() as session:
        busy = select(Run.id).where(Run.conversation_id == conversation_id, Run.status.in_(GOING_ON))
        if session.scalar(busy.limit(1)):
            return None
        waiting = select(Message).where(Message.conversation_id == conversation_id, Message.state == "queued")
        message = session.scalar(waiting.order_by(Message.position).limit(1))
        conversation = session.get(Conversation, conversation_id)
        if message is None or conversation is None or _hidden(session, conversation):
            return None
        run = add_chat_run(session, conversation, message.id, message.content, _kept_request(message))
        conversation.last_position += 1
        message.state, message.run_id = "sent", run.id
        message.position, message.parent_id = conversation.last_position, conversation.active_leaf_id
        conversation.active_leaf_id, conversation.updated_at = message.id, utc_now()
        return run.id


def _hidden(session: Session, conversation: Conversation) -> bool:
    """Whether nobody sees what would be answered there: it or its project was deleted."""
    project = session.get(Project, conversation.project_id) if conversation.project_id else None
    return conversation.deleted_at is not None or (project is not None and project.deleted_at is not None)


def _kept_request(message: Message) -> RunRequest:
    kept = message.options or {}
    tools = kept.get("tools")
    return RunRequest(None if tools is None else tuple(tools), kept.get("model"), kept.get("limits"))


def recover_waiting(runtime: Runtime) -> list[str]:
    """At start: conversations whose messages wait although no run is under way get their next run."""
    with runtime.db.read() as session:
        waiting = select(Message.conversation_id).where(Message.state == "queued").distinct()
        ids = list(session.scalars(waiting))
    started = (start_waiting(runtime, conversation_id) for conversation_id in ids)
    return [run_id for run_id in started if run_id]


def mark_cancelled(runtime: Runtime, run_id: str) -> None:
    """Remember the wish to cancel, so that it survives a restart."""
    with runtime.db.write() as session:
        session.execute(
            update(Run).where(Run.id == run_id, Run.cancel_requested_at.is_(None)).values(cancel_requested_at=utc_now())
        )
