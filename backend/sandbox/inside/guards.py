"""The run-time half of the policy: checks of what the source alone cannot tell."""

import string
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import names

#: private names of library classes that are documented
DOCUMENTED = {
    "_asdict",
    "_replace",
    "_fields",
    "_make",
    "_field_defaults",
    "_name_",
    "_value_",
    "_missing_",
    "_ignore_",
}
_FORMATS = {"str.format", "str.format_map"}
_MISSING: Any = object()
#: library classes that are made of nothing but the attributes code gives them
OPEN: set[type] = {types.SimpleNamespace}


class SecurityError(Exception):
    """What the policy does not allow, with what to write instead."""

    __module__ = "builtins"


def is_users(thing: Any) -> bool:
    """True for a class made in this run and for an object of such a class."""
    kind = thing if isinstance(thing, type) else type(thing)
    if kind is super:
        kind = super.__getattribute__(thing, "__self_class__")
    return bool(type.__getattribute__(kind, "__flags__") & (1 << 9)) and _module_of(kind) == "__main__"


def _module_of(kind: type) -> Any:
    for base in type.__getattribute__(kind, "__mro__"):
        module = type.__getattribute__(base, "__dict__").get("__module__")
        if module == "__main__":
            return module
    return None


def private(thing: Any, name: str) -> Any:
    """`thing`, if its underscore attribute `name` may be touched."""
    if name in DOCUMENTED or is_users(thing):
        return thing
    raise SecurityError(f"{name!r} is private to {type(thing).__name__}: use its public methods instead.")


def changeable(thing: Any, name: str) -> Any:
    """`thing`, if its special method `name` may be set, as in `cls.__repr__ = …`."""
    if is_users(thing):
        return thing
    raise SecurityError(f"{name!r} can only be set on your own classes: make a subclass and define it there.")


def guarded(thing: Any, name: str, default: Any = _MISSING) -> Any:
    """`thing.name` for any name that code may read; the ones that could lead out come back wrapped."""
    if not names.may_read(name):
        raise SecurityError(refusal(name))
    if names.is_private(name):
        private(thing, name)
    if name == "__dict__":
        return _own_dict(thing)
    value = getattr(thing, name) if default is _MISSING else getattr(thing, name, default)
    if name in names.GUARDED:
        return _wrapped(thing, name, value)
    return value


def refusal(name: str) -> str:
    """Why an attribute is out of reach, with a way round where there is one."""
    ways = {
        "__globals__": "pass values as arguments",
        "__code__": "call the function instead",
        "__builtins__": "use the built-in functions by name",
        "__import__": "write an import statement at the top",
        "__base__": "name the class you mean",
        "__class__": "keep what changes in an attribute, or make a new object",
        "__init_subclass__": "register subclasses with a decorator",
    }
    way = ways.get(name, "use public attributes and methods")
    return f"The attribute {name!r} is not available here: {way}."


def _own_dict(thing: Any) -> Any:
    if isinstance(thing, types.FunctionType):
        own = thing.__globals__.get("__name__") == "__main__"
    else:
        own = is_users(thing) or type(thing) in OPEN
    if not own or isinstance(thing, types.ModuleType):
        raise SecurityError("__dict__ is only available for your own classes and objects: use getattr or dir instead.")
    return thing.__dict__


def _wrapped(thing: Any, name: str, value: Any) -> Any:
    if name in ("format", "format_map"):
        return _format(value)
    if name == "__annotations__":
        return dict(value) if isinstance(value, dict) else value
    if name == "__subclasses__" and not is_users(thing):
        raise SecurityError("__subclasses__ is only available for your own classes.")
    if name in ("__getattribute__", "__getattr__", "__setattr__", "__delattr__"):
        return _named_access(value, name)
    return TYPE if value is type else value


def _named_access(method: Callable[..., Any], kind: str) -> Callable[..., Any]:
    allowed = names.may_read if kind.startswith("__getattr") else names.may_set
    position = -2 if kind == "__setattr__" else -1

    def access(*args: Any) -> Any:
        name = args[position] if len(args) >= -position else None
        if type(name) is not str or not allowed(name) or name in names.GUARDED:
            raise SecurityError(refusal(str(name)))
        return method(*args)

    return access


def matched(subject: Any, *classes: Callable[[], Any]) -> Any:
    """`subject`, once the classes it will be matched against list nothing but plain attributes."""
    for look in classes:
        try:
            kind = look()
        except (NameError, AttributeError):
            continue  # an earlier case may match, as in plain Python
        listed = _listed_attributes(kind) if isinstance(kind, type) else ()
        if not all(type(n) is str and not n.startswith("_") and n not in UNMATCHED for n in listed):
            raise SecurityError("This class lists special attributes in __match_args__: match them by keyword.")
    return subject


def _listed_attributes(kind: type) -> Any:
    for base in type.__getattribute__(kind, "__mro__"):
        listed = type.__getattribute__(base, "__dict__").get("__match_args__")
        if listed is not None:
            return listed
    return ()


UNMATCHED = names.GUARDED | names.INSPECTION


# ---------------------------------------------------------------- format strings
class _Formatter(string.Formatter):
    """str.format whose field names go through the guard."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if isinstance(key, int) and key >= len(args):
            raise IndexError(f"Replacement index {key} out of range for positional args tuple")
        return super().get_value(key, args, kwargs)

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
        first, rest = _split_field(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            value = guarded(value, str(key)) if is_attribute else value[key]
        return value, first


def _split_field(field_name: str) -> tuple[Any, Any]:
    import _string  # type: ignore[import-not-found]

    return _string.formatter_field_name_split(field_name)  # type: ignore[no-any-return]


_formatter = _Formatter()


def _format(method: Any) -> Any:
    if getattr(method, "__qualname__", None) not in _FORMATS:
        return method
    by_map = method.__qualname__ == "str.format_map"
    text = getattr(method, "__self__", None)
    if not isinstance(text, str):  # str.format itself
        return (lambda s, m: _formatter.vformat(s, (), m)) if by_map else lambda s, *a, **k: _formatter.vformat(s, a, k)
    if by_map:
        return lambda mapping: _formatter.vformat(text, (), mapping)
    return lambda *args, **kwargs: _formatter.vformat(text, args, kwargs)


# ---------------------------------------------------------------- built-in functions that take names
def _checked(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError("attribute name must be string")
    return str.__str__(name)


def get_attribute(thing: Any, name: str, *default: Any) -> Any:
    """The built-in getattr."""
    return guarded(thing, _checked(name), *default)


def has_attribute(thing: Any, name: str) -> bool:
    """The built-in hasattr: what may not be read is not there."""
    try:
        guarded(thing, _checked(name))
    except (AttributeError, SecurityError):
        return False
    return True


def set_attribute(thing: Any, name: str, value: Any) -> None:
    """The built-in setattr."""
    setattr(_may_change(thing, name), name, value)


def delete_attribute(thing: Any, name: str) -> None:
    """The built-in delattr."""
    delattr(_may_change(thing, name), name)


def _may_change(thing: Any, name: str) -> Any:
    if names.may_set_on_own(_checked(name)):
        return changeable(thing, name)
    if not names.may_set(name):
        raise SecurityError(refusal(name))
    return private(thing, name) if names.is_private(name) else thing


def variables(*things: Any) -> Any:
    """The built-in vars, for an object."""
    if len(things) != 1:
        raise SecurityError("vars() without an object is not available here: keep values in a dict of your own.")
    return _own_dict(things[0])


def directory(*things: Any) -> list[str]:
    """The built-in dir, without what cannot be read anyway."""
    if len(things) != 1:
        raise SecurityError("dir() without an object is not available here.")
    return [name for name in dir(things[0]) if names.may_read(name) and not names.is_private(name)]


class _Type(type):
    """The class of TYPE: `isinstance(x, type)` and `type(x) is …` work as ever."""

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, type)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            raise SecurityError("type() takes one argument here: write a class statement to make a class.")
        kind = type(args[0])
        return TYPE if kind is type else kind

    def __repr__(cls) -> str:
        return "<class 'type'>"


class TYPE(metaclass=_Type):
    """Stands for the built-in `type`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return types.GenericAlias(type, item)


TYPE.__name__ = TYPE.__qualname__ = "type"


def attrgetter(*fields: str) -> Callable[[Any], Any]:
    """operator.attrgetter over the guard."""

    def walk(thing: Any, path: str) -> Any:
        for name in path.split("."):
            thing = guarded(thing, name)
        return thing

    paths = [_checked(f) for f in fields]
    if len(paths) == 1:
        return lambda thing: walk(thing, paths[0])
    return lambda thing: tuple(walk(thing, p) for p in paths)


def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """operator.methodcaller over the guard."""
    method = _checked(name)
    return lambda thing: guarded(thing, method)(*args, **kwargs)
