"""Landlock system calls: rules that a process puts on itself and its descendants for good. No privilege is needed.

The kernel reports which version of the ABI it has, and only what that version knows is asked for. Version 4 (Linux 6.7)
is the minimum here: earlier ones can't restrict truncation or TCP ports. 5 adds ioctl on devices; 6 adds signals and
abstract sockets.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH112

from __future__ import annotations

import ctypes
import os
import struct
import sys

from demeanor.sandboxes.supervisor.linux import checked
from demeanor.sandboxes.supervisor.privileges import install_seccomp, no_new_privileges

MIN_VERSION = 4
"""The minimum version."""

SIGNALS_VERSION = 6
"""The first version that can keep programs from signalling processes outside."""

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

_READABLE = _EXECUTE | _READ | _LIST
_DEVICE = _READ | _WRITE


def version() -> int:
    """The version of the ABI that this kernel has; 0 without landlock."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_LIBC.syscall(_CREATE, None, ctypes.c_size_t(0), _ASK_VERSION)))


def unsupported_reason(abi: int) -> str | None:
    """Why that version is not enough; None when it is."""
    if abi >= MIN_VERSION:
        return None
    have = f"has version {abi} here" if abi else "is missing or disabled (see lsm= on the kernel command line)"
    return f"landlock {have}; version {MIN_VERSION} (Linux 6.7) or later is required"


def create_ruleset(
    reads: list[str], lists: list[str], devices: list[str], writes: list[str], ports: list[int] | None
) -> int:
    """Create a ruleset for `restrict_self`: paths that may be read and run, folders in which names may be listed,
    devices that may be read and written, paths that may be written, and the TCP ports that may be connected to, None
    for all of them.
    """
    abi = version()
    problem = unsupported_reason(abi)
    if problem:
        raise OSError(95, problem)
    everything = (1 << 15) - 1 | (_IOCTL if abi >= 5 else 0)
    network = 0 if ports is None else _BIND | _CONNECT
    content = struct.pack("=QQ", everything, network)
    if abi >= SIGNALS_VERSION:
        content += struct.pack("=Q", _ABSTRACT | _SIGNAL)
    ruleset = checked(_LIBC.syscall(_CREATE, content, ctypes.c_size_t(len(content)), 0), "landlock_create_ruleset")
    allowed = ((reads, _READABLE), (lists, _LIST), (devices, _DEVICE), (writes, everything & ~_MAKE_DEVICES))
    for paths, rights in allowed:
        for path in paths:
            _allow(ruleset, path, rights)
    for port in ports or ():
        rule = struct.pack("=QQ", _CONNECT, port)
        checked(_LIBC.syscall(_ADD, ruleset, _PORT, rule, 0), f"landlock_add_rule for port {port}")
    return ruleset


def _allow(ruleset: int, path: str, rights: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(f"/proc/self/fd/{handle}"):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, handle)
        checked(_LIBC.syscall(_ADD, ruleset, _BENEATH, rule, 0), f"landlock_add_rule for {path}")
    finally:
        os.close(handle)


def restrict_self(ruleset: int, calls: bytes) -> None:
    """Apply a ruleset and a seccomp filter to this process and its descendants, and disable set-user-ID programs."""
    no_new_privileges()
    checked(_LIBC.syscall(_RESTRICT, ruleset, 0), "landlock_restrict_self")
    install_seccomp(calls)
