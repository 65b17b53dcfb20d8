"""How the engine's records become rows: one function for each kind of record."""

import json
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, Connection, Executable, Table, bindparam, case, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ..agent.types import CallRecord, JsonObject, MessageRecord, Record, RunRecord, StepRecord
from ..ids import utc_now
from ..models import Base
from . import search_index

Placed = dict[str, JsonObject]

# Statements are built once and kept: building one costs several times what executing it does.
RUNS, STEPS, CALLS, MESSAGES, CONVERSATIONS = (
    Base.metadata.tables[name] for name in ("runs", "steps", "tool_calls", "messages", "conversations")
)


def write_all(connection: Connection, records: Iterable[tuple[Record, str | None]], placed: Placed) -> None:
    """Write records of one run, each with the blob of its whole result; of a call written twice the last counts.

    `placed` gets position and siblings of each message, by its id.
    """
    calls: dict[str, JsonObject] = {}
    for record, blob in records:
        if isinstance(record, CallRecord):
            calls[record.call["id"]] = _call_values(record, blob)
        elif isinstance(record, StepRecord):
            _upsert(connection, STEPS, [_step_values(record)])
        elif isinstance(record, RunRecord):
            _write_run(connection, record)
        else:
            placed[record.id] = _write_message(connection, record)
    if calls:
        _upsert(connection, CALLS, list(calls.values()))


def moment(text: str | None) -> datetime | None:
    """A timestamp of the contract as a moment."""
    return datetime.fromisoformat(text) if text else None


def _write_run(connection: Connection, record: RunRecord) -> None:
    values: JsonObject = {
        "status": record.status,
        "stop_reason": record.stop_reason,
        "output": record.output,
        "error": record.error,
        "step_count": record.step_count,
        "started_at": moment(record.started_at),
        "finished_at": moment(record.finished_at),
    }
    if record.usage is not None:
        usage = record.usage
        values |= {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost_micros": usage.cost_micros,
            "currency": usage.currency,
        }
    values = {name: value for name, value in values.items() if value is not None}
    if record.finished_at:
        values |= {"lease_owner": None, "lease_expires_at": None}
    if values:
        connection.execute(_update(RUNS, tuple(values)), {"row_id": record.id, **values})


def _step_values(record: StepRecord) -> JsonObject:
    return {
        "run_id": record.run_id,
        "index": record.index,
        "status": record.status,
        "reasoning": record.reasoning,
        "text": record.text,
        "finish_reason": record.finish_reason,
        "model": record.model,
        "model_calls": record.model_calls,
        "usage": record.usage.to_json(),
        "reasoning_fields": record.reasoning_fields,
        "started_at": record.started_at,
        "finished_at": record.finished_at,
    }


def _call_values(record: CallRecord, blob: str | None) -> JsonObject:
    call = record.call
    request = record.request
    return {
        "run_id": record.run_id,
        "id": call["id"],
        "step": record.step,
        "position": record.position,
        "name": call["function"]["name"],
        "status": call["status"],
        "cached": bool(call.get("cached")),
        "execution_time": call.get("execution_time"),
        "call": {name: value for name, value in call.items() if name != "result"},
        "request": request.to_openai_tool_call() if request else None,
        "result": call.get("result"),
        "result_blob": blob,
        "idempotent": record.idempotent,
        "started_at": call.get("started_at"),
        "finished_at": call.get("finished_at"),
    }


def _upsert(connection: Connection, table: Table, values: list[JsonObject]) -> None:
    connection.execute(_upserting(table, connection.dialect.name), values)


@lru_cache
def _upserting(table: Table, dialect: str) -> Executable:
    statement = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(table)
    key = [column.name for column in table.primary_key]
    changed = {c.name: statement.excluded[c.name] for c in table.columns if c.name not in key}
    return statement.on_conflict_do_update(index_elements=key, set_=changed)


@lru_cache(maxsize=256)
def _update(table: Table, names: tuple[str, ...]) -> Executable:
    return update(table).where(table.c.id == bindparam("row_id")).values({name: bindparam(name) for name in names})


@lru_cache
def _next_place() -> Executable:
    """Take the next position; the reader's branch follows the answer only if they are still where it was asked."""
    table = CONVERSATIONS
    message: BindParameter[str] = bindparam("message_id")
    parent: BindParameter[str] = bindparam("parent")
    follows = case(
        (table.c.active_leaf_id.is_(None), message),
        (table.c.active_leaf_id == parent, message),
        else_=table.c.active_leaf_id,
    )
    return (
        update(table)
        .where(table.c.id == bindparam("conversation"))
        .values(
            last_position=table.c.last_position + 1,
            active_leaf_id=follows,
            updated_at=bindparam("now", type_=table.c.updated_at.type),
        )
        .returning(table.c.last_position, table.c.project_id)
    )


def _write_message(connection: Connection, record: MessageRecord) -> JsonObject:
    named = {"conversation": record.conversation_id, "message_id": record.id, "parent": record.parent_id}
    place = connection.execute(_next_place(), {**named, "now": utc_now()}).one()
    values = _message_values(record, place.last_position)
    changed = connection.execute(_update(MESSAGES, tuple(values)), {"row_id": record.id, **values})
    if not changed.rowcount:
        created = moment(record.created_at) or utc_now()
        connection.execute(insert(MESSAGES), {**NEW_MESSAGE, **values, "id": record.id, "created_at": created})
        search_index.add_message(connection, record.id, record.conversation_id, place.project_id, record.content)
    # Ordered here: an ORDER BY leads SQLite to the index of positions, over the whole conversation.
    siblings = connection.execute(
        select(MESSAGES.c.id, MESSAGES.c.position).where(
            MESSAGES.c.conversation_id == record.conversation_id, MESSAGES.c.parent_id == record.parent_id
        )
    ).all()
    ordered = [row.id for row in sorted(siblings, key=lambda row: row.position)]
    return {"position": place.last_position, "siblings": ordered if record.parent_id else [record.id]}


NEW_MESSAGE: JsonObject = {"reasoning": "", "blocks": [], "attachments": [], "model": ""}


def _message_values(record: MessageRecord, position: int) -> JsonObject:
    values: JsonObject = {
        "conversation_id": record.conversation_id,
        "parent_id": record.parent_id,
        "position": position,
        "role": record.role,
        "state": record.state,
        "content": record.content,
        "run_id": record.run_id,
    }
    if record.role == "assistant":
        values |= {
            "reasoning": record.reasoning,
            "blocks": record.blocks,
            "model": record.model,
            "usage": record.usage,
            "error": record.error,
            "attachments": record.attachments,
        }
    return values


def dumps(value: Any) -> str:
    """JSON as it is stored and streamed: compact, not ASCII-escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
