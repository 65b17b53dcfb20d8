"""A writer over a real database, and a run to write."""

from collections.abc import Callable, Iterator

import pytest

from backend.agent.types import Event
from backend.extensions import Database
from backend.models import Run
from backend.stores.sql import RunPlace, SqlRunStore
from backend.stores.writer import RunWriter


@pytest.fixture
def blobs() -> dict[str, str]:
    """Whole results by the name they were kept under."""
    return {}


@pytest.fixture
def writer(database: Database, blobs: dict[str, str]) -> Iterator[RunWriter]:
    """A writer that keeps whole results in `blobs`."""

    def keep(text: str) -> str:
        name = f"blob{len(blobs)}"
        blobs[name] = text
        return name

    writer = RunWriter(database, keep)
    yield writer
    writer.close()


@pytest.fixture
def make_store(database: Database, writer: RunWriter) -> Callable[..., SqlRunStore]:
    """Make a run's row and the store that writes it under lease epoch 1."""

    def make(run_id: str = "run-1", epoch: int = 1, conversation_id: str | None = None) -> SqlRunStore:
        with database.write() as session:
            if session.get(Run, run_id) is None:
                run = Run(id=run_id, kind="task", owner_id="owner", lease_epoch=1, conversation_id=conversation_id)
                session.add(run)
        return SqlRunStore(database, writer, RunPlace(run_id, epoch, conversation_id))

    return make


@pytest.fixture
def told() -> list[Event]:
    """Events in the order they were told."""
    return []
