"""Hand runs: their records are on disk before a tool acts and before its outcome is told."""

import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError

from backend.app import Instance
from backend.models import Run, RunEvent
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


def test_a_hand_run_whose_end_could_not_be_stored_is_ended_later(instance: Instance, owner: str) -> None:
    runtime = instance.runtime
    going_on: list[int] = []

    def refuse(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE runs SET status"):
            going_on.append(manual.recover(runtime))  # as upkeep may look at any moment
            raise OperationalError("the disk is full", None, Exception("the disk is full"))

    event.listen(runtime.db.engine, "before_cursor_execute", refuse)
    with pytest.raises(OperationalError):
        manual.execute(runtime, owner, manual.HandRun("calculator", {"expression": "2+2"}))
    event.remove(runtime.db.engine, "before_cursor_execute", refuse)
    assert (going_on, runtime.by_hand) == ([0], {})
    assert manual.recover(runtime) == 1
    assert manual.recover(runtime) == 0
    with runtime.db.read() as session:
        run = session.scalars(select(Run)).one()
        events = session.scalars(select(RunEvent.type).order_by(RunEvent.seq)).all()
    assert (run.status, run.output) == ("completed", "2+2 = 4")
    assert events[-2:] == ["step.finished", "run.finished"]
    assert events.count("tool_call.finished") == 1
