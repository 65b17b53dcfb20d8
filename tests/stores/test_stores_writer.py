"""The writer of runs: what is told is committed, in order, once; a lost lease writes nothing."""

import json
import threading
from collections.abc import Callable, Sequence

import pytest
from sqlalchemy import select

from backend.agent.types import CallRecord, Event, MessageRecord, RunRecord, StepRecord, Usage
from backend.errors import LeaseLost, StorageError
from backend.extensions import Database
from backend.ids import iso_now, new_id, utc_now
from backend.models import Conversation, Message, Run, RunEvent, Step, ToolCall
from backend.stores.batches import Batch
from backend.stores.sql import RunPlace, SqlRunStore
from backend.stores.writer import RunWriter

MakeStore = Callable[..., SqlRunStore]


def rows_of(database: Database, run_id: str) -> list[tuple[int, str, dict]]:
    with database.read() as session:
        query = select(RunEvent).where(RunEvent.run_id == run_id).order_by(RunEvent.seq)
        return [(e.seq, e.type, json.loads(e.data)) for e in session.scalars(query)]


def delta(text: str, offset: int, step: int = 0) -> Event:
    return Event("text.delta", {"step": step, "offset": offset, "text": text})


def test_what_is_told_is_already_in_the_database(database: Database, make_store: MakeStore) -> None:
    seen_in_rows = []

    def tell(events: Sequence[Event]) -> None:
        seen_in_rows.extend((e.seq, e.type) in [(s, t) for s, t, _ in rows_of(database, "run-1")] for e in events)

    store = make_store()
    store.record([], [Event("run.started", {})], tell)
    store.record([], [delta("hi", 0)], tell, wait=False)
    store.record([StepRecord("run-1", 0)], [Event("step.finished", {"step": 0})], tell)
    assert seen_in_rows == [True, True, True]


def test_numbers_rise_by_one_and_deltas_keep_their_place(database: Database, make_store: MakeStore, told: list) -> None:
    store = make_store()
    store.record([], [Event("run.started", {})], told.extend)
    for i in range(40):
        store.record([], [delta(f"{i % 10}", i)], told.extend, wait=False)
    store.record([], [Event("run.finished", {"status": "completed"})], told.extend)
    rows = rows_of(database, "run-1")
    assert [seq for seq, _, _ in rows] == list(range(1, len(rows) + 1))
    assert [e.seq for e in told] == [seq for seq, _, _ in rows]
    text, end = "", 0
    for _, kind, data in rows:
        if kind == "text.delta":
            assert data["offset"] == end
            text += data["text"]
            end += len(data["text"])
    assert text == "0123456789" * 4
    assert rows[-1][1] == "run.finished"


def test_a_first_delta_is_committed_without_waiting_for_another_record(make_store: MakeStore) -> None:
    arrived = threading.Event()
    make_store().record([], [delta("first", 0)], lambda events: arrived.set(), wait=False)
    assert arrived.wait(5)


def test_a_second_delta_soon_after_is_committed_by_itself(make_store: MakeStore, told: list) -> None:
    both = threading.Event()

    def tell(events: Sequence[Event]) -> None:
        told.extend(events)
        if "".join(e.data["text"] for e in told) == "ab":
            both.set()

    store = make_store()
    store.record([], [delta("a", 0)], tell, wait=False)
    store.record([], [delta("b", 1)], tell, wait=False)
    assert both.wait(5)


def test_a_worker_that_lost_its_lease_writes_nothing(database: Database, make_store: MakeStore, told: list) -> None:
    make_store()
    late = make_store(epoch=0)
    with pytest.raises(LeaseLost):
        late.record([RunRecord("run-1", status="completed")], [Event("run.finished", {})], told.extend)
    assert told == []
    assert rows_of(database, "run-1") == []
    with database.read() as session:
        assert session.get_one(Run, "run-1").status == "queued"


def test_deltas_of_a_lost_lease_fail_at_the_next_record(make_store: MakeStore, told: list) -> None:
    make_store()
    late = make_store(epoch=0)
    late.record([], [delta("x", 0)], told.extend, wait=False)
    with pytest.raises(LeaseLost):
        late.record([], [Event("step.finished", {"step": 0})], told.extend)


def test_what_comes_late_under_an_earlier_lease_does_not_harm_the_one_who_has_the_run(
    database: Database, writer: RunWriter, make_store: MakeStore, told: list
) -> None:
    late, holder = make_store(epoch=1), make_store(epoch=2)
    with database.write() as session:
        session.get_one(Run, "run-1").lease_epoch = 2
    late.record([], [delta("late", 0)], told.extend, wait=False)  # the first of its run: it is committed, and fails
    holder.record([], [Event("run.resumed", {"step": 0})], told.extend)
    writer._pending.append(Batch("run-1", 1, [], [Event("run.notice", {})], told.extend, awaited=False))
    holder.record([], [Event("step.started", {"step": 0})], told.extend)  # both in one commit
    assert [e.type for e in told] == ["run.resumed", "step.started"]
    assert [r[1] for r in rows_of(database, "run-1")] == ["run.resumed", "step.started"]
    with pytest.raises(LeaseLost):
        late.record([], [Event("run.notice", {})], told.extend)


def test_one_run_that_cannot_be_written_does_not_take_others_with_it(make_store: MakeStore, writer: RunWriter) -> None:
    good, results = make_store("run-1"), []
    broken = make_store("run-2")
    ready = threading.Barrier(2)

    def record(store: SqlRunStore, rows: list) -> None:
        ready.wait(5)
        try:
            store.record(rows, [Event("step.finished", {"step": 0})], lambda events: None)
            results.append("written")
        except Exception as error:
            results.append(type(error).__name__)

    bad_row = StepRecord("run-9", 0)  # breaks the foreign key to its run
    threads = [
        threading.Thread(target=record, args=(good, [StepRecord("run-1", 0)])),
        threading.Thread(target=record, args=(broken, [bad_row])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(results) == ["StorageError", "written"]


def test_what_the_database_cannot_hold_fails_alone_and_ends_no_thread(
    database: Database, make_store: MakeStore, writer: RunWriter, told: list
) -> None:
    broken, good = make_store("run-1"), make_store("run-2")
    too_large = RunRecord("run-1", usage=Usage(10**30, 1))  # SQLite's numbers end at 64 bits; no error of SQLAlchemy
    writer._pending.append(Batch("run-1", 1, [too_large], [Event("run.notice", {})], told.extend, awaited=False))
    good.record([], [Event("step.finished", {"step": 0})], told.extend)  # both in one commit
    with pytest.raises(StorageError):
        broken.record([], [Event("run.notice", {})], told.extend)
    by_itself = threading.Event()
    for store in (broken, good):
        store.record([], [delta("a", 0)], told.extend, wait=False)
    broken.record([], [delta("\ud800", 1)], told.extend, wait=False)  # no UTF-8
    good.record([], [delta("b", 1)], lambda events: by_itself.set(), wait=False)  # left to the writer's own thread
    assert by_itself.wait(5)
    assert "step.finished" in [row[1] for row in rows_of(database, "run-2")]


def test_calls_and_steps_are_written_anew_at_each_change(
    database: Database, make_store: MakeStore, blobs: dict[str, str]
) -> None:
    store = make_store()
    call = {"id": "c1", "function": {"name": "calculator", "arguments": "{}"}, "status": "executing", "result": None}
    store.record([CallRecord("run-1", 0, 0, call)], [], lambda e: None)
    done = {**call, "status": "success", "result": "cut", "execution_time": 0.1}
    store.record([CallRecord("run-1", 0, 0, done, full_result="whole")], [], lambda e: None)
    store.record([StepRecord("run-1", 0, text="a")], [], lambda e: None)
    store.record([StepRecord("run-1", 0, text="b", status="completed", usage=Usage(3, 4))], [], lambda e: None)
    with database.read() as session:
        row = session.scalars(select(ToolCall)).one()
        step = session.scalars(select(Step)).one()
    assert (row.status, row.result, blobs[row.result_blob or ""]) == ("success", "cut", "whole")
    assert (step.text, step.status, step.usage["total_tokens"]) == ("b", "completed", 7)


def test_an_answer_takes_its_place_in_the_conversation(database: Database, make_store: MakeStore, told: list) -> None:
    with database.write() as session:
        session.add(Conversation(id="c", owner_id="owner", updated_at=utc_now(), active_leaf_id="q", last_position=1))
        session.flush()
        session.add(Message(id="q", conversation_id="c", position=1, role="user", content="question"))
    store = make_store(conversation_id="c")
    answer = MessageRecord(new_id(), "c", "q", "assistant", "the answer", "run-1", created_at=iso_now())
    store.record([answer], [Event("message.completed", {"message": answer.to_json()})], told.extend)
    assert told[0].data["message"]["position"] == 2
    with database.read() as session:
        conversation = session.get_one(Conversation, "c")
        found = session.connection().exec_driver_sql("SELECT object_id FROM search_index WHERE text MATCH 'answer'")
        assert found.scalar() == answer.id
    assert conversation.active_leaf_id == answer.id


def test_an_answer_leaves_a_reader_on_another_branch_where_they_are(database: Database, make_store: MakeStore) -> None:
    with database.write() as session:
        session.add(Conversation(id="c", owner_id="owner", updated_at=utc_now(), active_leaf_id="x", last_position=2))
        session.flush()
        session.add(Message(id="q", conversation_id="c", position=1, role="user"))
        session.add(Message(id="x", conversation_id="c", position=2, role="user"))
    store = make_store(conversation_id="c")
    store.record([MessageRecord(new_id(), "c", "q", "assistant", "late", "run-1")], [], lambda e: None)
    with database.read() as session:
        assert session.get_one(Conversation, "c").active_leaf_id == "x"


def test_a_run_that_is_handed_over_begins_nothing_new(
    database: Database, writer: RunWriter, make_store: MakeStore
) -> None:
    make_store()
    handover = threading.Event()
    store = SqlRunStore(database, writer, RunPlace("run-1", 1, None, handover))
    store.record([StepRecord("run-1", 0)], [], lambda e: None)
    handover.set()
    store.record([StepRecord("run-1", 0, status="completed", model_calls=1)], [], lambda e: None)
    with pytest.raises(LeaseLost):
        store.record([StepRecord("run-1", 1)], [], lambda e: None)


def test_rows_that_nobody_waits_for_are_written_too(database: Database, make_store: MakeStore, told: list) -> None:
    store = make_store()
    call = {"id": "c1", "function": {"name": "calculator", "arguments": "{}"}, "status": "success", "result": "4"}
    for i in range(5):
        store.record([], [delta("x", i)], told.extend, wait=False)
        store.record(
            [CallRecord("run-1", 0, i, {**call, "id": f"c{i}"})], [Event("run.notice", {})], told.extend, wait=False
        )
    store.record([], [Event("step.finished", {"step": 0})], told.extend)
    with database.read() as session:
        assert len(session.scalars(select(ToolCall)).all()) == 5
    assert [e.seq for e in told] == list(range(1, len(told) + 1))
