"""For tests that run code in the sandbox: skipped with a reason where the walls do not exist, closed at the end."""

from collections.abc import Iterator

import pytest

from backend import sandbox


@pytest.fixture(autouse=True)
def needs_walls() -> None:
    """Skip the test, with the reason, where the sandbox cannot run."""
    # An instance that another test has built in this process may have left the sandbox switched off.
    sandbox.set_requirement(None)
    reason = sandbox.unavailable()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def closed_at_the_end() -> Iterator[None]:
    """Close the sandbox after the last test."""
    yield
    sandbox.close()
