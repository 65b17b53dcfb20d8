"""Type hints that are text, signatures and syntax trees: what reads code, kept to what the policy lets code say."""

import ast
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from . import guards, names
from .words import words

_INSPECT = words(
    "signature Signature Parameter BoundArguments isfunction isclass ismethod isbuiltin isroutine isgenerator isabstract "
    "isgeneratorfunction iscoroutinefunction getdoc cleandoc getmro getsource"
)
_AST_FUNCTIONS = words(
    "parse literal_eval dump unparse walk iter_fields iter_child_nodes fix_missing_locations copy_location "
    "increment_lineno get_docstring get_source_segment NodeVisitor NodeTransformer"
)


def ast_names() -> list[str]:
    """Every kind of node, and the functions that only read or build trees; nothing here runs one."""
    nodes = [n for n, v in vars(ast).items() if isinstance(v, type) and issubclass(v, ast.AST)]
    return [*nodes, *_AST_FUNCTIONS]


def by_name(module: Any) -> None:
    """Let a library module that reads and sets attributes by names of the code's choice ask the policy first."""
    module.getattr, module.setattr = _getattr, _setattr


def _getattr(thing: Any, name: Any, *default: Any) -> Any:
    if type(name) is not str or not names.may_read(name) or name in names.GUARDED:
        raise guards.SecurityError(guards.refusal(str(name)))
    return getattr(thing, name, *default)


def _setattr(thing: Any, name: Any, value: Any) -> None:
    if type(name) is not str or not names.may_set(name):
        raise guards.SecurityError(guards.refusal(str(name)))
    setattr(thing, name, value)


# ---------------------------------------------------------------- annotations
def _check(hint: Any) -> None:
    """Raise SecurityError unless every text in a hint says what code may say, without any guard."""
    from . import policy  # it imports the guards too

    for text in _texts(hint):
        if not policy.is_plain(text):
            raise guards.SecurityError("A type hint that is text may only name types here.")


def _texts(hint: Any) -> Iterator[str]:
    if isinstance(hint, typing.ForwardRef):
        hint = hint.__forward_arg__
    if isinstance(hint, str):
        yield str.__str__(hint)
    elif typing.get_origin(hint) is not typing.Literal:
        parts = hint if isinstance(hint, (list, tuple)) else getattr(hint, "__args__", ())
        for part in parts if isinstance(parts, (list, tuple)) else ():
            yield from _texts(part)


def _check_all(thing: Any) -> None:
    for part in getattr(thing, "__mro__", (thing,)):
        for hint in dict(getattr(part, "__annotations__", None) or {}).values():
            _check(hint)


def get_type_hints(obj: Any, globalns: Any = None, localns: Any = None, include_extras: bool = False) -> Any:
    """typing.get_type_hints; names are always those of the code itself."""
    while hasattr(obj, "__wrapped__"):
        obj = obj.__wrapped__
    _check_all(obj)
    space = sys.modules["__main__"].__dict__
    return typing.get_type_hints(obj, space, localns, include_extras)


def get_origin(hint: Any) -> Any:
    """typing.get_origin."""
    found = typing.get_origin(hint)
    return guards.TYPE if found is type else found


# ---------------------------------------------------------------- functools.singledispatch
def singledispatch(function: Any) -> Any:
    """functools.singledispatch, which evaluates annotations that are text: checked first."""
    made = functools.singledispatch(function)
    register: Callable[..., Any] = made.register

    def checked(kind: Any, *args: Any, **named: Any) -> Any:
        if not isinstance(kind, type):
            _check_all(kind)
        return register(kind, *args, **named)

    made.register = checked  # type: ignore[method-assign, assignment]
    return made


class DispatchMethod(functools.singledispatchmethod):  # type: ignore[type-arg]
    """functools.singledispatchmethod over the checked singledispatch."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self.dispatcher = singledispatch(function)


# ---------------------------------------------------------------- inspect
def _getmembers(thing: Any, predicate: Any = None) -> list[tuple[str, Any]]:
    seen = (name for name in guards.directory(thing) if name not in names.GUARDED)
    found = ((name, guards.get_attribute(thing, name, None)) for name in seen)
    return [(name, value) for name, value in found if predicate is None or predicate(value)]


def inspect_members() -> dict[str, Any]:
    """The public names of inspect: no frame, no stack, no module."""
    return {name: getattr(inspect, name) for name in _INSPECT} | {
        "getmembers": _getmembers,
        "isgetsetdescriptor": inspect.isgetsetdescriptor,
        "ismodule": lambda thing: isinstance(thing, types.ModuleType),
    }
