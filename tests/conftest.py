"""What every test gets: the `--full` option, and a place for shared fixtures."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import browser, browser_sessions, open_page
from support.model_server import ModelServer

from backend import migrations
from backend.extensions import Database
from backend.models import User

SLOW_ROOMS = ("faults", "journeys", "web", "terminal", "bootstrap")

__all__ = ["browser", "browser_sessions", "open_page"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--full` adds the long property, fault and attack runs."""
    parser.addoption("--full", action="store_true", default=False, help="run the long tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What starts servers and browsers comes first, so that no worker ends with it alone; `full` needs --full."""
    items.sort(key=lambda item: Path(item.path).parent.name not in SLOW_ROOMS)
    if config.getoption("--full"):
        return
    skip = pytest.mark.skip(reason="long run: only with --full")
    for item in items:
        if "full" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A scripted model server on loopback."""
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file brought up to date by the real migrations, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "nanoclaw.db"
    database = Database()
    database.open(f"sqlite:///{path}")
    migrations.upgrade(database.engine, path.parent)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path


@pytest.fixture
def database(migrated: Path, tmp_path: Path) -> Iterator[Database]:
    """A fresh, migrated database with one user (`owner`)."""
    path = tmp_path / "nanoclaw.db"
    shutil.copy(migrated, path)
    database = Database()
    database.open(f"sqlite:///{path}")
    with database.write() as session:
        session.add(User(id="owner", name="Owner", role="admin", settings={}))
    yield database
    database.close()
