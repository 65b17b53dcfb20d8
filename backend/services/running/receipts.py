"""What a cancel did: which work was stopped, which had finished, which was abandoned, and what it all cost."""

from dataclasses import dataclass

from sqlalchemy import select

from ...agent.types import JsonObject
from ...errors import NotFound
from ...models import Run, ToolCall
from ..runtime import Runtime

OPEN = ("pending", "executing", "waiting_approval")
DONE = ("success", "error", "timeout", "permission_denied")


@dataclass(frozen=True, slots=True)
class Look:
    """A run as it was when the cancel came: its status and the calls that were under way."""

    status: str
    open_calls: frozenset[str]


def owner_of(runtime: Runtime, run_id: str) -> str:
    """The user a run belongs to. Raises NotFound."""
    with runtime.db.read() as session:
        owner = session.scalar(select(Run.owner_id).where(Run.id == run_id))
    if owner is None:
        raise NotFound("This run does not exist.")
    return owner


def cancel_requested(runtime: Runtime, run_id: str) -> bool:
    """True if someone asked to cancel, perhaps before a restart."""
    with runtime.db.read() as session:
        return session.scalar(select(Run.cancel_requested_at).where(Run.id == run_id)) is not None


def look(runtime: Runtime, run_id: str) -> Look:
    """The run now. Raises NotFound."""
    with runtime.db.read() as session:
        status = session.scalar(select(Run.status).where(Run.id == run_id))
        if status is None:
            raise NotFound("This run does not exist.")
        calls = session.scalars(select(ToolCall.id).where(ToolCall.run_id == run_id, ToolCall.status.in_(OPEN)))
        return Look(status, frozenset(calls))


def receipt(runtime: Runtime, run_id: str, before: Look) -> JsonObject:
    """`{status, stopped, finished, abandoned, usage}`; the lists hold calls, child runs and the model's answer."""
    with runtime.db.read() as session:
        run = session.get_one(Run, run_id)
        calls = session.scalars(select(ToolCall).where(ToolCall.run_id == run_id).order_by(ToolCall.position)).all()
        children = session.scalars(select(Run).where(Run.parent_run_id == run_id)).all()
    stopped: list[JsonObject] = []
    finished: list[JsonObject] = []
    abandoned: list[JsonObject] = []
    for call in calls:
        item = {"type": "tool_call", "id": call.id, "name": call.name, "status": call.status}
        if call.status == "cancelled":
            (abandoned if call.call.get("degraded") == "abandoned" else stopped).append(item)
        elif call.status in DONE:
            finished.append(item)
        else:
            abandoned.append(item)
    for child in children:
        item = {"type": "run", "id": child.id, "status": child.status}
        (stopped if child.status == "cancelled" else finished if child.finished_at else abandoned).append(item)
    if run.status == "cancelled" and before.status == "running" and not before.open_calls:
        stopped.append({"type": "model", "id": run.id, "name": run.model})
    return {
        "status": run.status,
        "stopped": stopped,
        "finished": finished,
        "abandoned": abandoned,
        "usage": {
            "prompt_tokens": run.prompt_tokens,
            "completion_tokens": run.completion_tokens,
            "total_tokens": run.prompt_tokens + run.completion_tokens,
            "cost_micros": run.cost_micros,
            "currency": run.currency,
        },
    }
