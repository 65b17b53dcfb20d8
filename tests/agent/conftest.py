"""The workbench of the engine's tests."""

import pytest
from agent_kit import Workbench


@pytest.fixture
def bench():
    return Workbench()
