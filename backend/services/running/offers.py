"""Which tools a run is offered, and under which policy."""

from collections.abc import Iterable, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from ...models import ToolSetting
from ...tools.context import DEFAULT_POLICY
from ...tools.core import ToolDefinition, ToolRegistry


def policies(session: Session, registry: ToolRegistry) -> dict[str, str]:
    """Policy of every tool: the administrator's word, else what follows from its risk; switched off means deny."""
    settings = {row.name: row for row in session.scalars(select(ToolSetting))}
    result = {}
    for definition in registry.all():
        row = settings.get(definition.name)
        if row is not None and not row.enabled:
            result[definition.name] = "deny"
        else:
            result[definition.name] = (row.policy if row else None) or DEFAULT_POLICY[definition.risk]
    return result


def offered(
    registry: ToolRegistry, policy: dict[str, str], allowed: Sequence[str] | None, asked: Sequence[str] | None
) -> tuple[str, ...]:
    """Names of the tools that stand, are not denied, and that project and request allow (None = all)."""
    return tuple(d.name for d in _standing(registry.all(), policy) if _in(d.name, allowed) and _in(d.name, asked))


def _standing(definitions: Iterable[ToolDefinition], policy: dict[str, str]) -> Iterable[ToolDefinition]:
    for definition in definitions:
        if policy.get(definition.name) != "deny" and not (definition.unavailable and definition.unavailable()):
            yield definition


def _in(name: str, names: Sequence[str] | None) -> bool:
    return names is None or name in names
