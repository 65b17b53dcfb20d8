"""Event numbers of many runs at once: each gets its own, a lost lease gets none, and nobody else notices."""

import pytest
from sqlalchemy import func, select

from backend.agent.types import Event
from backend.extensions import Database
from backend.models import Run, RunEvent
from backend.stores.numbering import Asked, add_events, take_numbers


@pytest.mark.parametrize("count", [1, 3, 4, 5, 21, 85, 200])
def test_each_of_many_runs_gets_its_numbers_and_a_lost_lease_gets_none(database: Database, count: int) -> None:
    with database.write() as session:
        session.add_all(
            [Run(id=f"r{i}", kind="task", owner_id="owner", lease_epoch=i, last_seq=i) for i in range(count)]
        )
    asked = [Asked(i % 3, f"r{i}", i) for i in range(count)]
    lost = count // 2
    asked[lost] = asked[lost]._replace(epoch=lost + 1)
    with database.write() as session:
        taken = take_numbers(session.connection(), asked)
    assert taken == {f"r{i}": i + i % 3 for i in range(count) if i != lost}
    with database.read() as session:
        assert dict(tuple(row) for row in session.execute(select(Run.id, Run.last_seq))) == {**taken, f"r{lost}": lost}


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 150])
def test_events_are_appended_whatever_their_number(database: Database, count: int) -> None:
    with database.write() as session:
        session.add(Run(id="r", kind="task", owner_id="owner", lease_epoch=1))
    events = [Event("run.notice", {}, "r", seq + 1, f'{{"text":"第{seq}"}}') for seq in range(count)]
    with database.write() as session:
        add_events(session.connection(), events)
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(RunEvent)) == count
        stored = session.execute(select(RunEvent.seq, RunEvent.data).order_by(RunEvent.seq)).all()
    assert [tuple(row) for row in stored] == [(event.seq, event.text) for event in events]
