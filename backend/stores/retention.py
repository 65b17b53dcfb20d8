"""What is kept how long: logs of ended runs by age and size, deleted things for 30 days; always in small transactions."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, ScalarSelect, Table, and_, delete, exists, func, select, text, update
from sqlalchemy.orm import Session, aliased

from ..extensions import Database
from ..ids import utc_now
from ..models import GOING_ON, Base, Conversation, FileChange, Message, Project, Run, RunEvent
from . import search_index
from .gentle import Gentle

RUNS_A_ROUND = 100
DELETED_KEPT_DAYS = 30
INDEXED_ROWS = 10  # each costs the full-text index a thousand entries
EVENTS, CHANGES = (Base.metadata.tables[name] for name in ("run_events", "file_changes"))


# ---------------------------------------------------------------- logs
def prune_by_age(database: Database, usual_days: int) -> int:
    """Prune logs of runs that ended longer ago than their project (else the installation) keeps them; 0 days: for ever.

    How many runs; call it until there are none. Steps, calls, results and messages stay.
    """
    now = utc_now()
    days = func.coalesce(Project.retention_days, usual_days)
    with database.read() as session:
        kept = set(session.scalars(select(days).select_from(Project).distinct())) | {usual_days}
    total = 0
    for limit in sorted(day for day in kept if day):
        mine = func.coalesce(Project.retention_days, usual_days) == limit
        total += _prune(database, and_(mine, Run.finished_at < now - timedelta(days=limit)))
    return total


def prune_by_size(database: Database, max_bytes: int) -> int:
    """While the database holds more than `max_bytes`, prune the logs that ended first; how many runs. 0: no limit."""
    if not max_bytes or used_bytes(database) <= max_bytes:
        return 0
    return _prune(database, Run.finished_at.is_not(None))


def used_bytes(database: Database) -> int:
    """Bytes that the database uses, without what is free in its file; 0 where that is not known."""
    if database.engine.dialect.name != "sqlite":
        return 0
    with database.read() as session:
        size, pages, free = (
            int(session.scalar(text(f"PRAGMA {name}")) or 0) for name in ("page_size", "page_count", "freelist_count")
        )
    return size * (pages - free)


def _prune(database: Database, which: ColumnElement[bool]) -> int:
    query = (
        select(Run.id, Run.last_seq)
        .join(Project, Project.id == Run.project_id, isouter=True)
        .where(Run.pruned_at.is_(None), Run.finished_at.is_not(None), which)
        .order_by(Run.finished_at)
        .limit(RUNS_A_ROUND)
    )
    with database.read() as session:
        runs = session.execute(query).all()
    for run_id, last_seq in runs:
        # The last event stays: whoever asks for the log of the run is told that, and how, it has ended.
        _delete_all(database, EVENTS, and_(RunEvent.run_id == run_id, RunEvent.seq < last_seq))
        with Gentle(database).write() as session:
            session.execute(update(Run).where(Run.id == run_id).values(pruned_at=utc_now()))
    return len(runs)


# ---------------------------------------------------------------- what people deleted
def purge_conversations(database: Database, deleted_before: datetime) -> int:
    """Remove conversations that were deleted before a moment, with their runs; how many."""
    with database.read() as session:
        query = select(Conversation.id).where(Conversation.deleted_at < deleted_before).limit(RUNS_A_ROUND)
        ids = session.scalars(query).all()
    for conversation_id in ids:
        remove_conversation(database, conversation_id)
    return len(ids)


def purge_messages(database: Database, deleted_before: datetime) -> int:
    """Remove messages that were deleted before a moment; how many. Their runs stay in the list of runs."""
    with database.read() as session:
        query = select(Message.id).where(Message.deleted_at < deleted_before).limit(RUNS_A_ROUND)
        ids = session.scalars(query).all()
    gentle, left = Gentle(database, INDEXED_ROWS), ids
    while left:
        some, left = left[: gentle.rows], left[gentle.rows :]
        with gentle.write(full=bool(left)) as session:
            # Said again: it may have been put back meanwhile.
            which = Message.id.in_(some), Message.deleted_at < deleted_before
            _remove_messages(session, session.scalars(select(Message.id).where(*which)).all())
    return len(ids)


def _remove_messages(session: Session, ids: Sequence[str]) -> None:
    for message_id in ids:
        search_index.remove(session.connection(), "message", message_id)
    session.execute(delete(Message).where(Message.id.in_(ids)))


def expire_temporary(database: Database, last_before: datetime) -> int:
    """Put temporary conversations out of reach whose last message came before a moment, unless a run goes on; how many.

    They are taken for deleted so long ago that they cannot be restored, and `purge_conversations` removes them.
    """
    last = (
        select(Message.created_at)
        .where(Message.conversation_id == Conversation.id)
        .order_by(Message.position.desc())
        .limit(1)
        .scalar_subquery()
    )
    running = exists().where(Run.conversation_id == Conversation.id, Run.status.in_(GOING_ON))
    gone = out_of_reach()
    expired = (
        Conversation.temporary.is_(True),
        Conversation.created_at < last_before,
        func.coalesce(last, Conversation.created_at) < last_before,
        func.coalesce(Conversation.deleted_at, utc_now()) > gone,
        ~running,
    )
    with database.write() as session:
        found = update(Conversation).where(*expired).values(deleted_at=gone).returning(Conversation.id)
        return len(session.scalars(found).all())


def out_of_reach() -> datetime:
    """A moment of deletion that is so long ago that nothing is restored any more; the next round removes it."""
    return utc_now() - timedelta(days=2 * DELETED_KEPT_DAYS)


def purge_projects(database: Database, deleted_before: datetime) -> list[str]:
    """Remove the rows of projects that were deleted before a moment; their ids, so that their folders can follow."""
    with database.read() as session:
        query = select(Project.id).where(Project.deleted_at < deleted_before).limit(RUNS_A_ROUND)
        ids = list(session.scalars(query))
    for project_id in ids:
        with database.read() as session:
            of_project = session.scalars(select(Conversation.id).where(Conversation.project_id == project_id)).all()
        for conversation_id in of_project:
            remove_conversation(database, conversation_id)
        _let_go_of_runs(database, project_id)
        _purge_runs(database, Run.project_id == project_id)
        _delete_all(database, CHANGES, FileChange.project_id == project_id)
        with Gentle(database).write() as session:
            search_index.remove(session.connection(), "project", project_id)
            session.execute(delete(Project).where(Project.id == project_id))
    return ids


def _let_go_of_runs(database: Database, project_id: str) -> None:
    """Runs of conversations that were moved elsewhere stay with them, children too: they go where the conversation is."""
    parent = aliased(Run)
    for above, link in ((Conversation, Run.conversation_id), (parent, Run.parent_run_id)):
        of = above.id == link
        elsewhere = select(above.id).where(of, above.project_id.is_distinct_from(project_id)).exists()
        place = select(above.project_id).where(of).scalar_subquery()
        _place_runs(database, and_(Run.project_id == project_id, elsewhere), place)


def _place_runs(database: Database, which: ColumnElement[bool], place: ScalarSelect[str | None]) -> None:
    gentle, left = Gentle(database), True
    while left:
        with gentle.write() as session:
            ids = session.scalars(select(Run.id).where(which).limit(gentle.rows)).all()
            values = update(Run).where(Run.id.in_(ids)).values(project_id=place)
            session.execute(values, execution_options={"synchronize_session": False})
        left = bool(ids)


def remove_conversation(database: Database, conversation_id: str) -> None:
    """Remove a conversation that nobody sees any more, with its messages and runs."""
    _purge_runs(database, Run.conversation_id == conversation_id)
    gentle, left = Gentle(database, INDEXED_ROWS), True
    while left:
        rows = gentle.rows
        with gentle.write(full=True) as session:
            here = select(Message.id).where(Message.conversation_id == conversation_id).limit(rows)
            ids = session.scalars(here).all()
            _remove_messages(session, ids)
        left = len(ids) == rows
    with gentle.write() as session:
        search_index.remove(session.connection(), "conversation", conversation_id)
        session.execute(delete(Conversation).where(Conversation.id == conversation_id))


def _purge_runs(database: Database, which: ColumnElement[bool]) -> None:
    """Ended runs with their children; nothing is running in what was deleted so long ago."""
    while True:
        with database.read() as session:
            ids = session.scalars(select(Run.id).where(which).limit(RUNS_A_ROUND)).all()
            if not ids:
                return
            ids = [*session.scalars(select(Run.id).where(Run.parent_run_id.in_(ids))), *ids]
        for run_id in ids:
            for name in ("run_events", "tool_calls", "steps"):
                table = Base.metadata.tables[name]
                _delete_all(database, table, table.c.run_id == run_id)
            with Gentle(database).write() as session:
                session.execute(delete(Run).where(Run.id == run_id))


def _delete_all(database: Database, table: Table, which: ColumnElement[bool]) -> None:
    key = list(table.primary_key.columns)
    gentle, left = Gentle(database), True
    while left:
        wanted = gentle.rows
        with gentle.write(full=True) as session:
            rows = session.execute(select(*key).where(which).limit(wanted)).all()
            _delete_rows(session, table, rows)
        left = len(rows) == wanted


def _delete_rows(session: Session, table: Table, rows: Sequence[Sequence[object]]) -> None:
    first, *rest = table.primary_key.columns
    if not rest:
        session.execute(delete(table).where(first.in_([row[0] for row in rows])))
        return
    second = rest[0]
    for value in dict.fromkeys(row[0] for row in rows):
        session.execute(delete(table).where(first == value, second.in_([row[1] for row in rows if row[0] == value])))
