"""A whole instance in a folder of its own, its application, and clients that are signed in."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from routes_client import ADMIN_TOKEN, BASE, Api

from backend.app import Instance, build, create_app, prepare
from backend.models import User
from backend.services import auth, tokens
from backend.settings import Settings


@pytest.fixture
def settings(tmp_path: Path, migrated: Path) -> Settings:
    """Settings of an instance whose database is migrated already."""
    folder = tmp_path / "instance"
    folder.mkdir()
    shutil.copy(migrated, folder / "nanoclaw.db")
    return Settings(
        instance=folder, admin_token=ADMIN_TOKEN, secret_key="a-key-of-the-tests", upload_max=1 << 16,
        project_quota=4 << 16, sandbox="off", probe_local=False,
    )  # fmt: skip


@pytest.fixture
def instance(settings: Settings) -> Iterator[Instance]:
    """An instance that does not work on its runs: they stay queued."""
    made = build(prepare(settings))
    yield made
    made.stop()


@pytest.fixture
def working(instance: Instance) -> Instance:
    """The same instance, working."""
    instance.start()
    return instance


@pytest.fixture
def app(instance: Instance, tmp_path: Path) -> Flask:
    """The application; the page's build is in `tmp_path / "dist"`, where a test may put one."""
    made = create_app(instance)
    made.config["NANOCLAW_DIST"] = str(tmp_path / "dist")
    return made


@pytest.fixture
def api(app: Flask) -> Api:
    """The owner, by the administrator's token."""
    return Api(app.test_client(), {"Authorization": f"Bearer {ADMIN_TOKEN}"})


@pytest.fixture
def nobody(app: Flask) -> Api:
    """Nobody in particular."""
    return Api(app.test_client(), {})


@pytest.fixture
def browser(app: Flask, instance: Instance) -> Api:
    """The owner, by a session cookie."""
    client = app.test_client()
    code = auth.make_login_code(instance.runtime.db)
    assert client.get(f"/auth/{code}", base_url=BASE).status_code == 303
    return Api(client, {})


@pytest.fixture
def stranger(app: Flask, instance: Instance) -> Api:
    """Another user, by an API token."""
    with instance.runtime.db.write() as session:
        user = User(name="Stranger", role="user", settings={})
        session.add(user)
        session.flush()
    token = tokens.create_token(instance.runtime.db, user.id, "tests")["token"]
    return Api(app.test_client(), {"Authorization": f"Bearer {token}"})
