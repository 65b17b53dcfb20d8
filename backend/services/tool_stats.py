"""How a person's tool calls went: sums of 30 days, and of the last 24 hours with how long they took.

Both read only the stretch of the index over (name, started_at) that lies in their time, never the whole table.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Select, and_, case, func, select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..ids import iso, utc_now
from ..models import Run, ToolCall
from .run_calls import FAILED
from .serializers import COPY

STATS_DAYS = 30
DAY_HOURS = 24
SHARES = {"p50": 50, "p95": 95}
NO_DAY: JsonObject = {"calls": 0, "errors": 0, "cached": 0, "p50_seconds": None, "p95_seconds": None}


def stats(session: Session, user_id: str, names: Sequence[str]) -> dict[str, JsonObject]:
    """By tool: `{calls, errors, cached, average_seconds, last_used_at, day: {calls, errors, cached, p50_seconds, p95_seconds}}`."""
    month = _sums(session, user_id, names, timedelta(days=STATS_DAYS))
    hours = timedelta(hours=DAY_HOURS)
    today = _sums(session, user_id, names, hours)
    times = _percentiles(session, user_id, names, hours)
    return {name: _shown(month.get(name), today.get(name), times.get(name)) for name in names}


def used(session: Session, user_id: str, names: Sequence[str], back: timedelta) -> list[JsonObject]:
    """`[{name, calls, errors}]` of the tools that were used since then, the most used first."""
    sums = sorted(_sums(session, user_id, names, back).values(), key=lambda row: (-row.calls, row.name))
    return [{"name": row.name, "calls": row.calls, "errors": row.errors} for row in sums]


def _shown(month: Any, today: Any, times: Any) -> JsonObject:
    day = NO_DAY
    if today is not None:
        day = {
            "calls": today.calls,
            "errors": today.errors,
            "cached": today.cached,
            "p50_seconds": _rounded(times and times.p50),
            "p95_seconds": _rounded(times and times.p95),
        }
    return {
        "calls": month.calls if month else 0,
        "errors": month.errors if month else 0,
        "cached": month.cached if month else 0,
        "average_seconds": _rounded(month and month.average),
        "last_used_at": month.last if month else None,
        "day": day,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)


def _sums(session: Session, user_id: str, names: Sequence[str], back: timedelta) -> dict[str, Any]:
    query = _mine(
        select(
            ToolCall.name,
            func.count().label("calls"),
            func.sum(case((ToolCall.status.in_(FAILED), 1), else_=0)).label("errors"),
            func.sum(case((ToolCall.cached, 1), else_=0)).label("cached"),
            func.avg(ToolCall.execution_time).label("average"),
            func.max(ToolCall.started_at).label("last"),
        ),
        user_id, names, back,
    ).group_by(ToolCall.name)  # fmt: skip
    return {row.name: row for row in session.execute(query)}


def percentiles_query(user_id: str, names: Sequence[str], back: timedelta) -> Select[Any]:
    """For each tool how long its calls took at most, for half and for 95 % of them; reused results took no time."""
    name, seconds = ToolCall.name, ToolCall.execution_time
    measured = and_(seconds.is_not(None), ToolCall.cached.is_(False))
    place = func.row_number().over(partition_by=name, order_by=seconds)
    count = func.count().over(partition_by=name)
    ranked = _mine(
        select(name, seconds.label("seconds"), place.label("place"), count.label("count")).where(measured),
        user_id, names, back,
    ).subquery()  # fmt: skip
    marks = [
        func.min(case((ranked.c.place * 100 >= ranked.c["count"] * share, ranked.c.seconds))).label(label)
        for label, share in SHARES.items()
    ]
    return select(ranked.c.name, *marks).group_by(ranked.c.name)


def _percentiles(session: Session, user_id: str, names: Sequence[str], back: timedelta) -> dict[str, Any]:
    return {row.name: row for row in session.execute(percentiles_query(user_id, names, back))}


def _mine(query: Select[Any], user_id: str, names: Sequence[str], back: timedelta) -> Select[Any]:
    """The user's calls of these tools since then. Named tools let the index be used up to the time."""
    since = iso(utc_now() - back)
    # An expression, not the bare column: else SQLite begins with all runs of the user, and looks at each one's calls.
    owner = func.coalesce(Run.owner_id, "")
    return (
        query.join(Run, Run.id == ToolCall.run_id)
        .where(ToolCall.name.in_(names), ToolCall.started_at >= since)
        .where(owner == user_id, Run.kind != COPY)  # a fork has used no tool
    )
