"""The few system calls that Python does not offer, through ctypes."""

import ctypes
import errno
import os
import platform
import sys

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
LAST_CAPABILITY = 63

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x0002_0000, 0x0400_0000, 0x0800_0000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x1000_0000, 0x2000_0000, 0x4000_0000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 16384, 1 << 18
MNT_DETACH = 2

_CAPABILITY_VERSION_3 = 0x2008_0522
_NUMBERS = {
    "x86_64": {"pivot_root": 155, "capset": 126, "close_range": 436},
    "aarch64": {"pivot_root": 41, "capset": 91, "close_range": 436},
}


def machine() -> str:
    """`x86_64`, `aarch64` or another name for which there is no table."""
    if not sys.platform.startswith("linux"):
        return sys.platform
    name = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(name, name)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *args: object) -> int:
    """A raw system call; raises OSError."""
    return _check(int(_libc.syscall(ctypes.c_long(number), *args)))


def named_syscall(name: str, *args: object) -> int:
    """A system call of this module's small table."""
    numbers = _NUMBERS.get(machine())
    if numbers is None:
        raise OSError(errno.ENOSYS, "no system call table for this machine")
    return syscall(numbers[name], *args)


def prctl(option: int, *args: int) -> int:
    """prctl(2); raises OSError."""
    padded = [ctypes.c_ulong(a) for a in (*args, 0, 0, 0, 0)[:4]]
    return _check(_libc.prctl(ctypes.c_int(option), *padded))


def unshare(flags: int) -> None:
    """unshare(2)."""
    _check(_libc.unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """mount(2)."""
    encoded = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _check(_libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]))


def umount(target: str, flags: int) -> None:
    """umount2(2)."""
    _check(_libc.umount2(target.encode(), ctypes.c_int(flags)))


def pivot_root(new: str, old: str) -> None:
    """pivot_root(2)."""
    named_syscall("pivot_root", new.encode(), old.encode())


def no_new_privs() -> None:
    """From here on no exec can gain rights; seccomp and Landlock ask for it."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Empty every capability set, the bounding set included where that is allowed."""
    for capability in range(LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the kernel's last one, or not permitted: capset below is what counts
    try:
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    named_syscall("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def keep_only(fd: int) -> None:
    """Close every descriptor but `fd`."""
    try:
        if fd > 0:
            named_syscall("close_range", ctypes.c_uint(0), ctypes.c_uint(fd - 1), ctypes.c_uint(0))
        named_syscall("close_range", ctypes.c_uint(fd + 1), ctypes.c_uint(0xFFFF_FFFF), ctypes.c_uint(0))
    except OSError:
        os.closerange(0, fd)
        os.closerange(fd + 1, 65_536)
