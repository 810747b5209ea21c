"""What Linux offers and Python has no words for: namespaces, mounts, the loopback interface.

Every failure is an OSError that names the step, because «Operation not permitted» alone helps nobody.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

NEWNS, NEWUSER, NEWNET = 0x20000, 0x10000000, 0x40000000
"""Namespaces: mounts, users, network."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18

_PR_SET_DUMPABLE = 4
_FIRST = b"1000"
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result: int, step: str) -> int:
    """What a system call gave; raises OSError, which names the step, where it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{step}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    checked(_LIBC.unshare(flags), "new namespaces")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    result = _LIBC.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        os.fsencode(options) or None,
    )
    checked(result, f"mount {kind or 'of a folder'} on {target}")


def bind(handle: int, target: str) -> None:
    """Show an open folder or file, with what is mounted below it, at another place too."""
    mount(f"/proc/self/fd/{handle}", target, flags=MS_BIND | MS_REC)


def keep_mounts_private() -> None:
    """From now on, nobody else sees what is mounted here."""
    mount("", "/", flags=MS_REC | MS_PRIVATE)


def become(uid: int) -> None:
    """Be an ordinary user for good, who may still say which users there are in a namespace of its own."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    checked(_LIBC.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def keep_to_oneself() -> None:
    """Nobody of the same user can trace this process, nor open what it has open."""
    checked(_LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def own_turn() -> int:
    """A handle on whose turn it is to be ended where there is no memory left; for `first_to_go`."""
    return os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)


@contextmanager
def first_to_go(turn: int) -> Iterator[None]:
    """Whoever is started meanwhile goes before us."""
    usual = os.pread(turn, 16, 0).strip()
    os.pwrite(turn, _FIRST, 0)
    try:
        yield
    finally:
        os.pwrite(turn, usual, 0)


def go_first() -> None:
    """Where there is no memory left, this process is ended before others."""
    turn = own_turn()
    os.pwrite(turn, _FIRST, 0)
    os.close(turn)


def map_users(uid: int, gid: int, *, as_root: bool = False) -> None:
    """In the new user namespace there is one user: the one we are, under the same number or as its root."""
    seen_uid, seen_gid = (0, 0) if as_root else (uid, gid)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{seen_uid} {uid} 1"), ("gid_map", f"{seen_gid} {gid} 1")):
        with open(f"/proc/self/{name}", "wb", buffering=0) as file:
            file.write(text.encode())


def enter(namespace: int, what: str) -> None:
    """Enter a namespace that somebody else has made."""
    checked(_LIBC.setns(namespace, 0), f"entering the {what} namespace")


def loopback_up() -> None:
    """Let 127.0.0.1 be reached."""
    from fcntl import ioctl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", ioctl(sock, _SIOCGIFFLAGS, request))[1]
        ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
