"""Readers of answers: few never rest, a crowd does, and it makes way for those who open streams."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from backend.llm import crowd as crowd_module
from backend.llm.crowd import CROWD, FEW, LONGEST_REST_SECONDS, Crowd

WAIT_SECONDS = 30.0


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[Crowd]:
    """A crowd that makes way for as long as it is asked to."""
    monkeypatch.setattr(crowd_module, "LONGEST_WAY_SECONDS", WAIT_SECONDS)
    crowd = Crowd()
    with ExitStack() as readers:
        for _ in range(CROWD + 1):
            readers.enter_context(crowd.join())
        yield crowd


def rested(crowd: Crowd) -> threading.Event:
    """Set when a reader that rests now goes on."""
    done = threading.Event()
    threading.Thread(target=lambda: (crowd.rest(), done.set()), daemon=True).start()
    return done


def test_few_readers_never_rest() -> None:
    crowd = Crowd()
    with ExitStack() as readers:
        for _ in range(CROWD):
            readers.enter_context(crowd.join())
        assert crowd.rest_seconds == 0.0
        for _ in range(FEW + 1):
            crowd.hold_back()
        crowd.rest()


def test_only_a_crowd_rests_and_never_long() -> None:
    crowd = Crowd()
    with ExitStack() as readers:
        for _ in range(CROWD + 1):
            readers.enter_context(crowd.join())
        assert 0.0 < crowd.rest_seconds < LONGEST_REST_SECONDS
        for _ in range(1000):
            readers.enter_context(crowd.join())
        assert crowd.rest_seconds == LONGEST_REST_SECONDS
    assert crowd.rest_seconds == 0.0


def test_a_crowd_does_not_wait_for_few(full: Crowd) -> None:
    for _ in range(FEW):
        full.hold_back()
    full.rest()


def test_a_crowd_makes_way_until_few_are_left(full: Crowd) -> None:
    for _ in range(FEW + 2):
        full.hold_back()
    done = rested(full)
    assert not done.wait(3 * LONGEST_REST_SECONDS)
    full.let_go()
    assert not done.wait(3 * LONGEST_REST_SECONDS)
    full.let_go()
    assert done.wait(WAIT_SECONDS)


def test_a_crowd_never_makes_way_for_long(full: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd_module, "LONGEST_WAY_SECONDS", 0.01)
    for _ in range(FEW + 1):
        full.hold_back()
    assert rested(full).wait(WAIT_SECONDS)
