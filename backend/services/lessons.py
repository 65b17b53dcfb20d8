"""What providers have taught about themselves, kept over restarts: one setting per provider and model."""

import json
import time
from collections.abc import Callable

from sqlalchemy import delete, select

from ..agent.types import JsonObject
from ..extensions import Database
from ..llm.lessons import KEPT_SECONDS
from ..models import Setting

PREFIX = "lessons:"
KEY_CHARS = 200

Load = Callable[[str], JsonObject | None]
Save = Callable[[str, JsonObject], None]


def kept_in(database: Database) -> tuple[Load, Save]:
    """How a `QuirkMemory` reads and keeps its lessons in this database."""

    def load(key: str) -> JsonObject | None:
        with database.read() as session:
            row = session.get(Setting, _name(key))
        return dict(json.loads(row.value)) if row else None

    def save(key: str, lessons: JsonObject) -> None:
        with database.write() as session:
            session.execute(delete(Setting).where(Setting.key == _name(key)))
            if lessons:
                session.add(Setting(key=_name(key), value=json.dumps(lessons)))

    return load, save


def taught(database: Database, provider_id: str) -> dict[str, JsonObject]:
    """What a provider's models have taught that is still believed: `{model: {…, learned_at}}`."""
    start = f"{PREFIX}{provider_id}/"
    with database.read() as session:
        rows = session.scalars(select(Setting).where(Setting.key.startswith(start, autoescape=True))).all()
    known = {row.key.removeprefix(start): dict(json.loads(row.value)) for row in rows}
    oldest = time.time() - KEPT_SECONDS
    return {model: lessons for model, lessons in known.items() if lessons.get("learned_at", 0) >= oldest}


def _name(key: str) -> str:
    return f"{PREFIX}{key}"[:KEY_CHARS]
