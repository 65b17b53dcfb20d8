"""sys, warnings, traceback and logging as code sees them: what programs say, and where they say it."""

import contextlib
import logging
import sys
import traceback
import types
import warnings
from collections.abc import Iterator
from typing import Any

from . import guards, limits
from .report import user_trace
from .words import words

#: what code may put in place of what there is, as in plain Python
CHANGEABLE = ("stdin", "stdout", "stderr", "argv")


def stop(code: Any = None) -> None:
    """exit(), quit() and sys.exit()."""
    raise SystemExit(code)


def _set_recursion_limit(depth: int) -> None:
    sys.setrecursionlimit(max(100, min(depth, limits.RECURSION_MAX)))


def system() -> Any:
    """The view of sys. Its streams are those of the moment, and may be put aside for others as in plain Python."""
    from .library import View  # the views use the stand-ins

    def changeable(name: str) -> property:
        return property(lambda _: getattr(sys, name), lambda _, value: setattr(sys, name, value))

    class System(View):
        stdin, stdout, stderr, argv = map(changeable, CHANGEABLE)

        def __setattr__(self, name: str, value: Any) -> None:
            if name not in CHANGEABLE:
                super().__setattr__(name, value)
            object.__setattr__(self, name, value)

    System.__name__ = System.__qualname__ = "module"
    return System("sys", _sys_members() | dict.fromkeys(CHANGEABLE))


def _sys_members() -> dict[str, Any]:
    as_they_are = words(
        "byteorder float_info int_info hash_info getrecursionlimit getsizeof getrefcount intern maxsize maxunicode "
        "platform hexversion set_int_max_str_digits get_int_max_str_digits getdefaultencoding version_info"
    )
    return {name: getattr(sys, name) for name in as_they_are} | {
        "path": [],
        "exit": stop,
        "implementation": types.SimpleNamespace(name="cpython"),
        "setrecursionlimit": _set_recursion_limit,
        "exc_info": lambda: sys.exc_info(),
        "version": sys.version.split()[0],
    }


# ---------------------------------------------------------------- warnings
@contextlib.contextmanager
def _catch_warnings(*, record: bool = False, **filters: Any) -> Iterator[Any]:
    """warnings.catch_warnings: the real object would show the module behind it."""
    with warnings.catch_warnings(record=record, **filters) as log:
        yield log


def warning_members() -> dict[str, Any]:
    """The public names of warnings."""
    names = words("warn filterwarnings simplefilter resetwarnings formatwarning")
    return {name: getattr(warnings, name) for name in names} | {"catch_warnings": _catch_warnings}


# ---------------------------------------------------------------- traceback
def _error_of(args: tuple[Any, ...]) -> BaseException | None:
    return next((a for a in args if isinstance(a, BaseException)), sys.exc_info()[1])


def _format_exception(*args: Any, limit: int | None = None, chain: bool = True, **_: Any) -> list[str]:
    error = _error_of(args)
    return ["NoneType: None\n"] if error is None else list(user_trace(error, limit).format(chain=chain))


def _print_exception(*args: Any, file: Any = None, **options: Any) -> None:
    (file or sys.stderr).write("".join(_format_exception(*args, **options)))


def _format_tb(trace: Any, limit: int | None = None) -> list[str]:
    error = Exception().with_traceback(trace)
    return user_trace(error, limit).stack.format()


def traceback_members() -> dict[str, Any]:
    """The public names of traceback; every trace shows the code's own lines only."""
    return {
        "format_exc": lambda limit=None, chain=True: "".join(_format_exception(limit=limit, chain=chain)),
        "format_exception": _format_exception,
        "format_exception_only": traceback.format_exception_only,
        "print_exc": lambda limit=None, file=None, chain=True: _print_exception(limit=limit, file=file, chain=chain),
        "print_exception": _print_exception,
        "format_tb": _format_tb,
        "print_tb": lambda trace, limit=None, file=None: (file or sys.stderr).write("".join(_format_tb(trace, limit))),
        "extract_tb": lambda trace, limit=None: user_trace(Exception().with_traceback(trace), limit).stack,
    }


# ---------------------------------------------------------------- logging
def warm_up() -> None:
    """Take the style of format strings out of `logging`: records hold objects that lead far."""

    def refuse(*_: Any, **__: Any) -> None:
        raise guards.SecurityError("style='{' is not available here: use style='%' or '$'.")

    styles: Any = vars(logging)["_STYLES"]
    styles["{"] = (refuse, styles["{"][1])
