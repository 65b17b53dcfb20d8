"""Hand runs: their records are on disk before a tool acts and before its outcome is told."""

from sqlalchemy import event

from backend.app import Instance
from backend.services import manual


def test_the_records_of_a_hand_run_wait_for_the_disk(instance: Instance, owner: str) -> None:
    db = instance.runtime.db
    seen: list[int] = []

    def look(connection: object) -> None:
        seen.append(connection.connection.driver_connection.execute("PRAGMA synchronous").fetchone()[0])

    def on_insert(connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith(("INSERT INTO tool_calls", "INSERT INTO run_events")):
            look(connection)

    event.listen(db.engine, "before_cursor_execute", on_insert)
    call = manual.execute(instance.runtime, owner, manual.HandRun("calculator", {"expression": "2+2"}))
    event.remove(db.engine, "before_cursor_execute", on_insert)
    assert call["success"]
    assert len(seen) >= 3
    assert set(seen) == {2}  # FULL
    with db.read() as session:
        look(session.connection())
    assert seen[-1] == 1  # the others pay nothing for it
