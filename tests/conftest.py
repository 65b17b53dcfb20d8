"""What every test gets: the `--full` option, and a place for shared fixtures."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--full` adds the long property, fault and attack runs."""
    parser.addoption("--full", action="store_true", default=False, help="run the long tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without --full, tests marked `full` are skipped with that reason."""
    if config.getoption("--full"):
        return
    skip = pytest.mark.skip(reason="long run: only with --full")
    for item in items:
        if "full" in item.keywords:
            item.add_marker(skip)
