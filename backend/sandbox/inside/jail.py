"""The kernel walls: put up one by one, each reported as it stands or why it does not."""

import errno
import os
import resource
from collections.abc import Callable

from . import kernel, landlock, limits, seccomp

ON = "on"
OFF_BY_TEST = "off: left out by a test"
#: every wall that can be left out by a test, in the order of the report
NAMES = (
    "rlimits",
    "seccomp",
    "landlock",
    "empty_root",
    "unprivileged",
    "no_new_privs",
    "user_namespace",
    "network_namespace",
    "pid_namespace",
    "ipc_namespace",
)
_FIRST_UID = 1_879_048_192  # far above any real account; own to this helper
_UID_RANGE = 100_000_000
_NOBODY = 65_534


class Jail:
    """Walls of one helper. `wanted` is smaller than NAMES only in tests of single walls."""

    def __init__(self, wanted: frozenset[str], memory_bytes: int, cpu_seconds: int) -> None:
        self.wanted = wanted
        self.walls = {"process": ON} | dict.fromkeys(NAMES, OFF_BY_TEST)
        self._memory = memory_bytes
        self._cpu = cpu_seconds
        self._filter = b""
        self._abi = 0
        self._private_mounts = False
        self._as_root = os.geteuid() == 0

    def _raise(self, name: str, act: Callable[[], None]) -> None:
        """Put up one wall and note the outcome; a missing wall is the requirement's business, not a crash."""
        if name not in self.wanted:
            return
        try:
            act()
            self.walls[name] = ON
        except (OSError, ValueError, AttributeError) as error:
            self.walls[name] = f"off: {_reason(error)}"

    # ------------------------------------------------------------ before anything is loaded
    def enter_namespaces(self) -> None:
        """Leave the host's namespaces. An ordinary user needs its own user namespace first, root does not."""
        if not self._as_root:
            self._raise("user_namespace", self._own_user_namespace)
        flags = {
            "network_namespace": kernel.CLONE_NEWNET,
            "ipc_namespace": kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS,
            "pid_namespace": kernel.CLONE_NEWPID,
        }
        for name, flag in flags.items():
            self._raise(name, lambda flag=flag: kernel.unshare(flag))  # type: ignore[misc]
        self._raise("empty_root", self._own_mounts)

    def _own_user_namespace(self) -> None:
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(kernel.CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)

    def _own_mounts(self) -> None:
        kernel.unshare(kernel.CLONE_NEWNS)
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        self._private_mounts = True

    # ------------------------------------------------------------ after everything is loaded
    def confine_helper(self) -> None:
        """Empty root, no rights, nothing to open: for the helper and so for every child."""
        if self._private_mounts:
            self._raise("empty_root", self._empty_root)
        self._raise("unprivileged", self._drop_rights)
        if self._as_root:
            self._raise("user_namespace", self._last_user_namespace)
        self._raise("no_new_privs", kernel.no_new_privs)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        self._raise("landlock", self._probe_landlock)
        self._raise("seccomp", self._build_filter)
        self._raise("rlimits", lambda: None)

    def _empty_root(self) -> None:
        place = "/tmp" if os.path.isdir("/tmp") else "/dev"  # noqa: S108 - only a mount point, hidden by the mount
        flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
        kernel.mount("none", place, "tmpfs", flags, "size=4k,nr_inodes=2,mode=555")
        os.chdir(place)
        kernel.pivot_root(".", ".")
        kernel.umount(".", kernel.MNT_DETACH)
        os.chdir("/")
        kernel.mount("none", "/", None, flags | kernel.MS_REMOUNT | kernel.MS_RDONLY)

    def _drop_rights(self) -> None:
        try:
            if self._as_root:
                os.setgroups([])
                self._become(_FIRST_UID + os.getpid() % _UID_RANGE)
        finally:
            kernel.drop_capabilities()

    def _become(self, uid: int) -> None:
        try:
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except OSError as error:  # a container that maps only a few ids
            if error.errno != errno.EINVAL or uid == _NOBODY:
                raise
            self._become(_NOBODY)

    def _last_user_namespace(self) -> None:
        kernel.unshare(kernel.CLONE_NEWUSER)
        kernel.drop_capabilities()

    def _probe_landlock(self) -> None:
        self._abi = landlock.version()
        landlock.restrict(self._abi)

    def _build_filter(self) -> None:
        self._filter = seccomp.program()

    # ------------------------------------------------------------ in each child
    def confine_child(self) -> None:
        """The child's own walls; the filter last, since it forbids the calls that the others need."""
        if self.walls["rlimits"] == ON:
            self._limit()
        if self.walls["landlock"] == ON:
            landlock.restrict(self._abi)
        if self.walls["seccomp"] == ON:
            seccomp.install(self._filter)

    def _limit(self) -> None:
        with_budget = address_space() + self._memory
        for kind, amount in (
            (resource.RLIMIT_AS, with_budget),
            (resource.RLIMIT_DATA, with_budget),
            (resource.RLIMIT_CPU, self._cpu),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, limits.OPEN_FILES),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NPROC, 0),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_STACK, limits.STACK_BYTES),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_SIGPENDING, 16),
        ):
            resource.setrlimit(kind, (amount, amount))


def _reason(error: Exception) -> str:
    """The kernel's answer in words that fit here."""
    texts = {
        errno.EPERM: "not permitted on this machine",
        errno.ENOSPC: "this machine allows no more of them",
        errno.ENOSYS: "the kernel has none",
        errno.EOPNOTSUPP: "switched off in the kernel",
    }
    number = error.errno if isinstance(error, OSError) else None
    return texts.get(number or 0, str(error))


_mapped_bytes = 0


def measure_address_space() -> None:
    """Note this process's mapped size; only possible while /proc is in sight."""
    global _mapped_bytes
    with open("/proc/self/statm") as file:
        _mapped_bytes = int(file.read().split()[0]) * resource.getpagesize()


def address_space() -> int:
    """The size noted last, in bytes."""
    return _mapped_bytes
