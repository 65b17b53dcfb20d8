"""Usage over time: tokens and cost of a user's runs, by day, week or month."""

from datetime import date, timedelta
from typing import Literal

from sqlalchemy import func, select

from ..agent.types import JsonObject
from ..ids import utc_now
from ..models import Run
from .runtime import Runtime

Period = Literal["daily", "weekly", "monthly"]
DAYS_SHOWN: dict[Period, int] = {"daily": 30, "weekly": 12 * 7, "monthly": 365}
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
        .where(Run.owner_id == user_id, Run.created_at >= utc_now() - timedelta(days=DAYS_SHOWN[period]))
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


def _start(day: date, period: Period) -> date:
    if period == "weekly":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if period == "monthly" else day


def _item(start: str, currency: str, sums: dict[str, int]) -> JsonObject:
    total = sums["prompt_tokens"] + sums["completion_tokens"]
    return {"period": start, **sums, "total_tokens": total, "currency": currency}
