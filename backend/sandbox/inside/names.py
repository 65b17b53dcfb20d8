"""Which names the policy lets code read, set and define: one table for the compiler and for the run-time guards."""

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from .words import words

_OPERATORS = {
    f"__{prefix}{name}__"
    for name in words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or")
    for prefix in ("", "r", "i")
}
#: special methods a class may define and code may call
METHODS = _OPERATORS | {
    f"__{name}__"
    for name in words(
        "new init post_init call del str repr bytes format hash bool len length_hint getitem setitem delitem "
        "missing iter next reversed contains lt le eq ne gt ge neg pos abs invert int float complex index round "
        "trunc floor ceil enter exit get set delete set_name getattr getattribute setattr delattr dir "
        "init_subclass class_getitem copy deepcopy getstate setstate mro_entries sizeof fspath instancecheck subclasscheck subclasshook array "
        "array_ufunc prepare array_function array_priority"
    )
}
#: special attributes that may be read besides
READABLE = METHODS | {
    f"__{name}__"
    for name in words(
        "name qualname doc class module version cause context traceback notes suppress_context members mro bases "
        "slots defaults kwdefaults dict annotations subclasses dataclass_fields dataclass_params match_args "
        "wrapped abstractmethods self_class thisclass members getnewargs type_params origin args parameters"
    )
}
#: special attributes that may be set from outside a class body
SETTABLE = {"__name__", "__qualname__", "__doc__", "__cause__", "__context__", "__suppress_context__", "__wrapped__"}
#: may be set on the code's own classes, where the class body could have said the same
SETTABLE_ON_OWN = METHODS
#: what a class body may assign beside methods
CLASS_FIELDS = {"__slots__", "__doc__", "__hash__", "__match_args__", "__array_priority__"}
#: readable only through a run-time check of the object
GUARDED = {
    "format",
    "format_map",
    "__dict__",
    "__annotations__",
    "__getattribute__",
    "__getattr__",
    "__setattr__",
    "__delattr__",
    "__subclasses__",
    "__class__",
}
#: variables whose names look special
VARIABLES = {"__name__", "__class__", "__doc__", "__version__", "__author__", "__all__", "__debug__"}

INSPECTION = INSPECT_ATTRIBUTES | {"gi_frame", "gi_yieldfrom", "co_consts", "co_names", "ctypes", "cffi"}


def is_special(name: str) -> bool:
    """A dunder; `__` alone is only a name that nobody needs."""
    return name.startswith("__") and name.endswith("__") and bool(name.strip("_"))


def is_private(name: str) -> bool:
    """An underscore name that is not a dunder: only for objects of classes that the code itself made."""
    return name.startswith("_") and not is_special(name) and name != "_"


def may_read(name: str) -> bool:
    """True if an attribute of this name may be read, guarded or not (private names aside)."""
    return name not in INSPECTION and (not is_special(name) or name in READABLE)


def may_set_on_own(name: str) -> bool:
    """True if an attribute may be set on what the code itself made, and only there."""
    return name in SETTABLE_ON_OWN


def may_set(name: str) -> bool:
    """True if an attribute of this name may be set or deleted (private names aside)."""
    return name not in INSPECTION and (not is_special(name) or name in SETTABLE)
