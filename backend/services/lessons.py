"""What providers have taught about themselves, kept over restarts: one setting per provider and model."""

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import delete

from ..extensions import Database
from ..models import Setting

PREFIX = "lessons:"
KEY_CHARS = 200

Load = Callable[[str], dict[str, Any] | None]
Save = Callable[[str, dict[str, Any]], None]


def kept_in(database: Database) -> tuple[Load, Save]:
    """How a `QuirkMemory` reads and keeps its lessons in this database."""

    def load(key: str) -> dict[str, Any] | None:
        with database.read() as session:
            row = session.get(Setting, _name(key))
        return dict(json.loads(row.value)) if row else None

    def save(key: str, lessons: dict[str, Any]) -> None:
        with database.write() as session:
            session.execute(delete(Setting).where(Setting.key == _name(key)))
            if lessons:
                session.add(Setting(key=_name(key), value=json.dumps(lessons)))

    return load, save


def _name(key: str) -> str:
    return f"{PREFIX}{key}"[:KEY_CHARS]
