"""The migrations make exactly the tables of the models, and back up before they change anything."""

import sqlite3
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from backend import migrations
from backend.extensions import Database
from backend.models import Base


def test_the_migrated_database_has_the_tables_of_the_models(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "include_name": lambda name, kind, _: not _is_search(name, kind)}
        )
        assert compare_metadata(context, Base.metadata) == []


def _is_search(name: str | None, kind: str) -> bool:
    return kind == "table" and (name or "").startswith("search_index")


def test_an_up_to_date_database_is_left_alone(database: Database, tmp_path: Path) -> None:
    assert migrations.current(database.engine) == migrations.head()
    assert migrations.upgrade(database.engine, tmp_path / "backups") is None
    assert not (tmp_path / "backups").exists()


def test_a_backup_is_a_whole_database(database: Database, tmp_path: Path) -> None:
    name = migrations._back_up(database.engine, tmp_path / "backups", "0000")
    with sqlite3.connect(tmp_path / "backups" / name) as copy:
        assert copy.execute("SELECT name FROM users").fetchall() == [("Owner",)]
    copy.close()
