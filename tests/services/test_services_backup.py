"""A whole instance in a file and back: everything that was there, no key unless asked for, nothing of a damaged file."""

import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from backend.app import Instance, build, prepare
from backend.errors import Conflict, InvalidInput, StorageError
from backend.models import Conversation, ModelProvider, Project
from backend.services import backup
from backend.services.chat import ChatService, NewMessage
from backend.services.conversations import create_conversation
from backend.services.instance import InstanceLock
from backend.services.projects import NewProject, create_project
from backend.services.workspaces import Workspaces
from backend.settings import Settings


@pytest.fixture
def filled(instance: Instance, owner: str, tmp_path: Path) -> str:
    """An instance with a project, files with an earlier content, a message, a provider's key; the project's id."""
    runtime = instance.runtime
    project_id = str(create_project(runtime, owner, NewProject("Kept"))["id"])
    files = Workspaces(runtime).open(project_id, user_id=owner)
    files.write("a.md", b"first")
    files.write("a.md", b"second")
    files.mkdir("empty")
    os.symlink("a.md", files.root.real / "inside")
    os.symlink("/etc/passwd", files.root.real / "outside")
    (files.root.real / ".nanoclaw-tmp-1").write_bytes(b"half")
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    create_project(runtime, owner, NewProject("Outside", path=str(outside)))
    conversation = create_conversation(runtime, owner, {"project_id": project_id})
    ChatService(runtime).send_message(owner, conversation["id"], NewMessage("A question with 汉字"))
    with runtime.db.write() as session:
        session.add(ModelProvider(name="p", kind="openai", encrypted_key="a-secret-cipher"))
    (runtime.settings.instance / "secret.key").write_text("the-key-of-this-instance-0123456789")
    (runtime.settings.instance / "nanoclaw.env").write_text("OPENAI_API_KEY=sk-hidden\n")
    return project_id


def names(file: Path) -> set[str]:
    with tarfile.open(file) as tar:
        return set(tar.getnames())


def elsewhere(tmp_path: Path) -> Settings:
    return Settings(
        instance=tmp_path / "other", secret_key="another-key-of-the-tests", sandbox="off", probe_local=False
    )


def test_a_backup_comes_back_elsewhere(instance: Instance, owner: str, filled: str, tmp_path: Path) -> None:
    file = tmp_path / "all.tar.gz"
    report = backup.back_up(instance.runtime.settings, file)
    assert {line.split(": ")[1] for line in report.left_out} == {
        "a project's folder outside the instance", "a link that leads outside",
    }  # fmt: skip
    assert file.stat().st_mode & 0o777 == 0o600
    assert not any("tmp-" in name or name.startswith(("secret", "nanoclaw.env")) for name in names(file))
    done = backup.restore(elsewhere(tmp_path), file)
    assert done["with_keys"] is False

    other = build(prepare(elsewhere(tmp_path)))
    try:
        files = Workspaces(other.runtime).open(filled, user_id=owner)
        assert files.read_bytes("a.md", 100) == b"second"
        assert (files.root.real / "inside").readlink() == Path("a.md")
        assert files.stat("empty") is not None
        with other.runtime.db.read() as session:
            assert session.scalars(select(Project.name).order_by(Project.name)).all() == ["Kept", "Outside"]
            assert session.scalars(select(Conversation.title)).one() == "A question with 汉字"
            assert session.scalars(select(ModelProvider.encrypted_key)).one() is None
        assert len(list(other.runtime.blobs.folder.glob("??/*"))) == 1
    finally:
        other.close()
    assert b"a-secret-cipher" not in (tmp_path / "other" / "nanoclaw.db").read_bytes()


def test_keys_are_in_it_only_if_asked_for(instance: Instance, filled: str, tmp_path: Path) -> None:
    backup.back_up(instance.runtime.settings, tmp_path / "keys.tar.gz", with_keys=True)
    assert {"secret.key", "nanoclaw.env"} <= names(tmp_path / "keys.tar.gz")
    assert backup.restore(elsewhere(tmp_path), tmp_path / "keys.tar.gz")["with_keys"] is True
    with closing(sqlite3.connect(tmp_path / "other" / "nanoclaw.db")) as db:
        assert db.execute("SELECT encrypted_key FROM model_providers").fetchone()[0] == "a-secret-cipher"
    assert (tmp_path / "other" / "secret.key").stat().st_mode & 0o777 == 0o600


def test_what_was_there_is_moved_aside(instance: Instance, filled: str, tmp_path: Path) -> None:
    settings = instance.runtime.settings
    backup.back_up(settings, tmp_path / "b.tar.gz")
    later = Workspaces(instance.runtime).open(filled).write("later.md", b"later")
    instance.close()
    done = backup.restore(settings, tmp_path / "b.tar.gz")
    assert not (settings.instance / "workspaces" / filled / later.path).exists()
    assert (settings.instance / done["kept_in"] / "workspaces" / filled / later.path).read_bytes() == b"later"
    assert (settings.instance / "secret.key").read_text() == "the-key-of-this-instance-0123456789"


def test_nothing_is_touched_by_a_file_that_is_not_whole(instance: Instance, filled: str, tmp_path: Path) -> None:
    settings, good = instance.runtime.settings, tmp_path / "good.tar.gz"
    backup.back_up(settings, good)
    instance.close()
    before = (settings.instance / "nanoclaw.db").read_bytes()
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(good.read_bytes()[:-200])
    (tmp_path / "text.tar.gz").write_text("no backup")
    for name in ("cut.tar.gz", "text.tar.gz", "absent.tar.gz"):
        with pytest.raises(InvalidInput):
            backup.restore(settings, tmp_path / name)
    assert (settings.instance / "nanoclaw.db").read_bytes() == before
    assert [p.name for p in settings.instance.iterdir() if p.name.startswith("restore-")] == []


def test_an_archive_that_climbs_out_is_refused(tmp_path: Path) -> None:
    evil = tmp_path / "evil.tar.gz"
    with tarfile.open(evil, "w:gz") as tar:
        (tmp_path / "x").write_text("x")
        tar.add(tmp_path / "x", "../../climbed")
    with pytest.raises(InvalidInput):
        backup.restore(elsewhere(tmp_path), evil)
    assert not (tmp_path.parent / "climbed").exists()


def test_no_restore_below_a_running_server_and_no_backup_over_a_file(
    instance: Instance, filled: str, tmp_path: Path
) -> None:
    backup.back_up(instance.runtime.settings, tmp_path / "b.tar.gz")
    with pytest.raises(Conflict):
        backup.back_up(instance.runtime.settings, tmp_path / "b.tar.gz")
    lock = InstanceLock(instance.runtime.settings.instance)
    assert lock.take()
    with pytest.raises(Conflict):
        backup.restore(instance.runtime.settings, tmp_path / "b.tar.gz")
    lock.release()


def test_a_damaged_database_makes_no_backup(instance: Instance, filled: str, tmp_path: Path) -> None:
    instance.close()
    path = instance.runtime.settings.instance / "nanoclaw.db"
    content = bytearray(path.read_bytes())
    content[8192:40960] = b"\xff" * (40960 - 8192)
    path.write_bytes(content)
    with pytest.raises((StorageError, sqlite3.DatabaseError)):
        backup.back_up(instance.runtime.settings, tmp_path / "b.tar.gz")
    assert not (tmp_path / "b.tar.gz").exists()
