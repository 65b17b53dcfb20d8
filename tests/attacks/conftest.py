"""Shared by the sandbox's tests: skips with a reason where the walls do not exist."""

from collections.abc import Iterator

import pytest

from backend import sandbox


@pytest.fixture(autouse=True)
def _needs_walls() -> None:
    reason = sandbox.unavailable()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def _close_at_the_end() -> Iterator[None]:
    yield
    sandbox.close()
