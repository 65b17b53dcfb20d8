"""Tools for people: the list with settings and figures, switches and policies, loading them anew."""

from dataclasses import asdict
from datetime import timedelta

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import NotFound
from ..ids import iso, utc_now
from ..models import Run, ToolCall, ToolSetting
from ..tools import init_tools
from ..tools.context import DEFAULT_POLICY
from ..tools.core import ToolDefinition
from .runtime import Runtime

STATS_DAYS = 30
NO_STATS: JsonObject = {"calls": 0, "errors": 0, "cached": 0, "average_seconds": None, "last_used_at": None}


def list_tools(runtime: Runtime, user_id: str) -> JsonObject:
    """`{items, next_cursor: null, file_errors}`: every tool, and the files of tools that could not be loaded."""
    with runtime.db.read() as session:
        settings = {row.name: row for row in session.scalars(select(ToolSetting))}
        stats = _stats(session, user_id)
    items = [
        tool_json(definition, settings.get(definition.name), stats.get(definition.name, NO_STATS))
        for definition in runtime.registry.all()
    ]
    return {"items": items, "next_cursor": None, "file_errors": _file_errors(runtime)}


def tool_json(definition: ToolDefinition, setting: ToolSetting | None, stats: JsonObject) -> JsonObject:
    """A tool as the API shows it; `error` says why it cannot be used on this machine."""
    return {
        "name": definition.name,
        "description": definition.description,
        "category": definition.category,
        "parameters": definition.parameters,
        "enabled": setting.enabled if setting else True,
        "policy": (setting.policy if setting else None) or DEFAULT_POLICY[definition.risk],
        "read_only": definition.read_only,
        "concurrency_safe": definition.concurrency_safe,
        "cacheable": definition.cacheable,
        "egress": definition.egress,
        "risk": definition.risk,
        "needs_project": any(key == "project_id" for key, _ in definition.needs),
        "timeout": definition.timeout,
        "error": definition.unavailable() if definition.unavailable else None,
        "stats": stats,
    }


def change_tool(runtime: Runtime, user_id: str, name: str, changes: JsonObject) -> JsonObject:
    """Switch a tool on or off, or set its policy (null: the default). Raises NotFound."""
    definition = runtime.registry.get(name)
    if definition is None:
        raise NotFound(f"There is no tool {name!r}.")
    with runtime.db.write() as session:
        row = session.get(ToolSetting, name)
        if row is None:
            row = ToolSetting(name=name, enabled=True, policy=None)
            session.add(row)
        for field in ("enabled", "policy"):
            if field in changes:
                setattr(row, field, changes[field])
        session.flush()
        answer = tool_json(definition, row, _stats(session, user_id, name).get(name, NO_STATS))
    runtime.tabs.publish(user_id, "tool", name)
    return answer


def reload(runtime: Runtime) -> JsonObject:
    """Load the tools anew, those in the instance folder too; the registry is swapped whole."""
    runtime.tool_errors = init_tools(runtime.settings.instance / "tools")
    return {"tools": len(runtime.registry.names()), "errors": _file_errors(runtime)}


def _file_errors(runtime: Runtime) -> list[JsonObject]:
    return [asdict(error) for error in runtime.tool_errors.errors]


def _stats(session: Session, user_id: str, name: str | None = None) -> dict[str, JsonObject]:
    """The user's calls of the last 30 days, by tool."""
    since = iso(utc_now() - timedelta(days=STATS_DAYS))
    query = (
        select(
            ToolCall.name,
            func.count().label("calls"),
            func.sum(case((ToolCall.status.in_(("error", "timeout")), 1), else_=0)).label("errors"),
            func.sum(case((ToolCall.cached, 1), else_=0)).label("cached"),
            func.avg(ToolCall.execution_time).label("average"),
            func.max(ToolCall.started_at).label("last"),
        )
        .join(Run, Run.id == ToolCall.run_id)
        .where(Run.owner_id == user_id, ToolCall.started_at >= since)
        .group_by(ToolCall.name)
    )
    if name is not None:
        query = query.where(ToolCall.name == name)
    return {
        row.name: {
            "calls": row.calls,
            "errors": row.errors,
            "cached": row.cached,
            "average_seconds": round(row.average, 4) if row.average is not None else None,
            "last_used_at": row.last,
        }
        for row in session.execute(query)
    }
