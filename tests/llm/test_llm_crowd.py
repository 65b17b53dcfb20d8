"""Readers of many answers rest; a few never do."""

from contextlib import ExitStack

from backend.llm.crowd import CROWD, LONGEST_REST_SECONDS, Crowd


def test_only_a_crowd_rests_and_never_long() -> None:
    crowd = Crowd()
    with ExitStack() as readers:
        for _ in range(CROWD):
            readers.enter_context(crowd.join())
        assert crowd.rest_seconds == 0.0
        readers.enter_context(crowd.join())
        assert 0.0 < crowd.rest_seconds < LONGEST_REST_SECONDS
        for _ in range(1000):
            readers.enter_context(crowd.join())
        assert crowd.rest_seconds == LONGEST_REST_SECONDS
    assert crowd.rest_seconds == 0.0
