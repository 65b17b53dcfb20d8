"""Stand-ins for modules and functions whose real ones would show or do too much."""

import contextlib
import functools
import inspect
import json
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any

from . import fileviews, guards, limits, zones
from .files import FileTable

_table = FileTable({})


def bind(table: FileTable) -> None:
    """Let the stand-ins for files see this run's table."""
    global _table
    _table = table


def stop(code: Any = None) -> None:
    """exit(), quit() and sys.exit()."""
    raise SystemExit(code)


def _space(name: str, **members: Any) -> Callable[[], Any]:
    """A module-like object, made once and only when it is asked for."""

    @functools.cache
    def make() -> Any:
        from .library import View  # the views use the stand-ins

        return View(name, {key.rstrip("_"): value() if key.endswith("_") else value for key, value in members.items()})

    return make


# ---------------------------------------------------------------- sys
def _set_recursion_limit(depth: int) -> None:
    sys.setrecursionlimit(max(100, min(depth, limits.RECURSION_MAX)))


_sys = _space(
    "sys",
    argv=["<code>"],
    path=[],
    byteorder=sys.byteorder,
    exit=stop,
    float_info=sys.float_info,
    int_info=sys.int_info,
    getrecursionlimit=sys.getrecursionlimit,
    getsizeof=sys.getsizeof,
    getrefcount=sys.getrefcount,
    intern=sys.intern,
    maxsize=sys.maxsize,
    maxunicode=sys.maxunicode,
    platform=sys.platform,
    hexversion=sys.hexversion,
    implementation=types.SimpleNamespace(name="cpython"),
    set_int_max_str_digits=sys.set_int_max_str_digits,
    get_int_max_str_digits=sys.get_int_max_str_digits,
    getdefaultencoding=sys.getdefaultencoding,
    setrecursionlimit=_set_recursion_limit,
    exc_info=lambda: sys.exc_info(),
    stdout_=lambda: sys.stdout,
    stderr_=lambda: sys.stderr,
    stdin_=lambda: sys.stdin,
    version=sys.version.split()[0],
    version_info=sys.version_info,
)


# ---------------------------------------------------------------- warnings, traceback, logging, gc, timeit, inspect
_warnings = _space(
    "warnings",
    warn=warnings.warn,
    filterwarnings=lambda *_, **__: None,
    simplefilter=lambda *_, **__: None,
    resetwarnings=lambda: None,
    catch_warnings=lambda **_: contextlib.nullcontext([]),
)


def _format_exception(*args: Any, **_: Any) -> list[str]:
    from .report import describe_error

    error = next((a for a in args if isinstance(a, BaseException)), sys.exc_info()[1])
    return [describe_error(error) + "\n"] if error is not None else ["NoneType: None\n"]


def _print_exception(*args: Any, file: Any = None, **_: Any) -> None:
    (file or sys.stderr).write("".join(_format_exception(*args)))


_traceback = _space(
    "traceback",
    format_exc=lambda *_, **__: "".join(_format_exception()),
    format_exception=_format_exception,
    format_exception_only=traceback.format_exception_only,
    print_exc=lambda *_, file=None, **__: _print_exception(file=file),
    print_exception=_print_exception,
)


class _Logger:
    """The part of logging.Logger that short programs use; writes to standard error."""

    LEVELS = types.MappingProxyType({"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50})
    level = 30

    def __init__(self, name: str) -> None:
        self.name = name

    def log(self, level: int, message: Any, *args: Any, **_: Any) -> None:
        """Write one line if the level is high enough."""
        if level >= _Logger.level:
            label = next((k for k, v in self.LEVELS.items() if v == level), str(level))
            sys.stderr.write(f"{label}:{self.name}:{str(message) % args if args else message}\n")

    def debug(self, message: Any, *args: Any, **_: Any) -> None:
        """Level 10."""
        self.log(10, message, *args)

    def info(self, message: Any, *args: Any, **_: Any) -> None:
        """Level 20."""
        self.log(20, message, *args)

    def warning(self, message: Any, *args: Any, **_: Any) -> None:
        """Level 30."""
        self.log(30, message, *args)

    def error(self, message: Any, *args: Any, **_: Any) -> None:
        """Level 40."""
        self.log(40, message, *args)

    exception = error

    def critical(self, message: Any, *args: Any, **_: Any) -> None:
        """Level 50."""
        self.log(50, message, *args)

    def setLevel(self, level: Any) -> None:
        """One level for all loggers."""
        _Logger.level = self.LEVELS.get(level, level)

    def addHandler(self, *_: Any) -> None:
        """Nothing: there is one place to write to."""


_root = _Logger("root")


def _basic_config(level: Any = None, **_: Any) -> None:
    if level is not None:
        _root.setLevel(level)


_logging = _space(
    "logging",
    **dict(_Logger.LEVELS),
    **{name: getattr(_root, name) for name in ("debug", "info", "warning", "error", "exception", "critical", "log")},
    getLogger=lambda name="root": _Logger(name),
    basicConfig=_basic_config,
)
_gc = _space("gc", collect=lambda *_: 0, enable=lambda: None, disable=lambda: None)


def _timeit(
    stmt: Any = None, setup: Any = None, timer: Any = time.perf_counter, number: int = 1_000_000, **_: Any
) -> float:
    if not callable(stmt):
        raise guards.SecurityError("timeit takes a function here, not text.")
    started = timer()
    for _i in range(number):
        stmt()
    return float(timer() - started)


_timeit_module = _space("timeit", timeit=_timeit, default_timer=time.perf_counter)


# ---------------------------------------------------------------- functools, dataclasses, operator, json
def _update_wrapper(wrapper: Any, wrapped: Any, *_: Any, **__: Any) -> Any:
    return functools.update_wrapper(wrapper, wrapped)


def _wraps(wrapped: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
    return lambda wrapper: _update_wrapper(wrapper, wrapped)


def _checked_dispatch(real: Any) -> Callable[[Any], Any]:
    """singledispatch evaluates annotations that are text: refuse them."""

    def make(function: Any) -> Any:
        made = real(function)
        register = made.register

        def checked(kind: Any, *args: Any, **named: Any) -> Any:
            hints = getattr(kind, "__annotations__", {}) if not isinstance(kind, type) else {}
            if any(isinstance(hint, str) for hint in dict(hints).values()):
                raise guards.SecurityError("singledispatch takes classes here, not text annotations.")
            return register(kind, *args, **named)

        made.register = checked
        return made

    return make


class _DispatchMethod(functools.singledispatchmethod):  # type: ignore[type-arg]
    """functools.singledispatchmethod over the checked singledispatch."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self.dispatcher = _checked_dispatch(functools.singledispatch)(function)


def _dataclass(cls: Any = None, /, **options: Any) -> Any:
    import dataclasses

    def make(kind: Any) -> Any:
        fields = inspect.get_annotations(kind)
        if not all(isinstance(f, str) and f.isidentifier() for f in fields) or issubclass(kind, str):
            raise guards.SecurityError("A dataclass needs plain field names, and str is no base for it here.")
        return dataclasses.dataclass(kind, **options)

    return make if cls is None else make(cls)


def _show(*_: Any, **__: Any) -> None:
    """pyplot.show: there is no window, so every open figure becomes a picture among the files."""
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        plt.figure(number).savefig(f"figure_{number}.png")
    plt.close("all")


def _numpy_load(file: Any, *args: Any, allow_pickle: bool = False, **options: Any) -> Any:
    if allow_pickle or (len(args) > 1 and args[1]):
        raise guards.SecurityError("allow_pickle is not available here: save plain arrays, or use JSON or CSV.")
    import numpy

    return numpy.load(file, *args, **options)


def _zones() -> set[str]:
    return zones.names()


REPLACED: dict[str, dict[str, Any]] = {
    "functools": {
        "wraps": _wraps,
        "update_wrapper": _update_wrapper,
        "singledispatchmethod": _DispatchMethod,
        "singledispatch": _checked_dispatch(functools.singledispatch),
    },
    "operator": {"attrgetter": guards.attrgetter, "methodcaller": guards.methodcaller},
    "dataclasses": {"dataclass": _dataclass},
    "zoneinfo": {"available_timezones": _zones},
    "matplotlib.pyplot": {"show": _show},
    "numpy": {"load": _numpy_load},
    "json": {"load": lambda file, **kw: json.loads(file.read(), **kw)},
    "types": {"FunctionType": type(_zones), "LambdaType": type(_zones)},
}


def _of_files(name: str) -> Callable[[], Any]:
    """Made when the code imports it, that is after this run's table is in place."""

    def make() -> Any:
        from .library import View

        inner = {"path": _of_files("os.path")()} if name == "os" else {}
        return View(name, fileviews.members(name) | inner)

    return functools.cache(make)


MODULES: dict[str, Callable[[], Any]] = {
    **{name: _of_files(name) for name in ("os", "os.path", "pathlib", "glob", "fnmatch")},
    "sys": _sys,
    "warnings": _warnings,
    "traceback": _traceback,
    "logging": _logging,
    "gc": _gc,
    "timeit": _timeit_module,
}
