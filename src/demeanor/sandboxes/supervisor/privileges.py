"""What a process may do from now on, it and everything below it: no way back. See capabilities(7) and seccomp(2)."""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Mapping

from demeanor.sandboxes.supervisor.linux import checked

KEPT = (0, 1, 3, 4, 5, 6, 7, 8, 10, 31)
"""What root of a lodge can do, all of it to users and files of its own: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL,
SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, SETFCAP. Containers have these too.
"""

_CAPSET = {"x86_64": 126, "aarch64": 91}
_VERSION = 0x20080522
_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 23, 24, 38, 22, 2
_LIBC = ctypes.CDLL(None, use_errno=True)


def keep_only(capabilities: tuple[int, ...]) -> None:
    """Give up all other capabilities."""
    for number in range(64):
        if number not in capabilities and _LIBC.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) == 1:
            checked(_LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), "prctl(PR_CAPBSET_DROP)")
    kept = sum(1 << number for number in capabilities)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header, sets = struct.pack("=Ii", _VERSION, 0), struct.pack("=IIIIII", low, low, 0, high, high, 0)
    checked(_LIBC.syscall(_CAPSET[os.uname().machine], header, sets), "capset")


def no_new_privileges() -> None:
    """No program makes us anybody else."""
    checked(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def hold_to(limits: Mapping[str, int]) -> None:
    """Have no more than that of what the kernel counts for each process or user (`RLIMIT_…`), or less where less is had
    already.
    """
    for name, most in limits.items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (limit, limit))


def filter_calls(rules: bytes) -> None:
    """Live by a filter of system calls (seccomp.py)."""
    content = ctypes.create_string_buffer(rules, len(rules))
    program = struct.pack("HxxxxxxP", len(rules) // 8, ctypes.addressof(content))
    checked(_LIBC.prctl(_PR_SET_SECCOMP, _FILTER, program, 0, 0), "prctl(PR_SET_SECCOMP)")
