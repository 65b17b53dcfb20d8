"""Tools for people: the list with settings and figures, switches and policies, loading them anew."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import NotFound
from ..models import ToolSetting
from ..tools import init_tools
from ..tools.context import DEFAULT_POLICY
from ..tools.core import ToolDefinition
from .providers import configs
from .runtime import Runtime
from .tool_stats import stats


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is told of tools beside their definitions: figures and lacks by name, seconds that results are kept for."""

    stats: dict[str, JsonObject]
    lacks: dict[str, str]
    cache_seconds: float


def _facts(runtime: Runtime, session: Session, user_id: str, names: Sequence[str]) -> _Facts:
    return _Facts(stats(session, user_id, names), _lacks(runtime), runtime.executor.cache_seconds)


def _lacks(runtime: Runtime) -> dict[str, str]:
    """Tools that work, but not as well as they could: searching asks engines that want no key, helpers have no model."""
    lacks = {} if runtime.settings.search_url else {"web_search": "no_key"}
    return lacks if configs(runtime) else {**lacks, "multi_agent": "no_model"}


def list_tools(runtime: Runtime, user_id: str) -> JsonObject:
    """`{items, next_cursor: null, file_errors}`: every tool, and the files of tools that could not be loaded."""
    with runtime.db.read() as session:
        settings = {row.name: row for row in session.scalars(select(ToolSetting))}
        facts = _facts(runtime, session, user_id, runtime.registry.names())
    items = [tool_json(definition, settings.get(definition.name), facts) for definition in runtime.registry.all()]
    return {"items": items, "next_cursor": None, "file_errors": _file_errors(runtime)}


def tool_json(definition: ToolDefinition, setting: ToolSetting | None, facts: _Facts) -> JsonObject:
    """A tool as the API shows it; `error` says why it cannot be used on this machine, `lacks` what it works worse without."""
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
        "cache_seconds": (definition.cache_ttl or facts.cache_seconds) if definition.cacheable else None,
        "egress": definition.egress,
        "risk": definition.risk,
        "needs_project": any(key == "project_id" for key, _ in definition.needs),
        "timeout": definition.timeout,
        "error": definition.unavailable() if definition.unavailable else None,
        "lacks": facts.lacks.get(definition.name),
        "stats": facts.stats[definition.name],
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
        answer = tool_json(definition, row, _facts(runtime, session, user_id, [name]))
    runtime.tabs.publish(user_id, "tool", name)
    return answer


def reload(runtime: Runtime) -> JsonObject:
    """Load the tools anew, those in the instance folder too; the registry is swapped whole."""
    runtime.tool_errors = init_tools(runtime.settings.instance / "tools")
    runtime.tabs.publish_to_all("tools", "")
    return {"tools": len(runtime.registry.names()), "errors": _file_errors(runtime)}


def _file_errors(runtime: Runtime) -> list[JsonObject]:
    return [asdict(error) for error in runtime.tool_errors.errors]
