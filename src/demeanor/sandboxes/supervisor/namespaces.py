"""Namespaces and mounts of a bubblewrap sandbox: an own network with one listener, and a disk of limited size.

Two steps, because the address of the listener must be known before it is known what the agent needs to read:

    enter_namespaces   a new network namespace (and, for an ordinary user, user and mount namespaces), and a socket that
                       listens in it
    mount_workspace    bind mounts of the host's folders in a staging folder; then root's privileges are dropped for
                       good; then a user namespace, a tmpfs of limited size, and on it the workspace: an overlay of its
                       starting state, or a copy where overlays don't work

Root makes the bind mounts while it is still root: an installation below /root can be shown although other users may
not enter /root. Everything is mounted on /tmp, which every user may enter; the mount is visible in this namespace only.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH101, PTH102, PTH112

from __future__ import annotations

import os
import socket
from typing import Any

from demeanor.sandboxes.supervisor import linux

STAGING = "/tmp"  # noqa: S108 - a mount of our own, in a namespace of our own
"""Where everything of a sandbox is mounted."""

LOWER, SCRATCH = f"{STAGING}/lower", f"{STAGING}/scratch"
"""The starting state of the workspace; and the disk."""

UPPER, WORK, MERGED, HOME, TEMP, SHARED = "upper", "work", "workspace", "home", "tmp", "shm"
"""The folders on the disk: three of the overlay (its upper layer, its work folder, the workspace), and the others."""

TMPFS_FLAGS = linux.MS_NOSUID | linux.MS_NODEV

_BACKLOG = 128


def staged_path(number: int) -> str:
    """Where the staging folder has the `number`th folder or file of the host."""
    return f"{STAGING}/reads/{number}"


def enter_namespaces(spec: dict[str, Any], *, has_users: bool = False) -> socket.socket | None:
    """Enter new namespaces; returns the socket that listens in them, where one is wanted. A process that `has_users` is
    in its own user namespace already.
    """
    own_network = spec["network"] != "host"
    if spec["uid"] is not None or has_users:
        linux.unshare(linux.NEWNS | (linux.NEWNET if own_network else 0))
    else:
        uid, gid = os.getuid(), os.getgid()
        linux.unshare(linux.NEWUSER | linux.NEWNS | (linux.NEWNET if own_network else 0))
        linux.map_users(uid, gid)
    linux.make_mounts_private()
    if own_network:
        linux.loopback_up()
    if spec["network"] != "gateway":
        return None
    return listen_on(spec["port"])


def listen_on(port: int) -> socket.socket:
    """A socket that listens on the loopback interface of this network namespace."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", port))
    listener.listen(_BACKLOG)
    return listener


def mount_workspace(spec: dict[str, Any]) -> tuple[bool, int]:
    """Mount everything that programs in the sandbox will see; whether it is an overlay, and the disk, opened."""
    handles = [os.open(path, os.O_PATH) for path in (spec["lower"], *spec["reads"])]
    mount_staging()
    os.mkdir(LOWER)
    bind_and_close(handles[0], LOWER)
    bind_reads(handles[1:])
    uid = spec["uid"]
    if uid is not None:
        linux.set_user(uid)
        linux.unshare(linux.NEWUSER | linux.NEWNS)
        linux.map_users(uid, uid)
    mount_scratch(spec)
    for name in (UPPER, WORK, MERGED, HOME, TEMP, SHARED):
        os.mkdir(f"{SCRATCH}/{name}")
    os.chmod(f"{SCRATCH}/{TEMP}", 0o1777)  # noqa: S103 - as on every system
    os.chmod(f"{SCRATCH}/{SHARED}", 0o1777)  # noqa: S103 - as on every system
    overlay = spec["overlay"] and _mount_overlay()
    if not overlay:
        copy_workspace(LOWER, f"{SCRATCH}/{MERGED}")
    return overlay, os.open(SCRATCH, os.O_RDONLY | os.O_DIRECTORY)


def mount_staging() -> None:
    """Mount the staging folder. It hides what is in /tmp, so open the host's folders before."""
    linux.mount("demeanor", STAGING, "tmpfs", TMPFS_FLAGS, "mode=0755,size=1m")
    os.mkdir(SCRATCH)
    os.mkdir(f"{STAGING}/reads")


def mount_scratch(spec: dict[str, Any]) -> None:
    """Mount the disk: a tmpfs of limited size."""
    options = f"mode=0755,size={spec['disk']},nr_inodes={spec['inodes']}"
    linux.mount("demeanor", SCRATCH, "tmpfs", TMPFS_FLAGS, options)


def bind_reads(handles: list[int]) -> None:
    """Bind-mount the opened folders and files in the staging folder."""
    for number, handle in enumerate(handles):
        target = staged_path(number)
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
        bind_and_close(handle, target)


def bind_and_close(handle: int, target: str) -> None:
    """Bind-mount what was opened, and close it."""
    linux.bind(handle, target)
    os.close(handle)


def _mount_overlay() -> bool:
    """Mount the workspace as an overlay of its starting state; False where that does not work."""
    layers = f"userxattr,lowerdir={LOWER},upperdir={SCRATCH}/{UPPER},workdir={SCRATCH}/{WORK}"
    try:
        os.setxattr(f"{SCRATCH}/{UPPER}", "user.demeanor", b"")  # without user xattrs, folders can't be replaced
        os.removexattr(f"{SCRATCH}/{UPPER}", "user.demeanor")
        linux.mount("demeanor", f"{SCRATCH}/{MERGED}", "overlay", TMPFS_FLAGS, layers)
    except OSError:
        return False
    return True


def copy_workspace(source: str, target: str) -> None:
    """Copy the starting state to the disk."""
    run_cp(["-a", f"{source}/.", target], "the workspace could not be copied to its disk of limited size")


def run_cp(args: list[str], problem: str) -> None:
    """Run cp(1); raises OSError when it fails."""
    pid = os.posix_spawnp("cp", ["cp", *args], {"PATH": os.defpath, "LC_ALL": "C"})
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        raise OSError(28, f"{problem}: cp exited with {code}")
