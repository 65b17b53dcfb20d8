"""The limits of a run: what may be asked for, and how request, project and defaults combine."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from ..agent.guardrails import GuardrailConfig
from ..agent.types import JsonObject
from ..errors import InvalidInput
from ..models import User

SETTING = "limits"
# name -> (least, most); whole numbers unless the name ends in _seconds
CEILINGS: dict[str, tuple[float, float]] = {
    "max_steps": (1, 200),
    "step_timeout_seconds": (1, 600),
    "run_timeout_seconds": (1, 3600),
    "max_retries_per_tool": (0, 10),
    "max_consecutive_errors": (1, 50),
}
DEFAULTS: dict[str, float] = {name: getattr(GuardrailConfig(), name) for name in CEILINGS}


def check(limits: Mapping[str, Any], where: str = "limits") -> None:
    """Raises InvalidInput naming every limit that is unknown, of a wrong type or out of bounds."""
    errors = {f"{where}.{name}": [why] for name, value in limits.items() if (why := _wrong(name, value))}
    if errors:
        raise InvalidInput("Some limits cannot be used.", errors)


def usual(session: Session, user_id: str) -> JsonObject | None:
    """The person's own default limits, from their settings; a damaged setting is left out."""
    user = session.get(User, user_id)
    chosen = user.settings.get(SETTING) if user else None
    if not isinstance(chosen, Mapping):
        return None
    return {name: value for name, value in chosen.items() if _wrong(name, value) is None}


def effective(*layers: Mapping[str, Any] | None) -> JsonObject:
    """The defaults, overlaid by each layer in turn (person, project, request); checked."""
    merged = dict(DEFAULTS)
    for layer in layers:
        check(layer or {})
        merged |= {name: value for name, value in (layer or {}).items() if value is not None}
    return merged


def _wrong(name: str, value: Any) -> str | None:
    if name not in CEILINGS:
        return f"unknown limit; there are {', '.join(CEILINGS)}"
    if value is None:
        return None
    low, high = CEILINGS[name]
    whole = not name.endswith("_seconds")
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        return "must be a whole number" if whole else "must be a number of seconds"
    if not low <= value <= high:
        return f"must be from {low:g} to {high:g}"
    return None
