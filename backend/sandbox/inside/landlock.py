"""Landlock: a rule set without a single rule, so that no path, no port and no outside process can be reached."""

import ctypes

from . import kernel

CREATE_RULESET, RESTRICT_SELF = 444, 446  # the same on every machine
VERSION_FLAG = 1
FIRST_RIGHTS = (1 << 13) - 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


def version() -> int:
    """The kernel's Landlock version; OSError if it has none or it is switched off."""
    return kernel.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION_FLAG))


def _rights(abi: int) -> tuple[_Ruleset, int]:
    """All rights that this version knows, and the size of the structure it expects."""
    fs = FIRST_RIGHTS | (abi >= 2) << 13 | (abi >= 3) << 14 | (abi >= 5) << 15  # refer, truncate, ioctl
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    return _Ruleset(fs, 0b11 if abi >= 4 else 0, 0b11 if abi >= 6 else 0), size


def restrict(abi: int) -> None:
    """Forbid everything that version `abi` can forbid. Needs no_new_privs."""
    rules, size = _rights(abi)
    fd = kernel.syscall(CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        kernel.syscall(RESTRICT_SELF, ctypes.c_int(fd), ctypes.c_uint32(0))
    finally:
        ctypes.CDLL(None).close(fd)
