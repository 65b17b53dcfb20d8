"""Loads tools from Python files of a folder: a broken file disables itself only and is reported with its line."""

import hashlib
import importlib.util
import os
import re
import stat
import sys
import traceback
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import ToolError
from .core import JsonObject, ToolDefinition
from .encoding import text_of
from .factory import collecting
from .validation import ArgumentSchema

MAX_REASON_CHARACTERS = 300
MODULE_PREFIX = "nanoclaw_instance_tools_"
MIN_SECRET_CHARACTERS = 4
SECRET_NAME = re.compile(r"secret|passw|token|credential|(?:^|_|api)key", re.IGNORECASE)
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class LoadError:
    """Why a file was not loaded. `file` is its name only, `line` the line in it (None if unknown)."""

    file: str
    error: str
    line: int | None = None


@dataclass(slots=True)
class LoadReport:
    """What a load gave: definitions, where each came from, and the files that did not load."""

    definitions: list[ToolDefinition] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    errors: list[LoadError] = field(default_factory=list)


class _Refused(Exception):
    """This file or folder is not loaded; the text says why."""


def load_folder(folder: Path, reserved: Collection[str]) -> LoadReport:
    """Run every `*.py` of `folder` (not `_*.py`) with the server's rights and collect its tools.

    `reserved` are the names that no file may take. A missing folder has no tools. Never raises for
    what a file does, but KeyboardInterrupt passes.
    """
    report = LoadReport()
    if not folder.is_dir():
        return report
    try:
        _refuse_if_others_write(folder)
    except _Refused as refused:
        report.errors.append(LoadError(f"{folder.name}/", str(refused)))
        return report
    for path in sorted(folder.glob("*.py")):
        if not path.name.startswith("_"):
            _load_file(path, reserved, report)
    return report


def definitions_of(module: ModuleType) -> list[ToolDefinition]:
    """Tools that a module's functions were decorated with, in order."""
    found = (getattr(value, "definition", None) for value in vars(module).values())
    return list({d.name: d for d in found if isinstance(d, ToolDefinition)}.values())


def _load_file(path: Path, reserved: Collection[str], report: LoadReport) -> None:
    try:
        _refuse_if_others_write(path)
        found = _run(path)
        _check(found, reserved, report.files)
        found = [replace(definition, handler=_staying(definition.handler)) for definition in found]
    except _Refused as refused:
        report.errors.append(LoadError(path.name, str(refused)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - another's code: it may fail in any way
        report.errors.append(_explained(path, error))
    else:
        report.definitions += found
        report.files.update({definition.name: path.name for definition in found})


def _run(path: Path) -> list[ToolDefinition]:
    name = MODULE_PREFIX + hashlib.sha256(str(path).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _Refused("not a Python file")
    module = importlib.util.module_from_spec(spec)
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)  # the source itself, never a stale .pyc
    sys.modules[name] = module  # dataclasses and typing look a class's module up
    with collecting() as found:
        exec(code, vars(module))  # noqa: S102 - loading the administrator's own file is what this is for
    return found


def _staying(handler: Callable[[JsonObject], Any]) -> Callable[[JsonObject], Any]:
    """The handler; when it calls exit(), as scripts do, that is its own failure and not the server's end."""

    @wraps(handler)
    def stay(arguments: JsonObject) -> Any:
        try:
            return handler(arguments)
        except SystemExit as fault:
            raise ToolError(f"The tool called exit({fault.code!r}).") from fault

    return stay


def _check(found: Iterable[ToolDefinition], reserved: Collection[str], taken: dict[str, str]) -> None:
    names: set[str] = set()
    for definition in found:
        if definition.name in reserved:
            raise _Refused(f"the name {definition.name!r} belongs to a built-in tool")
        if definition.name in taken or definition.name in names:
            where = taken.get(definition.name, "this file")
            raise _Refused(f"the name {definition.name!r} is taken already, in {where}")
        names.add(definition.name)
        try:
            ArgumentSchema(definition.parameters)
        except ValueError as error:
            raise _Refused(f"the parameters of {definition.name!r}: {str(error)[:MAX_REASON_CHARACTERS]}") from None


def _refuse_if_others_write(path: Path) -> None:
    if os.name != "posix":
        return
    state = path.lstat()
    if stat.S_ISLNK(state.st_mode):
        raise _Refused("is a link: put the file itself here")
    if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        raise _Refused("is no file")  # a pipe would be waited for
    if state.st_mode & OTHERS_MAY_WRITE:
        raise _Refused("other users of this machine can write it: run chmod go-w on it first")
    if state.st_uid not in (0, os.geteuid()):
        raise _Refused("belongs to another user of this machine")


def _without_secrets(text: str, error: BaseException, path: Path) -> str:
    """The text without the values of variables, of the file or the environment, whose names tell that they are secret."""
    named = list(os.environ.items())
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == str(path):
            named += [*frame.f_globals.items(), *frame.f_locals.items()]
    for name, value in named:
        if isinstance(value, str) and len(value) >= MIN_SECRET_CHARACTERS and SECRET_NAME.search(str(name)):
            text = text.replace(value, "…")
    return text


def _explained(path: Path, error: BaseException) -> LoadError:
    """The error's type and text with the line in the file; the line's source is not shown, it may hold a secret."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return LoadError(path.name, f"SyntaxError: {error.msg}", error.lineno)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    text = " ".join(_without_secrets(text_of(error), error, path).replace(str(path.parent), "…").split())
    reason = f"{type(error).__name__}: {text}"[:MAX_REASON_CHARACTERS] if text else type(error).__name__
    return LoadError(path.name, reason, lines[-1] if lines else None)
