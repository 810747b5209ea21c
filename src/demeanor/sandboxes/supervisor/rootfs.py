"""How a lodge is furnished: a root folder that can be written to, above the host's programs. Runs in the keeper.

Everything that is written lies on one tmpfs of limited size. The folders of the host's programs (or a root file system
from elsewhere) are the lower layers of overlays on it; the rest of the root is made up.

Whom a lodge knows depends on who we are:

    many   root of the host makes a user namespace with 65536 users, all of them nobody outside, and mounts the lower
           layers so that they belong to the root of that namespace
    one    anybody else is the only user there is, and is called root inside. The overlay can't take over what belongs
           to others (EOVERFLOW), so the folders in which programs put things are made beforehand: files can be added,
           replaced and deleted, but not changed in place
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH114, PTH115, PTH123, PTH211

from __future__ import annotations

import contextlib
import os
from typing import Any, Literal, TypeAlias

from demeanor.sandboxes.supervisor import idmap
from demeanor.sandboxes.supervisor import linux as kernel
from demeanor.sandboxes.supervisor.namespaces import SCRATCH, STAGE, read_at

ROOT, SHARED = f"{SCRATCH}/root", f"{SCRATCH}/shm"
"""The root folder, and /dev/shm."""

Users: TypeAlias = Literal["many", "one"]

_PLACES = {"tmp": 0o1777, "var/tmp": 0o1777, "run": 0o755, "root": 0o700, "home": 0o755, "opt": 0o755, "srv": 0o755,
           "mnt": 0o755, "media": 0o755, "var/log": 0o755, "var/cache": 0o755, "var/lib": 0o755}  # fmt: skip
_DEEP = ("/usr/local",)
_SHALLOW = 3


def mount_rootfs(order: dict[str, Any]) -> Users:
    """Lay out everything that programs in the lodge will find; whom it knows."""
    lowers: list[str] = [order["rootfs"]] if order["rootfs"] else [path for path in order["system"] if _is_folder(path)]
    namespace, mounts = _shifted(lowers, order) if order["many"] else (None, [])
    _set_stage(lowers, mounts, [order["etc"], *order["reads"]])
    _become(order, namespace)
    options = f"mode=0755,size={order['disk']},nr_inodes={order['inodes']}"
    kernel.mount("demeanor", SCRATCH, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    os.mkdir(ROOT)
    os.mkdir(SHARED)
    os.chmod(SHARED, 0o1777)  # noqa: S103 - as everywhere
    for number, path in enumerate(lowers):
        _overlay(number, "" if order["rootfs"] else path, spread=namespace is None)
    if not order["rootfs"]:
        _make_up(order["system"])
    elif order["network"] == "host":
        _tell_names()
    for path, mode in _PLACES.items():
        if not os.path.exists(f"{ROOT}/{path}"):
            os.makedirs(f"{ROOT}/{path}", exist_ok=True)
            os.chmod(f"{ROOT}/{path}", mode)
    return "one" if namespace is None else "many"


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _shifted(lowers: list[str], order: dict[str, Any]) -> tuple[int | None, list[int]]:
    """A namespace of many users, and the lower layers as they see them; None where that is not to be had."""
    namespace = idmap.users(order["first"], order["count"])
    mounts: list[int] = []
    try:
        for path in lowers:
            mounts.append(idmap.shifted(path, namespace))
    except OSError:
        for handle in (namespace, *mounts):
            os.close(handle)
        return None, []
    return namespace, mounts


def _lower(number: int) -> str:
    return f"{STAGE}/lower{number}"


def _set_stage(lowers: list[str], mounts: list[int], reads: list[str]) -> None:
    """Bind what is to be seen of the host. All is opened first: the stage may cover where it lies."""
    below = [] if mounts else [os.open(path, os.O_PATH) for path in lowers]
    shown = [os.open(path, os.O_PATH) for path in reads]
    kernel.mount("demeanor", STAGE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755,size=1m")
    os.mkdir(SCRATCH)
    os.mkdir(f"{STAGE}/reads")
    for number in range(len(lowers)):
        os.mkdir(_lower(number))
    for number, mount in enumerate(mounts):
        idmap.place(mount, _lower(number))
    targets = [_lower(number) for number in range(len(below))]
    for number, handle in enumerate(shown):
        targets.append(read_at(number))
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            os.mkdir(targets[-1])
        else:
            os.close(os.open(targets[-1], os.O_CREAT | os.O_WRONLY))
    for handle, target in zip((*below, *shown), targets, strict=True):
        kernel.bind(handle, target)
        os.close(handle)


def _become(order: dict[str, Any], namespace: int | None) -> None:
    """Be root of a namespace of our own, and somebody without rights outside, for good."""
    if namespace is not None:
        kernel.enter(namespace, "user")
        os.close(namespace)
        kernel.become(0)
        kernel.unshare(kernel.NEWNS)
        return
    if order["uid"] is not None:
        kernel.become(order["uid"])
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(kernel.NEWUSER | kernel.NEWNS)
    kernel.map_users(uid, gid, as_root=True)


def _overlay(number: int, path: str, *, spread: bool) -> None:
    """Lay a folder of the root over a lower layer."""
    upper, work, merged = f"{SCRATCH}/upper{number}", f"{SCRATCH}/work{number}", f"{ROOT}{path}"
    os.mkdir(upper)
    os.mkdir(work)
    os.makedirs(merged, exist_ok=True)
    if spread:
        deep = {place[len(path) :] for place in _DEEP if place.startswith(f"{path}/")}
        _spread(_lower(number), upper, "", deep)
    layers = f"userxattr,lowerdir={_lower(number)},upperdir={upper},workdir={work}"
    kernel.mount("demeanor", merged, "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, layers)


def _spread(lower: str, upper: str, path: str, deep: set[str]) -> None:
    """Make the folders of a lower layer in the upper one, so that they need not be taken over."""
    with contextlib.suppress(OSError), os.scandir(f"{lower}{path}") as items:  # some are closed to us
        for item in items:
            name = f"{path}/{item.name}"
            if not item.is_dir(follow_symlinks=False):
                continue
            if name.count("/") <= _SHALLOW or any(name.startswith(f"{place}/") for place in deep):
                os.mkdir(f"{upper}{name}", item.stat(follow_symlinks=False).st_mode & 0o777 | 0o700)
                _spread(lower, upper, name, deep)


def _make_up(system: list[str]) -> None:
    """What is not the host's: /etc, and links to its programs."""
    for path in system:
        if os.path.islink(path):
            os.symlink(os.readlink(path), f"{ROOT}{path}")
    words = ["cp", "-a", "--no-preserve=ownership", read_at(0), f"{ROOT}/etc"]
    pid = os.posix_spawnp("cp", words, {"PATH": os.defpath, "LC_ALL": "C"})
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        raise OSError(28, f"/etc could not be copied: cp ended with {code}")


def _tell_names() -> None:
    """Where the host's network is shown, say also how names are found in it."""
    for name in ("resolv.conf", "hosts"):
        with open(f"{read_at(0)}/{name}", "rb") as known, open(f"{ROOT}/etc/{name}", "wb") as file:
            file.write(known.read())
