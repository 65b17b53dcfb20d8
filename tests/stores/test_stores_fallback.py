"""The fallback log on systems that lack what Linux has."""

import os
import sys
from pathlib import Path

import pytest

from backend import settings
from backend.agent.types import Event
from backend.stores.batches import Batch
from backend.stores.fallback import Fallback, read


def batch(run_id: str, text: str) -> Batch:
    return Batch(run_id, 1, [], [Event("run.notice", {"detail": text})], lambda events: None, awaited=True)


@pytest.mark.parametrize("missing", [(), ("fdatasync", "posix_fallocate"), ("pwrite", "fdatasync", "posix_fallocate")])
def test_what_is_kept_is_read_again_on_every_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]
) -> None:
    for name in missing:  # macOS, Windows
        monkeypatch.delattr(os, name)
    path = tmp_path / "fallback.jsonl"
    log = Fallback(path)
    log.open()
    log.keep(batch("one", "a longer text than that of the other"))
    log.keep(batch("two", "a"))
    log.keep(batch("one", "b"))
    log.settled("one")
    log.keep(batch("two", "旅行"))
    log.close()
    assert [(kept.run_id, kept.events[0].data["detail"]) for kept in read(path)] == [("two", "a"), ("two", "旅行")]


def test_settings_are_read_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "uname")
    monkeypatch.setattr(sys, "platform", "win32")
    assert settings.load({"NANOCLAW_INSTANCE": str(tmp_path)}).sandbox == "off"
