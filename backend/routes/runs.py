"""Runs: what the agent did, live and afterwards."""

import json
from io import BytesIO

from flask import Blueprint, Response, request
from werkzeug.wsgi import wrap_file

from ..channels.log import Changed, LoggedEvent
from ..services import runs
from .downloads import attachment
from .http import nothing, operation, reply, runtime, user_id
from .schemas import answers, requests, run_answers
from .sse import Frame, last_event_id, still_signed_in, stream

bp = Blueprint("runs", __name__, url_prefix="/api")
EVENT_STREAM = "text/event-stream"


@bp.get("/runs")
@operation("List runs", query=requests.RunsQuery, returns={200: answers.page_of(run_answers.ListedRun)})
def list_runs(query: requests.RunsQuery) -> Response:
    """Newest first."""
    wanted = runs.RunFilter(query.project_id, query.conversation_id, query.status, query.kind, query.parent_run_id)
    return reply(runs.list_runs(runtime(), user_id(), query.page(), wanted))


@bp.get("/runs/<run_id>")
@operation("One run", returns={200: run_answers.Run}, errors=(404,))
def show_run(run_id: str) -> Response:
    """RUN."""
    return reply(runs.show_run(runtime(), user_id(), run_id))


@bp.get("/runs/<run_id>/steps")
@operation(
    "The steps of a run, with their calls",
    query=requests.PageQuery,
    returns={200: answers.page_of(run_answers.Step)},
    errors=(404,),
)
def list_steps(run_id: str, query: requests.PageQuery) -> Response:
    """In order."""
    return reply(runs.list_steps(runtime(), user_id(), run_id, query.page()))


@bp.get("/runs/<run_id>/calls/<path:call_id>/result")
@operation("The whole result of a call", returns={200: "application/json", 206: "application/json"}, errors=(404, 416))
def show_result(run_id: str, call_id: str) -> Response:
    """Also when the model and the lists see it cut; ranges are honoured."""
    found = runs.open_result(runtime(), user_id(), run_id, call_id)
    stream_of = BytesIO(found) if isinstance(found, bytes) else found
    size = stream_of.seek(0, 2)
    stream_of.seek(0)
    response = Response(wrap_file(request.environ, stream_of), mimetype="application/json", direct_passthrough=True)
    return attachment(response, f"{call_id.replace('/', '_')}.json", size)


@bp.get("/runs/<run_id>/calls/<path:call_id>/context")
@operation(
    "What a call was given beside the model's arguments",
    returns={200: answers.page_of(run_answers.Injected)},
    errors=(404,),
)
def show_context(run_id: str, call_id: str) -> Response:
    """The model sees none of it; secrets are never among it."""
    return reply(runs.show_context(runtime(), user_id(), run_id, call_id))


@bp.get("/runs/<run_id>/events")
@operation(
    "The events of a run, live", query=requests.EventsQuery, returns={200: EVENT_STREAM, 204: None}, errors=(404, 503)
)
def show_events(run_id: str, query: requests.EventsQuery) -> Response:
    """From the start, or after Last-Event-ID; 204 when the run has ended and there is no more."""
    return run_events(run_id, query)


@bp.post("/runs/<run_id>/cancel")
@operation("Stop a run", returns={200: run_answers.Receipt}, errors=(404,))
def cancel(run_id: str) -> Response:
    """Idempotent; answers what was stopped, finished and abandoned."""
    return reply(runs.cancel(runtime(), user_id(), run_id))


@bp.get("/events")
@operation("What changes, for a whole tab", returns={200: EVENT_STREAM}, errors=(503,))
def tab_events() -> Response:
    """`changed {type, id}` of what the user may see."""
    return stream(runtime().tabs.feed(user_id()), _change_frame, still_signed_in())


def run_events(run_id: str, query: requests.EventsQuery) -> Response:
    """The stream of one run."""
    parts, who = runtime(), user_id()
    events = runs.watch(parts, who, run_id, last_event_id(query.after))
    if events is None:
        return nothing()
    signed_in = still_signed_in()
    return stream(events, _event_frame, lambda: signed_in() and runs.may_watch(parts, who, run_id))


def _event_frame(event: LoggedEvent) -> Frame:
    return Frame(event.type, event.data, event.seq)


def _change_frame(change: Changed) -> Frame:
    return Frame("changed", json.dumps({"type": change.type, "id": change.id}))
