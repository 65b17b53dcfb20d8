"""Reaching the web: one guarded fetcher, extraction of what pages say, and web search."""

import os

from .fetch import Fetcher, FetchSettings, Page

__all__ = ["FetchSettings", "Fetcher", "Page", "default_fetcher"]


def default_fetcher() -> Fetcher:
    """A fetcher with the settings of the process environment; ValueError that names a bad setting."""
    return Fetcher(FetchSettings.from_environment(os.environ))
