"""The full-text index: what is put into it, in the transaction that writes the thing itself."""

import hashlib
from collections.abc import Iterable

from sqlalchemy import Connection, text

INSERT = text(
    "INSERT INTO search_index (kind, object_id, conversation_id, project_id, text) "
    "VALUES (:kind, :object_id, :conversation_id, :project_id, :text)"
)
DELETE = text("DELETE FROM search_index WHERE kind = :kind AND object_id = :object_id")
# SQLite's index knows its rows by number only: anything else is a walk through all of them.
SQLITE_INSERT = text(
    "INSERT OR REPLACE INTO search_index (rowid, kind, object_id, conversation_id, project_id, text) "
    "VALUES (:number, :kind, :object_id, :conversation_id, :project_id, :text)"
)
SQLITE_DELETE = text("DELETE FROM search_index WHERE rowid = :number")


def put(connection: Connection, kind: str, object_id: str, words: str, **place: str | None) -> None:
    """Index `words` for an object, replacing what was there; `place` holds conversation_id and project_id."""
    remove(connection, kind, object_id)
    _insert(connection, kind, object_id, words, place.get("conversation_id"), place.get("project_id"))


def add_message(
    connection: Connection, message_id: str, conversation_id: str, project_id: str | None, words: str
) -> None:
    """Index a new message; cheaper than `put`, since a new object has nothing to replace."""
    _insert(connection, "message", message_id, words, conversation_id, project_id)


def add_messages(
    connection: Connection, conversation_id: str, project_id: str | None, messages: Iterable[tuple[str, str]]
) -> None:
    """Index many new messages of one conversation, each `(id, words)`, with one statement."""
    place: dict[str, str | None] = {"kind": "message", "conversation_id": conversation_id, "project_id": project_id}
    rows = [
        {**place, "number": _number("message", message_id), "object_id": message_id, "text": words}
        for message_id, words in messages
        if words.strip()
    ]
    if rows:
        connection.execute(SQLITE_INSERT if connection.dialect.name == "sqlite" else INSERT, rows)


def remove(connection: Connection, kind: str, object_id: str) -> None:
    """Take an object out of the index."""
    if connection.dialect.name == "sqlite":
        connection.execute(SQLITE_DELETE, {"number": _number(kind, object_id)})
    else:
        connection.execute(DELETE, {"kind": kind, "object_id": object_id})


def _insert(
    connection: Connection, kind: str, object_id: str, words: str, conversation_id: str | None, project_id: str | None
) -> None:
    if not words.strip():
        return
    values: dict[str, str | None] = {"kind": kind, "object_id": object_id, "text": words}
    values |= {"conversation_id": conversation_id, "project_id": project_id}
    if connection.dialect.name == "sqlite":
        connection.execute(SQLITE_INSERT, {**values, "number": _number(kind, object_id)})
    else:
        connection.execute(INSERT, values)


def _number(kind: str, object_id: str) -> int:
    """The row's number: 63 bits of a hash, so that it need not be looked up."""
    return int.from_bytes(hashlib.blake2b(f"{kind}:{object_id}".encode(), digest_size=8).digest()) >> 1
