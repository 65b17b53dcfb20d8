"""Whole results that were cut for the model: kept, without leftovers, and no reason to fail when they cannot be kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from backend.agent.types import CallRecord, Event
from backend.extensions import Database
from backend.models import Run, ToolCall
from backend.stores.sql import RunPlace, SqlRunStore
from backend.stores.writer import RunWriter
from backend.workspace import BlobStore

CUT = "first words … (cut)"
WHOLE = "x" * 20_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def writer(database: Database, folder: Path) -> Iterator[RunWriter]:
    blobs = BlobStore(folder)
    writer = RunWriter(database, lambda text: blobs.put(text.encode()))
    yield writer
    writer.close()


def record_cut_result(database: Database, writer: RunWriter) -> ToolCall:
    with database.write() as session:
        session.add(Run(id="r", kind="task", owner_id="owner", lease_epoch=1))
    call = {"id": "c", "function": {"name": "fetch_page", "arguments": "{}"}, "status": "success", "result": CUT}
    store = SqlRunStore(database, writer, RunPlace("r", 1, None))
    store.record([CallRecord("r", 0, 0, call, full_result=WHOLE)], [Event("run.notice", {})], lambda events: None)
    with database.read() as session:
        return session.scalars(select(ToolCall)).one()


def test_nb_per_02_a_kept_result_leaves_no_other_files(database: Database, writer: RunWriter, folder: Path) -> None:
    row = record_cut_result(database, writer)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path.name for path in files] == [Path(str(BlobStore(folder).path(row.result_blob or ""))).name]
    assert files[0].read_text() == WHOLE


def test_nb_per_03_a_result_that_cannot_be_kept_is_stored_as_the_model_saw_it(
    database: Database, writer: RunWriter, folder: Path
) -> None:
    folder.mkdir(exist_ok=True)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    folder.write_text("a file where the folder should be, as on a disk that takes nothing")
    row = record_cut_result(database, writer)
    assert (row.result, row.result_blob, row.status) == (CUT, None, "success")
