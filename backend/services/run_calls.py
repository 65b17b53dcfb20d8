"""The calls of runs as figures, and what a call was given beside the model's arguments."""

from collections.abc import Sequence

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import NotFound
from ..models import Project, Run, ToolCall, User
from ..tools.core import ToolRegistry
from .runtime import Runtime

# Those that a person should look at; a call that was cancelled did not fail.
FAILED = ("error", "timeout", "permission_denied", "unknown")
# What of a run's context may be shown. Anything else is told by its name alone: it lives in the process only.
SHOWN = ("user_id", "project_id", "conversation_id", "run_id", "call_id", "model", "limits", "tools")


def counts(session: Session, run_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Run id to (calls, failures), in one query; runs without calls are left out."""
    failed = func.sum(case((ToolCall.status.in_(FAILED), 1), else_=0))
    query = select(ToolCall.run_id, func.count(), failed).where(ToolCall.run_id.in_(run_ids)).group_by(ToolCall.run_id)
    return {run_id: (calls, failures) for run_id, calls, failures in session.execute(query)}


def injected(runtime: Runtime, run: Run, call_id: str) -> JsonObject:
    """`{items: [{key, argument, value, name}]}`: what the executor put into a call and the model never saw.

    `value` is null for what cannot be shown, such as the signal to stop; `name` is what a person calls the
    project or user. Raises NotFound for a call that the run does not have.
    """
    with runtime.db.read() as session:
        call = session.get(ToolCall, (run.id, call_id))
        if call is None:
            raise NotFound("There is no such call in this run.")
        values = _values(run, call_id)
        project = session.get(Project, run.project_id) if run.project_id else None
        named = {"project_id": _name(project), "user_id": _name(session.get(User, run.owner_id))}
    items = [
        {"key": key, "argument": argument, "value": values.get(key), "name": named.get(key)}
        for key, argument in _needs(runtime.registry, call.name)
    ]
    return {"items": items, "next_cursor": None}


def _values(run: Run, call_id: str) -> JsonObject:
    everything: JsonObject = {
        "user_id": run.owner_id,
        "project_id": run.project_id,
        "conversation_id": run.conversation_id,
        "run_id": run.id,
        "call_id": call_id,
        "model": run.model or None,
        "limits": run.limits or None,
        "tools": (run.options or {}).get("tools"),
    }
    return {key: everything[key] for key in SHOWN}


def _needs(registry: ToolRegistry, tool: str) -> tuple[tuple[str, str], ...]:
    definition = registry.get(tool)
    return definition.needs if definition else ()


def _name(row: Project | User | None) -> str | None:
    return row.name if row else None
