"""The tool system: declare a tool with `@tool`, load them all with `init_tools`, run calls with `ToolExecutor`."""

import importlib
import threading
from pathlib import Path

from . import core, executor, factory, locator
from .builtin import MODULES
from .core import (
    ALTERNATIVE_TOOL,
    CACHED_RESULT,
    FAIL_FAST,
    RETRY_ONLY,
    SKIP,
    RetryPolicy,
    ToolDefinition,
    ToolParam,
    ToolRegistry,
    ToolResult,
    registry,
)
from .executor import ExecutorSettings, ToolExecutor
from .factory import tool
from .loader import LoadError, LoadReport, definitions_of, load_folder
from .locator import get_service, register_service

__all__ = [
    "ALTERNATIVE_TOOL",
    "CACHED_RESULT",
    "FAIL_FAST",
    "RETRY_ONLY",
    "SKIP",
    "ExecutorSettings",
    "LoadError",
    "LoadReport",
    "RetryPolicy",
    "ToolDefinition",
    "ToolExecutor",
    "ToolParam",
    "ToolRegistry",
    "ToolResult",
    "builtin_names",
    "core",
    "executor",
    "factory",
    "get_service",
    "init_tools",
    "locator",
    "register_service",
    "registry",
    "tool",
]

_lock = threading.Lock()
_loaded_from_files: set[str] = set()


def init_tools(extra_folder: Path | None = None) -> LoadReport:
    """Load the built-in tools and those of `extra_folder`, and swap the registry whole; call again to reload.

    Tools registered by code stay. Returns what the folder gave, broken files included.
    """
    builtin = _builtin_definitions()
    names = {definition.name for definition in builtin}
    with _lock:
        report = load_folder(Path(extra_folder), names) if extra_folder is not None else LoadReport()
        kept = [d for d in registry.all() if d.name not in _loaded_from_files and d.name not in names]
        registry.replace_all([*kept, *report.definitions, *builtin])
        _loaded_from_files.clear()
        _loaded_from_files.update(report.files)
    return report


def builtin_names() -> list[str]:
    """The names that belong to NanoClaw's own tools, sorted."""
    return sorted(definition.name for definition in _builtin_definitions())


def _builtin_definitions() -> list[ToolDefinition]:
    found: list[ToolDefinition] = []
    for name in MODULES:
        found += definitions_of(importlib.import_module(f"{__name__}.builtin.{name}"))
    return found
