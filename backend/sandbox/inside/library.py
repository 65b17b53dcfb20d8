"""Which modules code may import, loaded before the walls go up, and the read-only views it gets of them."""

import builtins
import importlib
import importlib.util
import io
import sys
import types
from collections.abc import Iterable
from typing import Any

from . import guards, modules, policy, speaking, standins, zones
from .files import FileTable

_views: dict[str, Any] = {}
_loaded: dict[str, types.ModuleType] = {}


class View:
    """A module as code sees it: its public names, no module behind them, nothing to change."""

    def __init__(self, name: str, public: dict[str, Any]) -> None:
        self.__dict__.update(public)
        self.__dict__["__name__"] = name

    def __setattr__(self, name: str, value: Any) -> None:
        raise guards.SecurityError("Modules cannot be changed here: keep the value in a variable.")

    def __delattr__(self, name: str) -> None:
        raise guards.SecurityError("Modules cannot be changed here.")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} here")

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}>"


# ---------------------------------------------------------------- before the walls
def load(wanted: str) -> list[str]:
    """Import and warm up everything of a profile (`light` or `heavy`); returns the names that code may import."""
    for name in modules.HIDDEN:
        importlib.import_module(name)
    for name in modules.ALLOWED:
        _loaded[name] = importlib.import_module(name)
    if wanted == "heavy":
        for name in modules.HEAVY:
            _load_heavy(name)
    zones.load()
    modules.warm_up()
    for name in _loaded:
        view(name)
    return available()


def _load_heavy(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        return
    try:
        _loaded[name] = importlib.import_module(name)
        for extra in modules.HEAVY[name]:
            _loaded[extra] = importlib.import_module(extra)
        modules.WARM_HEAVY[name]()
    except ImportError:  # installed for another Python, or half installed: code is told that it is not there
        _loaded.pop(name, None)


def loaded(name: str) -> Any:
    """A module of this process, or None."""
    return _loaded.get(name)


def available() -> list[str]:
    """Top-level names that code may import."""
    return sorted({n.partition(".")[0] for n in [*_loaded, *standins.MODULES]})


# ---------------------------------------------------------------- for the code
def namespace(table: FileTable) -> dict[str, Any]:
    """The globals of one run: built-ins and the guards."""
    space = {name: getattr(builtins, name) for name in modules.BUILTINS if hasattr(builtins, name)}
    space |= {n: getattr(builtins, n) for n in dir(builtins) if isinstance(getattr(builtins, n), type) and _is_error(n)}
    space |= {
        "open": table.open,
        "type": guards.TYPE,
        "getattr": guards.get_attribute,
        "hasattr": guards.has_attribute,
        "setattr": guards.set_attribute,
        "delattr": guards.delete_attribute,
        "vars": guards.variables,
        "dir": guards.directory,
        "exit": speaking.stop,
        "quit": speaking.stop,
        "__import__": _import_for_c_code,
        "__build_class__": builtins.__build_class__,
    }
    hidden = {
        policy.PRIVATE: guards.private,
        policy.GUARDED: guards.guarded,
        policy.MATCHED: guards.matched,
        policy.CHANGED: guards.changeable,
        policy.IMPORT: import_module,
        policy.IMPORT_FROM: import_name,
    }
    return {"__name__": "__main__", "__doc__": None, "__builtins__": space | hidden}


def _is_error(name: str) -> bool:
    return issubclass(getattr(builtins, name), BaseException)


def _import_for_c_code(name: str, *_: Any, **__: Any) -> Any:
    """C functions import through the caller's built-ins; the code itself cannot spell this name."""
    return __import__(name) if name in sys.modules else import_module(name, whole=True)


def import_module(name: str, whole: bool) -> Any:
    """`import a.b` (the view of a) or, with `whole`, `import a.b as c` (the view of b)."""
    found = view(name)
    return found if whole else view(name.partition(".")[0])


def import_name(module: str, name: str) -> Any:
    """`from module import name`."""
    found = view(module)
    if name in vars(found):
        return getattr(found, name)
    try:
        return view(f"{module}.{name}")
    except ImportError:
        raise ImportError(f"cannot import name {name!r} from {module!r} here") from None


def instead_of(name: str) -> str:
    """What to use instead of a module that is not there."""
    return modules.why_not(name, available())


def star_names(module: str) -> list[str]:
    """What `from module import *` brings."""
    try:
        return [name for name in vars(view(module)) if not name.startswith("_")]
    except ImportError:
        return []  # the import itself says why, when it runs


def view(name: str) -> Any:
    """The view of a module; ImportError says what there is instead."""
    if name in standins.MODULES:
        return standins.MODULES[name]()
    if name not in _loaded and any(other.startswith(name + ".") for other in _loaded):
        return View(name, _parts(name))
    if name not in _loaded:
        error = ModuleNotFoundError(f"No module named {name!r}", name=name)
        error.add_note(instead_of(name))
        raise error
    if name not in _views:
        _views[name] = _make_view(name, _loaded[name])
    return _views[name]


def _make_view(name: str, module: types.ModuleType) -> View:
    hidden = modules.LEFT_OUT.get(name, frozenset())
    members = {n: _member(module, n) for n in _public_names(name, module) if n not in hidden}
    public = {n: v for n, v in members.items() if not isinstance(v, types.ModuleType) and v not in _never()}
    public |= standins.REPLACED.get(name, {})
    if name == "pandas":
        public["offsets"] = view("pandas.tseries.offsets")
    public |= _parts(name)
    return View(name, public | {"__doc__": module.__doc__, "__version__": getattr(module, "__version__", None)})


def _parts(name: str) -> dict[str, Any]:
    """The views of the modules directly below one, those of packages that are only ways included."""
    prefix = name + "."
    below = {other[len(prefix) :].partition(".")[0] for other in _loaded if other.startswith(prefix)}
    return {part: view(prefix + part) for part in sorted(below)}


def _member(module: types.ModuleType, name: str) -> Any:
    try:
        return getattr(module, name)
    except (AttributeError, ImportError):  # a part that is only there when another package is
        return types  # a module, and so left out


def _public_names(name: str, module: types.ModuleType) -> Iterable[str]:
    if name in modules.EXPLICIT:
        return modules.EXPLICIT[name]
    listed = getattr(module, "__all__", None)
    if listed is not None and name not in modules.IGNORE_ALL:
        return [*listed, *modules.ADDED.get(name, ())]
    return [n for n in dir(module) if not n.startswith("_")]


class _Never:
    """The objects that no view may hand out, by identity (library objects may not be hashable)."""

    ids = frozenset(map(id, (open, io.FileIO, io.open_code, eval, exec, compile, __import__, type, getattr, globals)))

    def __contains__(self, value: object) -> bool:
        return id(value) in self.ids


def _never() -> _Never:
    return _Never()
