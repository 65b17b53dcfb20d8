"""Tasks: agent runs with no conversation."""

from flask import Blueprint, Response

from ..services import runs
from .http import operation, reply, runtime, user_id
from .messages import run_request
from .runs import EVENT_STREAM, run_events
from .schemas import requests, run_answers
from .state import count_message

bp = Blueprint("tasks", __name__, url_prefix="/api/tasks")


@bp.post("")
@operation("Start a task", body=requests.TaskBody, returns={202: run_answers.Run}, errors=(404, 429))
def start(body: requests.TaskBody) -> Response:
    """202 with the run, status `queued`."""
    count_message()
    task = runs.NewTask(body.input, body.project_id, run_request(body))
    made = runs.start_task(runtime(), user_id(), task)
    return reply(made, 202, {"Location": f"/api/tasks/{made['id']}"})


@bp.get("/<task_id>")
@operation("One task", returns={200: run_answers.Run}, errors=(404,))
def show(task_id: str) -> Response:
    """RUN."""
    return reply(runs.show_run(runtime(), user_id(), task_id, "task"))


@bp.get("/<task_id>/status")
@operation("How a task stands", returns={200: run_answers.TaskStatus}, errors=(404,))
def status(task_id: str) -> Response:
    """Short, for polling."""
    return reply(runs.task_status(runtime(), user_id(), task_id))


@bp.get("/<task_id>/events")
@operation(
    "The events of a task, live", query=requests.EventsQuery, returns={200: EVENT_STREAM, 204: None}, errors=(404, 503)
)
def events(task_id: str, query: requests.EventsQuery) -> Response:
    """As those of any run."""
    runs.show_run(runtime(), user_id(), task_id, "task")
    return run_events(task_id, query)


@bp.post("/<task_id>/cancel")
@operation("Stop a task", returns={200: run_answers.Receipt}, errors=(404,))
def cancel(task_id: str) -> Response:
    """Idempotent."""
    runs.show_run(runtime(), user_id(), task_id, "task")
    return reply(runs.cancel(runtime(), user_id(), task_id))
