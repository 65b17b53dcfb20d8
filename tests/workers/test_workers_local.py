"""The queue: runs are executed once, cancelled at once, taken over when their worker is gone."""

import threading
from collections.abc import Callable

from sqlalchemy import select, update
from support.model_server import Call, ModelServer, Turn

from backend.app import Instance
from backend.ids import utc_now
from backend.models import Run, ToolCall, User
from backend.services.runs import NewTask, start_task

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
