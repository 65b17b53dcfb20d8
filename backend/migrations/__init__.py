"""Bringing the database to the tables of this version; a backup is made before an existing one is changed."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine, inspect, text

from ..errors import Unavailable

HERE = Path(__file__).parent


def head() -> str:
    """The newest revision: files are named REVISION_subject.py and sort in order."""
    return max(path.name.split("_")[0] for path in (HERE / "versions").glob("[0-9]*.py"))


def current(engine: Engine) -> str | None:
    """The revision the database is at, or None for an empty one."""
    if not inspect(engine).has_table("alembic_version"):
        return None
    with engine.connect() as connection:
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def upgrade(engine: Engine, backups: Path) -> str | None:
    """Migrate to `head`; returns the backup's name when one was made. Does nothing, quickly, when up to date."""
    at = current(engine)
    if at == head():
        return None
    if at is not None and not list((HERE / "versions").glob(f"{at}_*.py")):
        raise Unavailable(
            f"The database is at revision {at}, which this version of NanoClaw does not know.",
            suggestion="Start the newer version that made it, or put back a copy from backups/.",
        )
    backup = _back_up(engine, backups, at) if at and engine.dialect.name == "sqlite" else None
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(HERE).replace("%", "%%"))
    config.attributes["engine"] = engine
    command.upgrade(config, "head")
    return backup


def _back_up(engine: Engine, backups: Path, revision: str) -> str:
    backups.mkdir(mode=0o700, exist_ok=True)
    target = backups / f"before-{head()}-from-{revision}.db"
    with closing(sqlite3.connect(str(engine.url.database))) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    target.chmod(0o600)
    return target.name
