"""The full-text index: what is put into it, in the transaction that writes the thing itself."""

from sqlalchemy import Connection, text

INSERT = text(
    "INSERT INTO search_index (kind, object_id, conversation_id, project_id, text) "
    "VALUES (:kind, :object_id, :conversation_id, :project_id, :text)"
)
DELETE = text("DELETE FROM search_index WHERE kind = :kind AND object_id = :object_id")


def put(connection: Connection, kind: str, object_id: str, words: str, **place: str | None) -> None:
    """Index `words` for an object, replacing what was there; `place` holds conversation_id and project_id."""
    remove(connection, kind, object_id)
    _insert(connection, kind, object_id, words, place.get("conversation_id"), place.get("project_id"))


def add_message(
    connection: Connection, message_id: str, conversation_id: str, project_id: str | None, words: str
) -> None:
    """Index a new message; cheaper than `put`, since a new object has nothing to replace."""
    _insert(connection, "message", message_id, words, conversation_id, project_id)


def remove(connection: Connection, kind: str, object_id: str) -> None:
    """Take an object out of the index."""
    connection.execute(DELETE, {"kind": kind, "object_id": object_id})


def _insert(
    connection: Connection, kind: str, object_id: str, words: str, conversation_id: str | None, project_id: str | None
) -> None:
    if words.strip():
        values = {"kind": kind, "object_id": object_id, "text": words}
        connection.execute(INSERT, {**values, "conversation_id": conversation_id, "project_id": project_id})
