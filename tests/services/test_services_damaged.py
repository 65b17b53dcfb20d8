"""A damaged instance folder: what can be mended is, the rest is told in words, and no file of the owner ends the start."""

import os
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from backend import migrations
from backend.errors import Unavailable
from backend.services.instance import KEY_BYTES, prepare
from backend.services.providers import from_file
from backend.settings import Settings
from backend.tools.loader import load_folder


def _key_of(folder: Path) -> str:
    return str(prepare(Settings(instance=folder)).secret_key)


def test_the_key_is_made_once_and_private(tmp_path: Path) -> None:
    key = _key_of(tmp_path)
    assert len(key) >= KEY_BYTES
    assert _key_of(tmp_path) == key
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
    assert [name for name in os.listdir(tmp_path) if name.startswith("secret")] == ["secret.key"]


@pytest.mark.parametrize("content", [b"", b"\n", b"short", b"\xff\xfe\x00"])
def test_a_file_that_holds_no_key_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret.key").write_bytes(content)
    key = _key_of(tmp_path)
    assert len(key) >= KEY_BYTES
    assert _key_of(tmp_path) == key


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/new.db")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('9999')"))
    with pytest.raises(Unavailable, match="9999"):
        migrations.upgrade(engine, tmp_path / "backups")
    assert not (tmp_path / "backups").exists()
    engine.dispose()


@pytest.mark.parametrize(
    "wrong",
    ["name = 1\nkind = []", 'options = 3\nname = "a"', 'models = "gpt"', "models = [1]", 'kind = "other"'],
)
def test_a_wrong_provider_is_left_out_and_the_others_stay(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "providers.toml"
    path.write_text(f'[[providers]]\n{wrong}\n[[providers]]\nname = "good"\nbase_url = "http://x/v1"\n')
    assert [config.name for config in from_file(path)] == ["good"]


@pytest.mark.parametrize("whole", ['providers = "x"', "providers = [1, 2]", "[providers]\nkind = 3", "[["])
def test_providers_that_are_no_tables_are_left_out(tmp_path: Path, whole: str) -> None:
    path = tmp_path / "providers.toml"
    path.write_text(whole)
    assert from_file(path) == []


@pytest.mark.parametrize("code", ["raise BaseException('x')", "import sys; sys.exit(3)", "def f(): f()\nf()", "def (:"])
def test_whatever_a_file_of_tools_raises_disables_it_alone(tmp_path: Path, code: str) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(code)
    bad.chmod(0o600)
    tmp_path.chmod(0o700)
    assert [error.file for error in load_folder(tmp_path, ()).errors] == ["bad.py"]
