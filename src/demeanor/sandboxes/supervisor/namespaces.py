"""How a room is made: namespaces, a network with one door, and a disk of limited size. Runs in the warden.

Two steps, because the address of the door must be known before it is known what the agent needs to read:

    seclude   a network (and, for an ordinary user, user and mount) namespace of its own; a socket that listens in it
    furnish   the folders of the host that are to be seen, bound to a stage; then the rights of root are given up for
              good; then a user namespace, a tmpfs of limited size, and on it the workspace: an overlay on its starting
              state, or a copy where there is no overlay to be had

Root binds the stage while it still is root: an installation below /root can be shown, although nobody else may enter.
Everything is mounted on /tmp, which everybody may enter and which nobody else sees changed.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH101, PTH102, PTH103, PTH112, PTH118, PTH120, PTH123

from __future__ import annotations

import os
import socket
from typing import Any

from demeanor.sandboxes.supervisor import linux as kernel

STAGE = "/tmp"  # noqa: S108 - a mount of our own, in a namespace of our own
"""Where everything of a room is mounted."""

LOWER, SCRATCH = f"{STAGE}/lower", f"{STAGE}/scratch"
"""The workspace's starting state; and the disk."""

UPPER, WORK, MERGED, HOME, TEMP, SHARED = "upper", "work", "workspace", "home", "tmp", "shm"
"""What lies on the disk: what was changed in the workspace, what overlay needs, the workspace, and its neighbours."""

_BACKLOG = 128


def read_at(number: int) -> str:
    """Where the stage shows the `number`th folder or file of the host."""
    return f"{STAGE}/reads/{number}"


def enter_namespaces(order: dict[str, Any]) -> socket.socket | None:
    """Enter namespaces of our own; the socket that listens in there, where one is wanted."""
    own_network = order["network"] != "host"
    if order["uid"] is not None:
        kernel.unshare(kernel.NEWNS | (kernel.NEWNET if own_network else 0))
    else:
        uid, gid = os.getuid(), os.getgid()
        kernel.unshare(kernel.NEWUSER | kernel.NEWNS | (kernel.NEWNET if own_network else 0))
        kernel.map_users(uid, gid)
    kernel.keep_mounts_private()
    if own_network:
        kernel.loopback_up()
    if order["network"] != "gateway":
        return None
    return listen_at(order["port"])


def listen_at(port: int) -> socket.socket:
    """The socket by which programs in this network reach whoever is handed it."""
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.bind(("127.0.0.1", port))
    door.listen(_BACKLOG)
    return door


def mount_workspace(order: dict[str, Any]) -> tuple[bool, int]:
    """Lay out everything that programs in the room will find; whether it is an overlay, and the disk, opened."""
    _set_stage(order["lower"], order["reads"])
    uid = order["uid"]
    if uid is not None:
        kernel.become(uid)
        kernel.unshare(kernel.NEWUSER | kernel.NEWNS)
        kernel.map_users(uid, uid)
    options = f"mode=0755,size={order['disk']},nr_inodes={order['inodes']}"
    kernel.mount("demeanor", SCRATCH, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for name in (UPPER, WORK, MERGED, HOME, TEMP, SHARED):
        os.mkdir(f"{SCRATCH}/{name}")
    os.chmod(f"{SCRATCH}/{TEMP}", 0o1777)  # noqa: S103 - as everywhere
    os.chmod(f"{SCRATCH}/{SHARED}", 0o1777)  # noqa: S103 - as everywhere
    layered = order["overlay"] and _overlay()
    if not layered:
        copy_start(LOWER, f"{SCRATCH}/{MERGED}")
    return layered, os.open(SCRATCH, os.O_RDONLY | os.O_DIRECTORY)


def _set_stage(lower: str, reads: list[str]) -> None:
    """Bind what is to be seen of the host. All is opened first: the stage may cover where it lies."""
    handles = [os.open(path, os.O_PATH) for path in (lower, *reads)]
    kernel.mount("demeanor", STAGE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755,size=1m")
    os.mkdir(LOWER)
    os.mkdir(SCRATCH)
    os.mkdir(f"{STAGE}/reads")
    targets = [LOWER]
    for number, handle in enumerate(handles[1:]):
        targets.append(read_at(number))
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            os.mkdir(targets[-1])
        else:
            os.close(os.open(targets[-1], os.O_CREAT | os.O_WRONLY))
    for handle, target in zip(handles, targets, strict=True):
        kernel.bind(handle, target)
        os.close(handle)


def _overlay() -> bool:
    """Lay the workspace over its starting state; False where that is not to be had."""
    layers = f"userxattr,lowerdir={LOWER},upperdir={SCRATCH}/{UPPER},workdir={SCRATCH}/{WORK}"
    try:
        os.setxattr(f"{SCRATCH}/{UPPER}", "user.demeanor", b"")  # without these, folders can't be replaced
        os.removexattr(f"{SCRATCH}/{UPPER}", "user.demeanor")
        kernel.mount("demeanor", f"{SCRATCH}/{MERGED}", "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, layers)
    except OSError:
        return False
    return True


def copy_start(start: str, into: str) -> None:
    """Copy the starting state onto the disk."""
    words = ["cp", "-a", f"{start}/.", into]
    pid = os.posix_spawnp("cp", words, {"PATH": os.defpath, "LC_ALL": "C"})
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        raise OSError(28, f"the workspace could not be copied onto its disk of limited size: cp ended with {code}")


def lay_home(files: dict[str, bytes], disk: str = SCRATCH) -> None:
    """Write configuration files into HOME."""
    for path, content in files.items():
        place = os.path.join(disk, HOME, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(content)
