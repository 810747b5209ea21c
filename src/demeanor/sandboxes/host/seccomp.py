"""The seccomp filter (BPF): the system calls that are refused to programs in a sandbox.

A network namespace does not cover every kind of socket (AF_VSOCK reaches the hypervisor), io_uring creates sockets
without calling `socket`, and a new namespace grants capabilities inside it. So the filter allows a short list of socket
families and refuses io_uring, new namespaces, mounts, and the calls that only administrators need. Everything else is
allowed.

Without a network namespace (the level `landlock`) the filter has to do more. Landlock restricts TCP only, so only TCP
sockets are allowed: no datagrams, no unix sockets except connected pairs, and neither multipath TCP nor TCP fast open,
which landlock does not cover. Landlock does not cover System V shared memory and queues, or setting limits of other
processes, so those calls are refused too.

The filter is written here rather than with libseccomp, which may not be installed. The flags of `clone3` are in memory
that no filter can read, so it fails with ENOSYS, and C libraries fall back on `clone`.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT, _ARGUMENT = 0, 4, 16, 8
_X32 = 0x40000000

FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
"""The socket families that are allowed in a private network."""

_UNIX, _INET, _INET6, _NETLINK = FAMILIES.values()
_STREAM, _PACKETS, _TYPE = 1, 5, 0xF
_TCP, _FAST_OPEN = 6, 0x20000000

Reach: TypeAlias = Literal["private", "gateway", "none", "host"]
"""Which sockets are allowed: `private` for all families above, in a private network; else, in the host's network, TCP
only, none, or those for internet access.
"""

_NAMESPACES = 0x7E020000 | 0x80
"""Every CLONE_NEW… flag: cgroup, uts, ipc, user, pid, net, mounts, time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """The system call numbers of an architecture."""

    audit: int
    """Its number in the kernel's audit interface."""

    numbers: Mapping[str, int]
    """The numbers that differ between architectures, by system call."""


_SAME_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "mount_setattr": 442,
    "open_tree_attr": 467,
}  # fmt: skip

MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(
        audit=0xC000003E,
        numbers={
            "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68,
            "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "semtimedop": 220, "mq_open": 240, "mq_unlink": 241, "sendto": 44,
            "sendmsg": 46, "sendmmsg": 307, "listen": 50, "prlimit64": 302,
            "chown": 92, "fchown": 93, "lchown": 94, "setgroups": 116, "fchownat": 260,
            "socket": 41, "socketpair": 53, "clone": 56, "ptrace": 101, "syslog": 103, "personality": 135,
            "pivot_root": 155, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167,
            "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171, "init_module": 175,
            "delete_module": 176, "quotactl": 179, "clock_settime": 227, "kexec_load": 246, "add_key": 248,
            "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298, "open_by_handle_at": 304,
            "setns": 308, "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "chroot": 161,
        },
    ),
    "aarch64": Machine(
        audit=0xC00000B7,
        numbers={
            "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190,
            "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "sendto": 206,
            "sendmsg": 211, "sendmmsg": 269, "listen": 201, "prlimit64": 261,
            "fchownat": 54, "fchown": 55, "setgroups": 159,
            "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "quotactl": 60, "acct": 89, "personality": 92,
            "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112,
            "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161, "setdomainname": 162,
            "settimeofday": 170, "socket": 198, "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219,
            "clone": 220, "swapon": 224, "swapoff": 225, "perf_event_open": 241, "open_by_handle_at": 265,
            "setns": 268, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
        },
    ),
}  # fmt: skip
"""The supported architectures, by `os.uname().machine`."""

UNIMPLEMENTED = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
"""Calls that fail with ENOSYS, so that programs do without them."""

FORBIDDEN = (
    "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "open_tree_attr", "bpf", "perf_event_open", "userfaultfd", "add_key", "request_key",
    "keyctl", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff",
    "reboot", "acct", "quotactl", "settimeofday", "clock_settime", "sethostname", "setdomainname", "syslog",
    "open_by_handle_at",
)  # fmt: skip
"""Calls that fail with EPERM."""

_SHARED_WITH_HOST = (
    "shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl",
    "mq_open", "mq_unlink",
)  # fmt: skip
"""Calls that affect other processes of this machine when there is no ipc namespace."""


_OWNERS = ("chown", "fchown", "lchown", "fchownat", "setgroups")
"""Calls that have no effect in a sandbox with one user, but seem to succeed: package managers insist on them. Not every
architecture has all of them.
"""


def filter_for(machine: str, reach: Reach = "private", *, ignores_owners: bool = False) -> bytes | None:
    """The filter for an architecture; None for an unknown one. With `ignores_owners`, changes of a file's owner have no
    effect and seem to succeed.
    """
    abi = MACHINES.get(machine)
    if abi is None:
        return None
    numbers = {**_SAME_EVERYWHERE, **abi.numbers}
    program = [
        _op(_LOAD, _ARCH),
        _op(_EQUAL, abi.audit, 1, 0),
        _op(_RETURN, _KILL),
        _op(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        program += [_op(_AT_LEAST, _X32, 0, 1), _refuse(errno.ENOSYS)]
    for name in (*UNIMPLEMENTED, *(() if reach == "private" else _SHARED_WITH_HOST)):
        program += [_op(_EQUAL, numbers[name], 0, 1), _refuse(errno.ENOSYS)]
    for name in (*FORBIDDEN, *(("listen",) if reach in ("gateway", "none") else ())):
        program += [_op(_EQUAL, numbers[name], 0, 1), _refuse(errno.EPERM)]
    for name in _OWNERS if ignores_owners else ():
        if name in numbers:
            program += [_op(_EQUAL, numbers[name], 0, 1), _refuse(0)]
    for name in ("clone", "unshare"):
        program += _call(numbers[name], _without_bits(0, _NAMESPACES, errno.EPERM))
    for name, body in _socket_rules(reach).items():
        program += _call(numbers[name], body)
    return b"".join((*program, _op(_RETURN, _ALLOW)))


def _socket_rules(reach: Reach) -> dict[str, list[bytes]]:
    """The conditions for calls that create and use sockets, and for prlimit64."""
    if reach == "private":
        family = _among(0, tuple(FAMILIES.values()), errno.EAFNOSUPPORT)
        return {"socket": family, "socketpair": family}
    pair = _among(0, (_UNIX,), errno.EAFNOSUPPORT) + _among(1, (_STREAM, _PACKETS), errno.EAFNOSUPPORT, mask=_TYPE)
    rules = {"socketpair": pair, "prlimit64": _among(0, (0,), errno.EPERM)}
    if reach == "host":
        return {**rules, "socket": _among(0, (_INET, _INET6, _NETLINK), errno.EAFNOSUPPORT)}
    if reach == "none":
        return {**rules, "socket": _among(0, (), errno.EAFNOSUPPORT)}
    tcp = _among(0, (_INET, _INET6), errno.EAFNOSUPPORT) + _among(1, (_STREAM,), errno.EAFNOSUPPORT, mask=_TYPE)
    rules["socket"] = tcp + _among(2, (0, _TCP), errno.EPROTONOSUPPORT)
    for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        rules[name] = _without_bits(flags, _FAST_OPEN, errno.EOPNOTSUPP)
    return rules


def _call(number: int, body: list[bytes]) -> list[bytes]:
    """The conditions for one system call; when they hold, it is allowed."""
    return [_op(_EQUAL, number, 0, len(body) + 1), *body, _op(_RETURN, _ALLOW)]


def _among(argument: int, values: tuple[int, ...], otherwise: int, *, mask: int | None = None) -> list[bytes]:
    """The argument must have one of these values."""
    body = [_op(_LOAD, _FIRST_ARGUMENT + _ARGUMENT * argument)]
    if mask is not None:
        body.append(_op(_AND, mask))
    body += (_op(_EQUAL, value, len(values) - position, 0) for position, value in enumerate(values))
    return [*body, _refuse(otherwise)]


def _without_bits(argument: int, bits: int, otherwise: int) -> list[bytes]:
    """The argument must have none of these bits."""
    load = _op(_LOAD, _FIRST_ARGUMENT + _ARGUMENT * argument)
    return [load, _op(_ANY_BIT, bits, 0, 1), _refuse(otherwise)]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One BPF instruction: its code, its value, and how many instructions to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)
