"""Stand-ins for modules and functions whose real ones would show or do too much."""

import builtins
import functools
import inspect
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from . import fileviews, guards, hints, speaking, zones


def _space(name: str, **members: Any) -> Callable[[], Any]:
    """A module-like object, made once and only when it is asked for."""

    @functools.cache
    def make() -> Any:
        from .library import View  # the views use the stand-ins

        return View(name, {key.rstrip("_"): value() if key.endswith("_") else value for key, value in members.items()})

    return make


# ---------------------------------------------------------------- gc, timeit
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


def _repeat(
    stmt: Any = None, setup: Any = None, timer: Any = time.perf_counter, repeat: int = 5, **options: Any
) -> Any:
    return [_timeit(stmt, setup, timer, **options) for _ in range(repeat)]


_timeit_module = _space("timeit", timeit=_timeit, repeat=_repeat, default_timer=time.perf_counter)


def _platform() -> dict[str, Any]:
    """What programs print about where they run, the machine itself left out."""
    return {
        "python_version": lambda: sys.version.split()[0],
        "python_implementation": lambda: "CPython",
        "system": lambda: "Linux",
        "machine": lambda: "x86_64",
        "platform": lambda *_, **__: "Linux",
    }


# ---------------------------------------------------------------- functools, dataclasses, operator, json
def _update_wrapper(wrapper: Any, wrapped: Any, *_: Any, **__: Any) -> Any:
    return functools.update_wrapper(wrapper, wrapped)


def _wraps(wrapped: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
    return lambda wrapper: _update_wrapper(wrapper, wrapped)


def _dataclass(cls: Any = None, /, **options: Any) -> Any:
    import dataclasses

    def make(kind: Any) -> Any:
        fields = inspect.get_annotations(kind)
        if not all(type(f) is str and f.isidentifier() for f in fields) or issubclass(kind, str):
            raise guards.SecurityError("A dataclass needs plain field names, and str is no base for it here.")
        return dataclasses.dataclass(kind, **options)

    return make if cls is None else make(cls)


def _make_dataclass(*_: Any, **__: Any) -> Any:
    raise guards.SecurityError("make_dataclass is not available here: write a class with @dataclass.")


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


def _open(*args: Any, **options: Any) -> Any:
    """The built-in open of the moment: this run's table."""
    return builtins.open(*args, **options)


def _zones() -> set[str]:
    return zones.names()


REPLACED: dict[str, dict[str, Any]] = {
    "functools": {
        "wraps": _wraps,
        "update_wrapper": _update_wrapper,
        "singledispatchmethod": hints.DispatchMethod,
        "singledispatch": hints.singledispatch,
    },
    "operator": {"attrgetter": guards.attrgetter, "methodcaller": guards.methodcaller},
    "dataclasses": {"dataclass": _dataclass, "make_dataclass": _make_dataclass},
    "io": {"open": _open},
    "codecs": {"open": _open},
    "typing": {"get_type_hints": hints.get_type_hints, "get_origin": hints.get_origin},
    "zoneinfo": {"available_timezones": _zones},
    "matplotlib.pyplot": {"show": _show},
    "numpy": {"load": _numpy_load},
    "json": {"load": lambda file, **kw: json.loads(file.read(), **kw)},
    "types": {"FunctionType": type(_zones), "LambdaType": type(_zones)},
}


def _of_members(name: str, members: Callable[[], dict[str, Any]]) -> Callable[[], Any]:
    """Made once and only when it is asked for."""

    def make() -> Any:
        from .library import View  # the views use the stand-ins

        return View(name, members())

    return functools.cache(make)


def _of_files(name: str) -> Callable[[], Any]:
    """Made when the code imports it, that is after this run's table is in place."""

    def make() -> Any:
        from .library import View

        inner = {"path": _of_files("os.path")()} if name == "os" else {}
        return View(name, fileviews.members(name) | inner)

    return functools.cache(make)


MODULES: dict[str, Callable[[], Any]] = {
    **{name: _of_files(name) for name in ("os", "os.path", "pathlib", "glob", "fnmatch", "shutil")},
    "sys": functools.cache(speaking.system),
    "warnings": _of_members("warnings", speaking.warning_members),
    "traceback": _of_members("traceback", speaking.traceback_members),
    "inspect": _of_members("inspect", hints.inspect_members),
    "platform": _of_members("platform", _platform),
    "gc": _gc,
    "timeit": _timeit_module,
}
