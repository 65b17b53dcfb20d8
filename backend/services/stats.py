"""Usage: tokens and cost of a user's runs by day, week or month, how runs went, and how the queue stands."""

import math
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..ids import utc_now
from ..models import GOING_ON, Run
from . import tool_stats
from .runtime import Runtime
from .serializers import COPY

Period = Literal["daily", "weekly", "monthly"]
DAYS_SHOWN: dict[Period, int] = {"daily": 30, "weekly": 12 * 7, "monthly": 365}
MEASURED_RUNS = 5_000
SUMS = ("runs", "prompt_tokens", "completion_tokens", "cost_micros")


def tokens(runtime: Runtime, user_id: str, period: Period) -> JsonObject:
    """`{items: [{period, runs, prompt_tokens, …}], next_cursor: null}`, oldest first, periods without runs left out.

    `period` is the first day of the day, week (Monday) or month, UTC.
    """
    day = func.date(Run.created_at)
    query = (
        select(
            day.label("day"), Run.currency, func.count().label("runs"),
            func.sum(Run.prompt_tokens).label("prompt_tokens"),
            func.sum(Run.completion_tokens).label("completion_tokens"),
            func.sum(Run.cost_micros).label("cost_micros"),
        )
        .where(*_of(user_id, period))
        .group_by(day, Run.currency)
    )  # fmt: skip
    sums: dict[tuple[str, str], dict[str, int]] = {}
    with runtime.db.read() as session:
        for row in session.execute(query):
            start = _start(date.fromisoformat(str(row.day)), period).isoformat()
            into = sums.setdefault((start, row.currency), dict.fromkeys(SUMS, 0))
            for name in SUMS:
                into[name] += getattr(row, name)
    return {"items": [_item(*key, sums[key]) for key in sorted(sums)], "next_cursor": None}


def _of(user_id: str, period: Period) -> tuple[ColumnElement[bool], ...]:
    """The user's runs of the time that is shown for a period."""
    since = utc_now() - timedelta(days=DAYS_SHOWN[period])
    return Run.owner_id == user_id, Run.created_at >= since, Run.kind != COPY


def _start(day: date, period: Period) -> date:
    if period == "weekly":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if period == "monthly" else day


def _item(start: str, currency: str, sums: dict[str, int]) -> JsonObject:
    total = sums["prompt_tokens"] + sums["completion_tokens"]
    return {"period": start, **sums, "total_tokens": total, "currency": currency}


# ---------------------------------------------------------------- how runs went
def runs(runtime: Runtime, user_id: str, period: Period) -> JsonObject:
    """`{runs, ended, completed, measured, p95_seconds, models, tools}` of the time that `tokens` shows for the period."""
    mine = _of(user_id, period)
    with runtime.db.read() as session:
        seconds = _seconds(session, *mine)
        return {
            **_outcomes(session, *mine),
            "measured": len(seconds),
            "p95_seconds": _quantile(seconds, 0.95),
            "models": _models(session, *mine),
            "tools": tool_stats.used(session, user_id, runtime.registry.names(), timedelta(days=DAYS_SHOWN[period])),
        }


def _outcomes(session: Session, *mine: ColumnElement[bool]) -> JsonObject:
    ended = func.sum(case((Run.status.not_in(GOING_ON), 1), else_=0))
    completed = func.sum(case((Run.status == "completed", 1), else_=0))
    row = session.execute(select(func.count(), ended, completed).where(*mine)).one()
    return {"runs": row[0], "ended": row[1] or 0, "completed": row[2] or 0}


def _seconds(session: Session, *mine: ColumnElement[bool]) -> list[float]:
    """How long the newest runs took, the shortest first."""
    query = select(Run.started_at, Run.finished_at).where(*mine, Run.finished_at.is_not(None))
    rows = session.execute(query.order_by(Run.created_at.desc()).limit(MEASURED_RUNS))
    return sorted((end - begin).total_seconds() for begin, end in rows if begin and end)


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The value below which a share of the values lie (nearest rank); None for none."""
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 3) if ordered else None


def _models(session: Session, *mine: ColumnElement[bool]) -> list[JsonObject]:
    tokens_ = func.sum(Run.prompt_tokens + Run.completion_tokens)
    query = (
        select(Run.model, Run.currency, func.count(), tokens_, func.sum(Run.cost_micros))
        .where(*mine)
        .group_by(Run.model, Run.currency)
        .order_by(tokens_.desc(), Run.model)
    )
    names = ("model", "currency", "runs", "total_tokens", "cost_micros")
    return [dict(zip(names, row, strict=True)) for row in session.execute(query)]


# ---------------------------------------------------------------- the queue
def queue(runtime: Runtime) -> JsonObject:
    """`{waiting, running, workers, oldest_seconds}`: runs of everyone, as the database and this process know them."""
    with runtime.db.read() as session:
        waiting, oldest = session.execute(
            select(func.count(), func.min(Run.created_at)).where(Run.status == "queued")
        ).one()
        running = session.scalar(select(func.count()).where(Run.status == "running", Run.kind.in_(("chat", "task"))))
    return {
        "waiting": waiting,
        "running": running or 0,
        "workers": runtime.readiness().get("queue", {}).get("threads", 0),
        "oldest_seconds": round((utc_now() - oldest).total_seconds(), 1) if oldest else None,
    }
