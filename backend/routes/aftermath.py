"""After a run: settle an unknown call, go on, see what it did to files, and put that back."""

from flask import Blueprint, Response

from ..services import settling, undo
from .http import operation, reply, runtime, user_id
from .schemas import answers, requests, run_answers
from .state import count_message

bp = Blueprint("aftermath", __name__, url_prefix="/api/runs")


@bp.post("/<run_id>/calls/<path:call_id>/resolve")
@operation("Settle an unknown outcome", body=requests.ResolveBody, returns={200: run_answers.Call}, errors=(404, 409))
def resolve(run_id: str, call_id: str, body: requests.ResolveBody) -> Response:
    """A person has looked: the call was done, or not."""
    return reply(settling.resolve_call(runtime(), user_id(), run_id, call_id, body.outcome))


@bp.post("/<run_id>/continue")
@operation("Go on after a limit", body=requests.ContinueBody, returns={202: answers.Continued}, errors=(404, 409, 429))
def go_on(run_id: str, body: requests.ContinueBody) -> Response:
    """A new run that takes up the work of one that reached a limit, was stopped or failed."""
    count_message()
    limits = body.limits.model_dump(exclude_none=True) if body.limits else None
    return reply(settling.continue_run(runtime(), user_id(), run_id, limits), 202)


@bp.get("/<run_id>/changes")
@operation("What a run did to files", returns={200: run_answers.RunDiffs}, errors=(404,))
def diffs(run_id: str) -> Response:
    """Each path once, with the difference from before the run to after it."""
    return reply(undo.list_diffs(runtime(), user_id(), run_id))


@bp.post("/<run_id>/undo")
@operation(
    "Put back what a run did to files", body=requests.UndoBody, returns={200: run_answers.Undone}, errors=(404, 409)
)
def take_back(run_id: str, body: requests.UndoBody) -> Response:
    """The whole run, one step, or some paths; later edits are kept, or the conflict is told."""
    paths = None if body.paths is None else tuple(body.paths)
    return reply(undo.undo(runtime(), user_id(), run_id, undo.Wanted(body.step, paths)))
