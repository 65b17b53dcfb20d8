"""Compile and run one piece of code, and turn whatever happens into an outcome."""

import __future__

import ast
import sys
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any

from . import library, policy, report
from .files import FileTable, TooMuch
from .wire import Request

VALUE_NAME = "value of the last expression"  # not a name that source can write


@dataclass(slots=True)
class Outcome:
    """What is sent back beside the streams."""

    value: str | None = None
    value_json: str | None = None
    error_type: str | None = None
    error: str | None = None
    limit: str | None = None
    truncated: bool = False
    files: dict[str, bytes] = field(default_factory=dict)


def run(request: Request) -> Outcome:
    """Run it; every error, exit and exhaustion of the code ends up in the outcome."""
    outcome = Outcome()
    streams = sys.stdout, sys.stderr
    table = FileTable(request.files)
    main = ModuleType("__main__")
    space: dict[str, Any] = main.__dict__
    space["__builtins__"] = __builtins__
    try:
        report.remember_source(request.code)
        code = _compile(request.code, request.policy)
        if request.policy:
            space |= library.namespace(table)
            sys.modules["__main__"] = main  # where dataclasses look up annotations that are text
        table.install(keep_real=not request.policy)
        exec(code, space)  # noqa: S102 - the purpose of this process
        if VALUE_NAME in space:
            _note_value(outcome, space[VALUE_NAME])
        sys.stdout, sys.stderr = streams  # what follows is not the code's own
    except SystemExit as stop:
        sys.stdout, sys.stderr = streams
        _note_exit(outcome, stop)
    except BaseException as error:  # noqa: BLE001 - the code's own errors, KeyboardInterrupt and all
        sys.stdout, sys.stderr = streams
        _note_error(outcome, error, space)
    _note_files(outcome, table)
    return outcome


def rehearse(source: str) -> None:
    """Go the way of a run without putting a file table in place: a run without the policy must meet the real calls."""
    report.remember_source(source)
    space: dict[str, Any] = library.namespace(FileTable({}))
    exec(_compile(source, with_policy=True), space)  # noqa: S102 - our own line
    _note_value(Outcome(), space[VALUE_NAME])


def _compile(source: str, with_policy: bool) -> CodeType:
    tree = ast.parse(source, report.FILENAME, "exec")
    flags = __future__.annotations.compiler_flag if _leaves_annotations_alone(tree) else 0
    _keep_last_value(tree)
    if with_policy:
        tree = policy.apply(tree)
    code: CodeType = compile(tree, report.FILENAME, "exec", flags=flags, dont_inherit=True)
    return code


def _leaves_annotations_alone(tree: ast.Module) -> bool:
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__")
    return any(alias.name == "annotations" for node in imports for alias in node.names)


def _keep_last_value(tree: ast.Module) -> None:
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        target = ast.copy_location(ast.Name(VALUE_NAME, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)


def _note_value(outcome: Outcome, value: Any) -> None:
    if value is None:
        return
    outcome.value = report.value_as_text(value)
    outcome.value_json = report.value_as_json(value)
    outcome.truncated = outcome.value.endswith(report.CUT)


def _note_exit(outcome: Outcome, stop: SystemExit) -> None:
    if isinstance(stop.code, str):
        sys.stderr.write(stop.code + "\n")
    if stop.code not in (None, 0):
        outcome.error_type, outcome.error = "SystemExit", report.cut(f"SystemExit: {stop.code}", 500)


def _note_error(outcome: Outcome, error: BaseException, space: dict[str, Any]) -> None:
    if isinstance(error, MemoryError):
        outcome.limit = "memory"
        space.clear()  # make room for the report
    if isinstance(error, ModuleNotFoundError) and error.name and not hasattr(error, "__notes__"):
        error.add_note(library.instead_of(error.name))  # a library looked for it
    if isinstance(error, TooMuch):
        outcome.limit = "files"
    outcome.error_type = "SecurityError" if isinstance(error, policy.Refused) else type(error).__name__
    try:
        outcome.error = report.describe_error(error)
    except BaseException:  # noqa: BLE001 - an exception class of the code may misbehave when shown
        outcome.error = f"{outcome.error_type} (it could not be shown)"


def _note_files(outcome: Outcome, table: FileTable) -> None:
    try:
        outcome.files = table.written()
    except BaseException as error:  # noqa: BLE001 - a file object of the code may misbehave when flushed
        if outcome.error is None:
            outcome.error_type, outcome.error = type(error).__name__, report.cut(str(error), 500)
