"""Landlock: rules that a process lays upon itself and everything below it, for good. No privilege is needed.

The kernel says which version of the rules it knows (its ABI), and what it does not know is not asked of it: 4 (Linux
6.7) is the least that is of use here, since files can't be truncated nor ports be ruled over before; 5 has ioctl of
devices, 6 has signals and abstract sockets.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH112

from __future__ import annotations

import ctypes
import os
import struct
import sys

from demeanor.sandboxes.supervisor.linux import checked
from demeanor.sandboxes.supervisor.privileges import filter_calls, no_new_privileges

LEAST = 4
"""The version that is needed."""

SIGNALS = 6
"""The version from which processes outside can't be signalled."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION = 1
_BENEATH, _PORT = 1, 2
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_MAKE_DEVICES = 1 << 6 | 1 << 11
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_BIND, _CONNECT = 1, 2
_ABSTRACT, _SIGNAL = 1, 2
_LIBC = ctypes.CDLL(None, use_errno=True)

READS = _EXECUTE | _READ | _LIST
"""To read, list and run."""

USES = _READ | _WRITE
"""To read and write what is there: devices."""


def version() -> int:
    """The version of the rules that this kernel knows; 0 where it has none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_LIBC.syscall(_CREATE, None, ctypes.c_size_t(0), _ASK_VERSION)))


def obstacle(known: int) -> str | None:
    """Why rules of that version are not enough; None where they are."""
    if known >= LEAST:
        return None
    have = f"of version {known}" if known else "not there, or switched off (lsm= on the kernel's command line)"
    return f"landlock is {have} here; version {LEAST} is needed, which Linux 6.7 brought"


def restrict(reads: list[str], uses: list[str], writes: list[str], ports: list[int] | None) -> int:
    """A set of rules, to be laid upon oneself with `enter`: what may be read, used and written; and the TCP ports that
    may be reached, None for all of them.
    """
    known = version()
    problem = obstacle(known)
    if problem:
        raise OSError(95, problem)
    everything = (1 << 15) - 1 | (_IOCTL if known >= 5 else 0)
    network = 0 if ports is None else _BIND | _CONNECT
    content = struct.pack("=QQ", everything, network)
    if known >= SIGNALS:
        content += struct.pack("=Q", _ABSTRACT | _SIGNAL)
    rules = checked(_LIBC.syscall(_CREATE, content, ctypes.c_size_t(len(content)), 0), "landlock_create_ruleset")
    for paths, rights in ((reads, READS), (uses, USES), (writes, everything & ~_MAKE_DEVICES)):
        for path in paths:
            _allow(rules, path, rights)
    for port in ports or ():
        rule = struct.pack("=QQ", _CONNECT, port)
        checked(_LIBC.syscall(_ADD, rules, _PORT, rule, 0), f"landlock_add_rule for port {port}")
    return rules


def _allow(rules: int, path: str, rights: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(f"/proc/self/fd/{handle}"):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, handle)
        checked(_LIBC.syscall(_ADD, rules, _BENEATH, rule, 0), f"landlock_add_rule for {path}")
    finally:
        os.close(handle)


def enter(rules: int, calls: bytes) -> None:
    """Live by the rules from now on, and by a filter of system calls; no program makes us anybody else."""
    no_new_privileges()
    checked(_LIBC.syscall(_RESTRICT, rules, 0), "landlock_restrict_self")
    filter_calls(calls)
