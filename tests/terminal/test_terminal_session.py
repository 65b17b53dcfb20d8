"""A run of the terminal beside a server: it is kept for as long as it lives, and its loss is told."""

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import select, update
from support.model_server import ModelServer, Turn

from backend.app import Instance
from backend.errors import Unavailable
from backend.models import Run
from backend.services.runs import NewTask
from backend.settings import Settings
from backend.stores.leases import Leases
from backend.terminal.session import follow, opened


def wait_for(found: Callable[[], object]) -> None:
    pause = threading.Event()
    for _ in range(3000):
        if found():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come")


def held_until(instance: Instance) -> datetime | None:
    with instance.runtime.db.read() as session:
        return session.scalar(select(Run.lease_expires_at))


def test_a_server_leaves_the_run_of_a_living_terminal_be(
    tmp_path: Path, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.terminal.session.HEARTBEAT_SECONDS", 0.05)
    turn = Turn(text="never", gate=threading.Event())
    model.script("m", [turn])
    settings = Settings(
        instance=tmp_path / "instance", secret_key="a-key-of-the-tests", sandbox="off", probe_local=False,
        openai_base_url=model.url, openai_api_key="sk-test", openai_model="m",
    )  # fmt: skip
    ends: list[Exception] = []

    def chat(instance: Instance) -> None:
        try:
            follow(instance, NewTask("Hello"), lambda event: None)
        except Unavailable as error:
            ends.append(error)

    with opened(settings) as instance:
        following = threading.Thread(target=chat, args=(instance,))
        following.start()
        assert turn.held.wait(30)
        server = Leases(instance.runtime.db, "server")
        server.free_all()
        assert server.waiting(10) == []
        first = held_until(instance)
        assert first is not None
        wait_for(lambda: held_until(instance) != first)
        with instance.runtime.db.write() as session:  # as if it had slept for longer than its lease
            session.execute(update(Run).values(lease_expires_at=None))
            run_id = session.scalars(select(Run.id)).one()
        while server.claim(run_id) is None:  # its heartbeat may have come first
            with instance.runtime.db.write() as session:
                session.execute(update(Run).values(lease_expires_at=None))
        following.join(30)
        assert [error.message for error in ends] == [
            "Another process of NanoClaw has taken this run over, and goes on with it."
        ]
