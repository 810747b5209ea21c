"""Restrictions that a process puts on itself and its descendants for good: capabilities(7), rlimits, seccomp(2)."""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Mapping

from demeanor.sandboxes.supervisor.linux import checked

KEPT_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 31)
"""The capabilities of root in a persistent sandbox, which apply to its own users and files only: CHOWN, DAC_OVERRIDE,
FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, SETFCAP. Containers have these too.
"""

_CAPSET = {"x86_64": 126, "aarch64": 91}
_VERSION = 0x20080522
_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 23, 24, 38, 22, 2
_LIBC = ctypes.CDLL(None, use_errno=True)


def drop_capabilities_except(kept: tuple[int, ...]) -> None:
    """Drop all other capabilities."""
    for number in range(64):
        if number not in kept and _LIBC.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) == 1:
            checked(_LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), "prctl(PR_CAPBSET_DROP)")
    mask = sum(1 << number for number in kept)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header, sets = struct.pack("=Ii", _VERSION, 0), struct.pack("=IIIIII", low, low, 0, high, high, 0)
    checked(_LIBC.syscall(_CAPSET[os.uname().machine], header, sets), "capset")


def no_new_privileges() -> None:
    """Make set-user-ID programs run without their privileges."""
    checked(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def set_rlimits(limits: Mapping[str, int]) -> None:
    """Set resource limits (`RLIMIT_…`). A hard limit that is already lower stays."""
    for name, most in limits.items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (limit, limit))


def install_seccomp(rules: bytes) -> None:
    """Install a filter of system calls; host/seccomp.py makes it."""
    content = ctypes.create_string_buffer(rules, len(rules))
    program = struct.pack("HxxxxxxP", len(rules) // 8, ctypes.addressof(content))
    checked(_LIBC.prctl(_PR_SET_SECCOMP, _FILTER, program, 0, 0), "prctl(PR_SET_SECCOMP)")
