"""Linux system calls that Python has no functions for: namespaces, mounts, the OOM score, the loopback interface.

Every failure is an OSError that names the step, because "Operation not permitted" alone does not help.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from demeanor.sandboxes.supervisor.process_tree import write_file

NEWNS, NEWUSER, NEWNET = 0x20000, 0x10000000, 0x40000000
"""Namespace flags: mounts, users, network."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_MAX_OOM_SCORE = b"1000"
_SIOCSIFFLAGS = 0x8914
_LOOPBACK_UP = struct.pack("16sh14x", b"lo", 1)  # IFF_UP; the kernel keeps the flags that are not ours to set
_LIBC = ctypes.CDLL(None, use_errno=True)
for _name in ("mount", "prctl", "unshare"):
    getattr(_LIBC, _name, None)  # looked up here, once, and not in every supervisor after it was forked


def checked(result: int, step: str) -> int:
    """The result of a system call; raises OSError, which names the step, when it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{step}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Move to new namespaces."""
    checked(_LIBC.unshare(flags), "creating namespaces")


def setns(namespace: int, name: str) -> None:
    """Enter an existing namespace."""
    checked(_LIBC.setns(namespace, 0), f"entering the {name} namespace")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    result = _LIBC.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        os.fsencode(options) or None,
    )
    checked(result, f"mounting {kind or 'a folder'} on {target}")


def bind(handle: int, target: str) -> None:
    """Bind-mount an open folder or file, with everything mounted below it, on `target`."""
    mount(f"/proc/self/fd/{handle}", target, flags=MS_BIND | MS_REC)


def make_mounts_private() -> None:
    """Keep later mounts out of all other mount namespaces."""
    mount("", "/", flags=MS_REC | MS_PRIVATE)


def mount_proc() -> None:
    """Mount the /proc of this process's pid namespace on that of the host, in this mount namespace."""
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def set_user(uid: int) -> None:
    """Become an ordinary user for good. The process stays dumpable, so that it may write its own uid_map."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    checked(_LIBC.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def disable_ptrace() -> None:
    """Keep other processes of the same user from tracing this one and from opening its file descriptors."""
    checked(_LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def die_with_parent(parent: int) -> None:
    """In a forked child: be killed when the parent dies, also if it died before this call.

    A change of user or of privileges clears this, so call it after them.
    """
    set_death_signal()
    if os.getppid() != parent:
        os._exit(1)


def set_death_signal() -> None:
    """Be killed when the parent dies from now on. It may be dead already: check that afterwards."""
    checked(_LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def open_oom_score() -> int:
    """A descriptor of this process's OOM score, for `raised_oom_score`."""
    return os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)


@contextmanager
def raised_oom_score(oom_score: int) -> Iterator[None]:
    """Give processes started meanwhile the highest OOM score, so that the kernel kills them before this process."""
    usual = os.pread(oom_score, 16, 0).strip()
    os.pwrite(oom_score, _MAX_OOM_SCORE, 0)
    try:
        yield
    finally:
        os.pwrite(oom_score, usual, 0)


def raise_oom_score() -> None:
    """Make the OOM killer prefer this process."""
    oom_score = open_oom_score()
    os.pwrite(oom_score, _MAX_OOM_SCORE, 0)
    os.close(oom_score)


def map_users(uid: int, gid: int, *, as_root: bool = False) -> None:
    """Map our user into the new user namespace, as the only one there: with the same number, or as root."""
    inner_uid, inner_gid = (0, 0) if as_root else (uid, gid)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inner_uid} {uid} 1"), ("gid_map", f"{inner_gid} {gid} 1")):
        write_file(f"/proc/self/{name}", text.encode())


def loopback_up() -> None:
    """Bring up the loopback interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCSIFFLAGS, _LOOPBACK_UP)
