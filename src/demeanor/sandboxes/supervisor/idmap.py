"""A user namespace with many users, and idmapped mounts of the host's folders for it. Only root can create these.

A file that belongs to root on the host then belongs to root in the namespace too, so that an overlay on top of it can
be changed as in a container. Nothing is written to the folder itself.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import os
import struct

from demeanor.sandboxes.supervisor import linux
from demeanor.sandboxes.supervisor.linux import checked

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000
_CLONE, _CLOEXEC, _FROM_EMPTY_PATH = 1, os.O_CLOEXEC, 4
_RDONLY, _NOSUID, _NODEV, _IDMAP = 1, 2, 4, 0x100000
_LIBC = ctypes.CDLL(None, use_errno=True)


def create_user_namespace(first: int, count: int) -> int:
    """Create a user namespace with `count` users, whose root has the uid `first` outside; returns it, opened."""
    created, tell_created = os.pipe()
    done, tell_done = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            linux.unshare(linux.NEWUSER)
            os.write(tell_created, b"x")
            os.close(tell_done)
            os.read(done, 1)
        finally:
            os._exit(0)
    try:
        os.close(tell_created)
        if not os.read(created, 1):
            raise OSError(1, "a user namespace can't be created")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{pid}/{name}", "wb", buffering=0) as file:
                file.write(b"0 %d %d" % (first, count))
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for end in (created, done, tell_done):
            os.close(end)
        os.waitpid(pid, 0)


def idmapped_mount(path: str, namespace: int) -> int:
    """A read-only mount of a folder, with its owners mapped into a user namespace; not attached anywhere yet."""
    tree = checked(_LIBC.syscall(_OPEN_TREE, _AT_FDCWD, os.fsencode(path), _CLONE | _CLOEXEC), f"open_tree of {path}")
    attributes = struct.pack("=QQQQ", _RDONLY | _NOSUID | _NODEV | _IDMAP, 0, 0, namespace)
    try:
        size = ctypes.c_size_t(len(attributes))
        result = _LIBC.syscall(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, attributes, size)
        checked(result, f"mount_setattr of {path}")
    except OSError:
        os.close(tree)
        raise
    return tree


def attach_mount(tree: int, target: str) -> None:
    """Attach a mount to `target`."""
    result = _LIBC.syscall(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _FROM_EMPTY_PATH)
    checked(result, f"move_mount to {target}")
    os.close(tree)
