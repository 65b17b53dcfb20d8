"""The queue: runs are executed once, cancelled at once, taken over when their worker is gone."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update
from support.model_server import Call, ModelServer, Turn

from backend.app import Instance
from backend.errors import Conflict, ModelError
from backend.ids import utc_now
from backend.models import Message, Run, Step, ToolCall, User
from backend.services.auth import ensure_owner
from backend.services.chat import ChatService, NewMessage
from backend.services.conversations import create_conversation
from backend.services.messages import edit_queued, withdraw_queued
from backend.services.projects import NewProject, create_project, delete_project, restore_project
from backend.services.running.execution import recover_waiting
from backend.services.runs import NewTask, start_task
from backend.services.settling import continue_run
from backend.stores.leases import Leases
from backend.stores.sql import RunPlace, SqlRunStore

Make = Callable[[], Instance]
Task = Callable[[Instance, str], str]


def finished(instance: Instance, run_id: str) -> Run:
    """Follow a run to its end."""
    for _ in instance.events.subscribe(run_id):
        pass
    with instance.runtime.db.read() as session:
        return session.get_one(Run, run_id)


def test_a_task_runs_to_its_end(make_instance: Make, task: Task, model: ModelServer) -> None:
    model.script("m", [Turn(tool_calls=[Call("calculator", {"expression": "6*7"})]), Turn(text="42")])
    instance = make_instance()
    instance.start()
    run = finished(instance, task(instance, "6*7?"))
    assert (run.status, run.output, run.step_count) == ("completed", "42", 2)
    assert run.lease_owner is None
    assert run.model == "m"


def test_cancel_of_a_waiting_run_ends_it_without_a_model(make_instance: Make, task: Task, model: ModelServer) -> None:
    instance = make_instance()  # not started: nothing takes the run
    run_id = task(instance, "never")
    receipt = instance.queue.cancel(run_id)
    assert receipt["status"] == "cancelled"
    assert finished(instance, run_id).stop_reason == "cancelled"
    assert model.requests() == []


def test_cancel_reaches_the_model_stream(make_instance: Make, task: Task, model: ModelServer) -> None:
    gate = threading.Event()
    turn = Turn(text=["begun " * 10, "and never ended"], gates={1: gate})
    model.script("m", [turn])
    instance = make_instance()
    instance.start()
    run_id = task(instance, "talk")
    assert any(event and event.type == "text.delta" for event in instance.events.subscribe(run_id))
    assert turn.held.wait(10)
    receipt = instance.queue.cancel(run_id)
    assert receipt["status"] == "cancelled"
    assert [item["type"] for item in receipt["stopped"]] == ["model"]
    assert turn.client_left.wait(5)
    gate.set()
    run = finished(instance, run_id)
    assert (run.status, run.output) == ("cancelled", "begun " * 10)
    assert instance.queue.cancel(run_id)["status"] == "cancelled"


def test_runs_of_a_dead_worker_are_taken_over(make_instance: Make, task: Task, model: ModelServer) -> None:
    model.script("m", [Turn(text="done")])
    first = make_instance()
    run_id = task(first, "work")
    with first.runtime.db.write() as session:  # as a worker left it that was killed in its first step
        dead = {"status": "running", "lease_owner": "dead", "lease_epoch": 1, "started_at": utc_now()}
        session.execute(update(Run).where(Run.id == run_id).values(dead))
    second = make_instance()
    second.start()
    run = finished(second, run_id)
    assert (run.status, run.output, run.lease_epoch) == ("completed", "done", 2)


def test_one_busy_user_does_not_keep_others_waiting(make_instance: Make, model: ModelServer) -> None:
    gate = threading.Event()
    instance = make_instance()
    with instance.runtime.db.write() as session:
        session.add_all([User(id=name, name=name, role="user", settings={}) for name in ("busy", "other")])
    order: list[str] = []

    def answer(body: dict) -> Turn:
        order.append(body["messages"][-1]["content"])
        return Turn(text="ok", gate=gate)

    model.script("m", [answer] * 12)
    runs = [start_task(instance.runtime, "busy", NewTask(f"busy {i}"))["id"] for i in range(10)]
    runs.append(start_task(instance.runtime, "other", NewTask("other"))["id"])
    instance.start()
    gate.set()
    for run_id in runs:
        assert finished(instance, run_id).status == "completed"
    assert order.index("other") < 6, order


def test_a_stopped_server_hands_its_runs_over(make_instance: Make, task: Task, model: ModelServer) -> None:
    gate = threading.Event()
    slow = Turn(text="first", tool_calls=[Call("calculator", {"expression": "1+1"})], gate=gate)
    model.script("m", [slow, Turn(text="the end")])
    first = make_instance()
    first.start()
    run_id = task(first, "work")
    assert slow.held.wait(10)
    stopper = threading.Thread(target=first.queue.stop)
    stopper.start()
    gate.set()
    stopper.join(15)
    second = make_instance()
    second.start()
    run = finished(second, run_id)
    assert (run.status, run.output) == ("completed", "the end")
    with second.runtime.db.read() as session:
        calls = session.scalars(select(ToolCall)).all()
    assert [(c.status, c.result) for c in calls] == [("success", calls[0].result)]


def test_a_clock_that_jumps_costs_no_run_its_worker(
    make_instance: Make, task: Task, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = [0]
    monkeypatch.setattr("backend.stores.leases.utc_now", lambda: utc_now() + timedelta(hours=hours[0]))
    monkeypatch.setattr("backend.workers.local.HEARTBEAT_SECONDS", 0.05)
    gate = threading.Event()
    turn = Turn(text="still here", gate=gate)
    model.script("m", [turn])
    instance = make_instance()
    instance.start()
    run_id = task(instance, "wait")
    assert turn.held.wait(30)
    for hours[0] in (3, -3, 0):  # forward, far back, and as it was
        _wait_heartbeat(instance, run_id, utc_now() + timedelta(hours=hours[0]))
    gate.set()
    run = finished(instance, run_id)
    assert (run.status, run.output, run.lease_epoch) == ("completed", "still here", 1)
    assert len(model.requests()) == 1


def _wait_heartbeat(instance: Instance, run_id: str, now: datetime) -> None:
    """Until the lease was extended by this clock, twice: a look for runs that nobody has lies in between."""
    pause, seen = threading.Event(), set()
    for _ in range(3000):
        with instance.runtime.db.read() as session:
            until = session.scalar(select(Run.lease_expires_at).where(Run.id == run_id))
        if until and abs((until.replace(tzinfo=now.tzinfo) - now).total_seconds()) < 1800:
            seen.add(until)
        if len(seen) > 1:
            return
        pause.wait(0.01)
    raise AssertionError("the lease was not extended")


def test_a_run_that_can_no_longer_be_assembled_keeps_what_was_done(
    make_instance: Make, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    second = Turn(text="and more", gate=gate)
    model.script("m", [Turn(text="Counted.", tool_calls=[Call("calculator", {"expression": "1+1"})]), second])
    first = make_instance()
    first.start()
    owner = ensure_owner(first.runtime.db)
    conversation = create_conversation(first.runtime, owner, {})["id"]
    run_id = ChatService(first.runtime).send_message(owner, conversation, NewMessage("Count."))["run"]["id"]
    assert second.held.wait(30)
    first.queue.stop()  # as if it had been killed in its second step: it never hears the model's answer

    def gone(*_: object) -> None:
        raise ModelError("There is no such model any more.")

    monkeypatch.setattr("backend.services.running.execution.assemble", gone)
    again = make_instance()
    again.start()
    run = finished(again, run_id)
    gate.set()
    assert (run.status, run.stop_reason, run.error["code"]) == ("failed", "error", "model_error")
    with again.runtime.db.read() as session:
        answer = session.scalars(select(Message).where(Message.run_id == run_id, Message.role == "assistant")).one()
        steps = session.scalars(select(Step).where(Step.run_id == run_id)).all()
    assert (answer.content, answer.error["code"]) == ("Counted.", "model_error")
    assert all(step.finished_at for step in steps)


def test_a_run_that_even_giving_up_kills_is_ended_with_nothing_open(
    make_instance: Make, task: Task, model: ModelServer
) -> None:
    instance = make_instance()
    run_id = task(instance, "deadly")
    call = {"id": "c", "type": "function", "function": {"name": "calculator", "arguments": "{}"}, "status": "executing"}
    dead = {"status": "running", "lease_owner": "dead", "started_at": utc_now(), "deaths": 9, "done_at_death": 2}
    with instance.runtime.db.write() as session:
        session.execute(update(Run).where(Run.id == run_id).values(dead))
        session.add(Step(run_id=run_id, index=0, status="running", usage={}))
        fixed = {"step": 0, "position": 0, "name": "calculator", "status": "executing"}
        session.add(ToolCall(run_id=run_id, id="c", call=call, **fixed))
    instance.start()
    run = finished(instance, run_id)
    assert (run.status, run.error["code"], run.deaths) == ("failed", "crash_loop", 10)
    with instance.runtime.db.read() as session:
        assert session.scalars(select(Step.status)).all() == ["failed"]
        assert session.scalars(select(ToolCall.status)).all() == ["unknown"]
    assert model.requests() == []


def test_messages_that_a_run_has_taken_stay_as_they_are(make_instance: Make) -> None:
    instance = make_instance()  # not started: the run is ours
    runtime = instance.runtime
    owner = ensure_owner(runtime.db)
    conversation = create_conversation(runtime, owner, {})["id"]
    chat = ChatService(runtime)
    run_id = chat.send_message(owner, conversation, NewMessage("Go."))["run"]["id"]
    waiting = chat.send_message(owner, conversation, NewMessage("And this."))["message"]["id"]
    edit_queued(runtime, owner, waiting, "And that.")
    leases = Leases(runtime.db, "a")
    lease = leases.claim(run_id)
    assert lease is not None
    store = SqlRunStore(runtime.db, instance.writer, RunPlace(run_id, lease.epoch, conversation))
    assert [m.content for m in store.waiting_messages(3)] == ["And that."]
    with pytest.raises(Conflict):
        edit_queued(runtime, owner, waiting, "Too late.")
    with pytest.raises(Conflict):
        withdraw_queued(runtime, owner, waiting)
    leases.release(lease)
    assert leases.claim(run_id) is not None  # its worker died before it could add it: it waits again
    withdraw_queued(runtime, owner, waiting)
    assert store.waiting_messages(3) == []


def test_nothing_begins_in_a_deleted_project_until_it_is_restored(
    make_instance: Make, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.workers.local.HEARTBEAT_SECONDS", 0.05)
    turn = Turn(text="never", gate=threading.Event())
    model.script("m", [turn, Turn(text="answered")])
    instance = make_instance()
    instance.start()
    runtime = instance.runtime
    owner = ensure_owner(runtime.db)
    project = create_project(runtime, owner, NewProject("p"))["id"]
    task = start_task(runtime, owner, NewTask("/calculator 1+1", project))["id"]
    finished(instance, task)
    conversation = create_conversation(runtime, owner, {"project_id": project})["id"]
    chat = ChatService(runtime)
    run_id = chat.send_message(owner, conversation, NewMessage("Go."))["run"]["id"]
    chat.send_message(owner, conversation, NewMessage("And this."))
    assert turn.held.wait(30)
    delete_project(runtime, owner, project)
    assert finished(instance, run_id).status == "cancelled"
    instance.queue.stop()  # whatever follows the run's end has come
    assert recover_waiting(runtime) == []
    with runtime.db.read() as session:
        assert session.scalars(select(Run.id).where(Run.kind == "chat")).all() == [run_id]
        assert session.scalars(select(Message.state).where(Message.content == "And this.")).all() == ["queued"]
    with pytest.raises(Conflict):
        chat.send_message(owner, conversation, NewMessage("Hello?"))
    with runtime.db.write() as session:
        session.get_one(Run, task).status = "failed"
    with pytest.raises(Conflict):
        continue_run(runtime, owner, task, None)
    again = make_instance()
    again.start()
    restore_project(again.runtime, owner, project)
    assert _answer(again, conversation) == "answered"


def _answer(instance: Instance, conversation: str) -> str:
    """What is said at last in a conversation where a run begins by itself."""
    pause, newest = threading.Event(), select(Run.id).where(Run.conversation_id == conversation)
    for _ in range(3000):
        with instance.runtime.db.read() as session:
            ids = session.scalars(newest.order_by(Run.created_at)).all()
        if len(ids) > 1:
            return finished(instance, ids[-1]).output or ""
        pause.wait(0.01)
    raise AssertionError("nothing has begun")
