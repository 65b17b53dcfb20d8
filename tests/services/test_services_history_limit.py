"""Earlier contents keep to a limit of each project: the oldest go, with their copies; nothing else does."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from backend.app import Instance
from backend.models import FileChange, Run
from backend.services.projects import NewProject, create_project
from backend.services.runtime import Runtime
from backend.services.upkeep import Housekeeping
from backend.services.workspaces import Workspaces
from backend.workspace import Workspace

LIMIT = 10_000


@pytest.fixture
def runtime(instance: Instance) -> Runtime:
    instance.runtime.settings = replace(instance.runtime.settings, history_quota=LIMIT)
    return instance.runtime


def project(runtime: Runtime, owner: str, run_id: str | None = None) -> Workspace:
    made = create_project(runtime, owner, NewProject("p"))["id"]
    return Workspaces(runtime).open(made, run_id=run_id, user_id=owner)


def rewrite(files: Workspace, times: int, name: str = "a") -> None:
    for number in range(times):
        files.write(name, f"{files.project_id} {name} {number}".ljust(1_000, ".").encode())


def left(runtime: Runtime, files: Workspace) -> list[int]:
    with runtime.db.read() as session:
        mine = select(FileChange.position).where(FileChange.project_id == files.project_id)
        return list(session.scalars(mine.order_by(FileChange.position)))


def age(runtime: Runtime) -> list[Path]:
    blobs = list(runtime.blobs.folder.glob("??/*"))
    for blob in blobs:
        os.utime(blob, (0, 0))
    return blobs


def limit(runtime: Runtime) -> int:
    return Housekeeping(runtime, threading.Event()).limit_history()


def test_the_oldest_earlier_contents_go_with_their_copies(runtime: Runtime, owner: str) -> None:
    full, small = project(runtime, owner), project(runtime, owner)
    rewrite(full, 31)
    rewrite(small, 3)
    assert len(age(runtime)) == 30 + 2
    assert limit(runtime) == 21
    assert left(runtime, full) == list(range(22, 32))
    assert left(runtime, small) == [1, 2, 3]
    assert len(age(runtime)) == 10 + 2
    assert limit(runtime) == 0
    rewrite(full, 1, "b")
    assert left(runtime, full)[-1] == 32
    assert full.read_bytes("a", LIMIT).startswith(f"{full.project_id} a 30".encode())


def test_equal_contents_count_once(runtime: Runtime, owner: str) -> None:
    files = project(runtime, owner)
    for _ in range(15):
        files.write("a", b"x" * 1_000)
        files.write("a", b"y" * 1_000)
    assert limit(runtime) == 0


def test_what_a_run_changes_that_goes_on_is_kept(runtime: Runtime, owner: str) -> None:
    files = project(runtime, owner)
    rewrite(files, 5)
    with runtime.db.write() as session:
        session.add(Run(id="r", kind="task", status="running", owner_id=owner, project_id=files.project_id))
    rewrite(Workspaces(runtime).open(files.project_id, run_id="r", user_id=owner), 20)
    assert limit(runtime) == 5
    assert left(runtime, files) == list(range(6, 26))


def test_what_was_kept_a_moment_ago_stays_for_its_record(runtime: Runtime, owner: str) -> None:
    rewrite(project(runtime, owner), 31)
    limit(runtime)
    assert len(age(runtime)) == 30


def test_no_limit_drops_nothing(runtime: Runtime, owner: str) -> None:
    runtime.settings = replace(runtime.settings, history_quota=0)
    rewrite(project(runtime, owner), 31)
    assert limit(runtime) == 0
