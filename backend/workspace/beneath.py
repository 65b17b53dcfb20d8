"""openat2 of Linux: the kernel itself opens a folder below another and refuses every link on the way."""

import ctypes
import errno
import os
import sys
import threading

_SYS_OPENAT2 = 437  # the same number on every architecture but alpha
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS


class _How(ctypes.Structure):
    """struct open_how."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class Beneath:
    """Opens folders with openat2 where the kernel has it; asked once whether it does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._probed = False
        self._libc: ctypes.CDLL | None = None

    @property
    def available(self) -> bool:
        """True if this kernel (and whatever filters its calls) has openat2."""
        with self._lock:
            if not self._probed:
                self._libc = self._probe()
                self._probed = True
        return self._libc is not None

    def open(self, folder: int, path: str, flags: int) -> int | None:
        """A descriptor of `path` below the open `folder`, or None if the kernel refuses, for whatever reason."""
        if not self.available or self._libc is None:
            return None
        fd = _call(self._libc, folder, path, flags)
        return fd if fd >= 0 else None

    @staticmethod
    def _probe() -> ctypes.CDLL | None:
        """The C library if openat2 works and really refuses to leave a folder; None if not."""
        if sys.platform != "linux":
            return None
        libc = ctypes.CDLL(None, use_errno=True)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        here = os.open("/", flags)
        try:
            inside = _call(libc, here, ".", flags)
            if inside < 0:
                return None
            os.close(inside)
            outside = _call(libc, here, "..", flags)
            if outside >= 0:
                os.close(outside)
                return None
            return libc if ctypes.get_errno() == errno.EXDEV else None
        finally:
            os.close(here)


def _call(libc: ctypes.CDLL, folder: int, path: str, flags: int) -> int:
    how = _How(flags, 0, _RESOLVE)
    size = ctypes.c_size_t(ctypes.sizeof(how))
    return int(libc.syscall(_SYS_OPENAT2, folder, ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how), size))


beneath = Beneath()
