"""The runtime of a whole instance over a real database; its queue works only where a test starts it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.app import Instance, build, prepare
from backend.models import User
from backend.services.auth import ensure_owner
from backend.services.runtime import Runtime
from backend.settings import Settings


@pytest.fixture
def instance(tmp_path: Path, migrated: Path) -> Iterator[Instance]:
    """An instance in a folder of its own."""
    folder = tmp_path / "instance"
    folder.mkdir()
    shutil.copy(migrated, folder / "nanoclaw.db")
    made = build(prepare(Settings(instance=folder, secret_key="a-key-of-the-tests", sandbox="off", probe_local=False)))
    yield made
    made.stop()


@pytest.fixture
def runtime(instance: Instance) -> Runtime:
    """Its runtime."""
    return instance.runtime


@pytest.fixture
def owner(runtime: Runtime) -> str:
    """The owner's id."""
    return ensure_owner(runtime.db)


@pytest.fixture
def other(runtime: Runtime) -> str:
    """Another user's id."""
    with runtime.db.write() as session:
        user = User(name="Other", role="user", settings={})
        session.add(user)
        session.flush()
        return user.id
