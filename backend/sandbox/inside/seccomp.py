"""The system call filter: a short allow-list, everything else refused, the dangerous ones fatal."""

import ctypes
import errno
import struct

from . import kernel

SECCOMP_MODE_FILTER = 2
KILL, ERRNO, ALLOW = 0x8000_0000, 0x0005_0000, 0x7FFF_0000
PROT_EXEC = 4
X32_BIT = 0x4000_0000

_LD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF opcodes, absolute word loads and constants
_NR_OFFSET, _ARCH_OFFSET, _ARG2_OFFSET = 0, 4, 32  # in struct seccomp_data, little endian

_X86_ALLOWED = {
    "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "munmap": 11, "brk": 12, "rt_sigaction": 13,
    "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35,
    "getpid": 39, "exit": 60, "gettimeofday": 96, "getrusage": 98, "times": 100, "getuid": 102, "getgid": 104,
    "geteuid": 107, "getegid": 108, "sigaltstack": 131, "gettid": 186, "time": 201, "futex": 202,
    "sched_getaffinity": 204, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229,
    "clock_nanosleep": 230, "exit_group": 231, "ppoll": 271, "set_robust_list": 273, "getrandom": 318, "rseq": 334,
}  # fmt: skip
_X86_KILLED = {
    "ptrace": 101, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308,
    "add_key": 248, "request_key": 249, "keyctl": 250, "perf_event_open": 298, "process_vm_readv": 310,
    "process_vm_writev": 311, "kexec_load": 246, "init_module": 175, "finit_module": 313, "delete_module": 176,
    "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_by_handle_at": 304, "reboot": 169,
}  # fmt: skip
_ARM_ALLOWED = {
    "read": 63, "write": 64, "close": 57, "fstat": 80, "munmap": 215, "brk": 214, "rt_sigaction": 134,
    "rt_sigprocmask": 135, "rt_sigreturn": 139, "sched_yield": 124, "mremap": 216, "madvise": 233, "nanosleep": 101,
    "getpid": 172, "exit": 93, "gettimeofday": 169, "getrusage": 165, "times": 153, "getuid": 174, "getgid": 176,
    "geteuid": 175, "getegid": 177, "sigaltstack": 132, "gettid": 178, "futex": 98, "sched_getaffinity": 123,
    "restart_syscall": 128, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "exit_group": 94,
    "ppoll": 73, "set_robust_list": 99, "getrandom": 278, "rseq": 293,
}  # fmt: skip
_ARM_KILLED = {
    "ptrace": 117, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268,
    "add_key": 217, "request_key": 218, "keyctl": 219, "perf_event_open": 241, "process_vm_readv": 270,
    "process_vm_writev": 271, "kexec_load": 104, "init_module": 105, "finit_module": 273, "delete_module": 106,
    "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_by_handle_at": 265, "reboot": 142,
}  # fmt: skip
_CLONE3 = 435
#: per machine: audit word, allowed, fatal, the calls whose third argument is a protection
_TABLES = {
    "x86_64": (0xC000_003E, _X86_ALLOWED, _X86_KILLED, (9, 10, 329)),
    "aarch64": (0xC000_00B7, _ARM_ALLOWED, _ARM_KILLED, (222, 226, 288)),
}


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def program() -> bytes:
    """The filter for this machine as BPF bytes; OSError where there is no table."""
    table = _TABLES.get(kernel.machine())
    if table is None:
        raise OSError(errno.ENOSYS, "no system call table for this machine")
    arch, allowed, killed, protections = table
    ops = [_op(_LD, _ARCH_OFFSET), _op(_JEQ, arch, 1, 0), _op(_RET, KILL), _op(_LD, _NR_OFFSET)]
    if arch == _TABLES["x86_64"][0]:
        ops += [_op(_JGE, X32_BIT, 0, 1), _op(_RET, KILL)]
    for number in allowed.values():
        ops += [_op(_JEQ, number, 0, 1), _op(_RET, ALLOW)]
    for number in protections:  # memory may be had, but never memory that runs
        ops += [_op(_JEQ, number, 0, 4), _op(_LD, _ARG2_OFFSET), _op(_JSET, PROT_EXEC, 1, 0)]
        ops += [_op(_RET, ALLOW), _op(_RET, ERRNO | errno.EPERM)]
    for number in killed.values():
        ops += [_op(_JEQ, number, 0, 1), _op(_RET, KILL)]
    ops += [_op(_JEQ, _CLONE3, 0, 1), _op(_RET, ERRNO | errno.ENOSYS)]
    ops.append(_op(_RET, ERRNO | errno.EPERM))
    return b"".join(ops)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(code: bytes) -> None:
    """Put the filter on this process; it cannot be taken off again. Needs no_new_privs."""
    buffer = ctypes.create_string_buffer(code, len(code))
    prog = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    kernel.prctl(kernel.PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(prog))
