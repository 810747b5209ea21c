"""The root file system of a persistent sandbox: writable, on top of the host's programs. Runs in its supervisor.

Everything that is written goes to one tmpfs of limited size. The folders of the host's programs (or a given root file
system) are the lower layers of overlays on it; the rest of the root is generated.

Which users exist in the sandbox depends on who runs Demeanor:

    many   root creates a user namespace with 65536 users, all of them unused on the host, and mounts the lower layers
           idmapped, so that they belong to the root of that namespace
    one    an ordinary user is the only user in the sandbox, and is called root there. The overlay can't copy up files
           of other users (EOVERFLOW), so the folders in which programs are installed are created in advance: files can
           be added, replaced and deleted, but not changed in place
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH114, PTH115, PTH116, PTH123, PTH211

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from demeanor.sandboxes.supervisor import idmap, linux
from demeanor.sandboxes.supervisor.namespaces import (
    SCRATCH,
    STAGING,
    TMPFS_FLAGS,
    bind_and_close,
    bind_reads,
    mount_scratch,
    mount_staging,
    run_cp,
    staged_path,
)

ROOT, SHARED = f"{SCRATCH}/root", f"{SCRATCH}/shm"
"""The root folder, and /dev/shm."""

ROOT_CHANGES = f"{SCRATCH}/upper0"
"""What was changed in a given root file system."""

_APT_SETTINGS = "etc/apt/apt.conf.d/zz-demeanor"
CERTIFICATES = "etc/demeanor-ca.crt"
"""The certificates that programs trust when they use the network of the host."""

OWN_FILES = frozenset(("etc/hosts", "etc/resolv.conf", CERTIFICATES, _APT_SETTINGS))
"""The files that are written into a given root file system; they are not part of what was changed."""

Users: TypeAlias = Literal["many", "one"]

_FOLDERS = {"tmp": 0o1777, "var/tmp": 0o1777, "run": 0o755, "root": 0o700, "home": 0o755, "opt": 0o755, "srv": 0o755,
            "mnt": 0o755, "media": 0o755, "var/log": 0o755, "var/cache": 0o755, "var/lib": 0o755}  # fmt: skip
_COPIED_FULLY = ("/usr/local",)
_COPIED_DEPTH = 3
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def mount_rootfs(spec: dict[str, Any]) -> Users:
    """Mount everything that programs in the sandbox will see; returns which users exist."""
    lowers: list[str] = [spec["rootfs"]] if spec["rootfs"] else [path for path in spec["system"] if _is_folder(path)]
    namespace, mounts = _idmapped_mounts(lowers, spec) if spec["many_users"] else (None, [])
    _bind_host_paths(lowers, mounts, [spec["etc"], *spec["reads"]])
    _enter_user_namespace(spec, namespace)
    mount_scratch(spec)
    os.mkdir(ROOT)
    os.mkdir(SHARED)
    os.chmod(SHARED, 0o1777)  # noqa: S103 - as on every system
    for number, path in enumerate(lowers):
        foreign = namespace is None and os.stat(_lower(number)).st_uid != 0
        _mount_overlay(number, "" if spec["rootfs"] else path, copy_folders=foreign)
    if spec["rootfs"]:
        _write_own_files(one_user=namespace is None, host_network=spec["network"] == "host")
    else:
        _write_etc_and_links(spec["system"])
    for path, mode in _FOLDERS.items():
        _make_in_root(path, mode)
    return "one" if namespace is None else "many"


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _idmapped_mounts(lowers: list[str], spec: dict[str, Any]) -> tuple[int | None, list[int]]:
    """A user namespace with many users, and idmapped mounts of the lower layers; None where they don't work."""
    namespace = idmap.create_user_namespace(spec["first_uid"], spec["uid_count"])
    mounts: list[int] = []
    try:
        for path in lowers:
            mounts.append(idmap.idmapped_mount(path, namespace))
    except OSError:
        for handle in (namespace, *mounts):
            os.close(handle)
        return None, []
    return namespace, mounts


def _lower(number: int) -> str:
    return f"{STAGING}/lower{number}"


def _bind_host_paths(lowers: list[str], mounts: list[int], reads: list[str]) -> None:
    """Mount the lower layers, and what is to be read, in the staging folder."""
    lower_handles = [] if mounts else [os.open(path, os.O_PATH) for path in lowers]
    read_handles = [os.open(path, os.O_PATH) for path in reads]
    mount_staging()
    for number in range(len(lowers)):
        os.mkdir(_lower(number))
    for number, mount in enumerate(mounts):
        idmap.attach_mount(mount, _lower(number))
    for number, handle in enumerate(lower_handles):
        bind_and_close(handle, _lower(number))
    bind_reads(read_handles)


def _enter_user_namespace(spec: dict[str, Any], namespace: int | None) -> None:
    """Become root of a user namespace, and an unprivileged user outside of it, for good."""
    if namespace is not None:
        linux.setns(namespace, "user")
        os.close(namespace)
        linux.set_user(0)
        linux.unshare(linux.NEWNS)
        return
    if spec["uid"] is not None:
        linux.set_user(spec["uid"])
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.NEWUSER | linux.NEWNS)
    linux.map_users(uid, gid, as_root=True)


def _mount_overlay(number: int, path: str, *, copy_folders: bool) -> None:
    """Mount one folder of the root as an overlay of a lower layer."""
    upper, work, merged = f"{SCRATCH}/upper{number}", f"{SCRATCH}/work{number}", f"{ROOT}{path}"
    os.mkdir(upper)
    os.mkdir(work)
    os.makedirs(merged, exist_ok=True)
    if copy_folders:
        fully = {folder[len(path) :] for folder in _COPIED_FULLY if folder.startswith(f"{path}/")}
        _copy_folders(_lower(number), upper, "", fully)
    layers = f"userxattr,lowerdir={_lower(number)},upperdir={upper},workdir={work}"
    linux.mount("demeanor", merged, "overlay", TMPFS_FLAGS, layers)


def _copy_folders(lower: str, upper: str, path: str, fully: set[str]) -> None:
    """Create the folders of a lower layer in the upper one, so that the overlay need not copy them up."""
    with contextlib.suppress(OSError), os.scandir(f"{lower}{path}") as items:  # we may not read all of them
        for item in items:
            name = f"{path}/{item.name}"
            if not item.is_dir(follow_symlinks=False):
                continue
            if name.count("/") <= _COPIED_DEPTH or any(name.startswith(f"{folder}/") for folder in fully):
                os.mkdir(f"{upper}{name}", item.stat(follow_symlinks=False).st_mode & 0o777 | 0o700)
                _copy_folders(lower, upper, name, fully)


def _write_etc_and_links(system: list[str]) -> None:
    """Write what is not mounted from the host: /etc, and the links among the system folders."""
    for path in system:
        if os.path.islink(path):
            os.symlink(os.readlink(path), f"{ROOT}{path}")
    run_cp(["-a", "--no-preserve=ownership", staged_path(0), f"{ROOT}/etc"], "/etc could not be copied")


def _write_own_files(*, one_user: bool, host_network: bool) -> None:
    """Write the files of /etc that a container engine would provide, the certificates, and the settings of apt."""
    settings = b'APT::Sandbox::User "root";\n' if one_user else b""
    for path in ("etc/hosts", *(("etc/resolv.conf", CERTIFICATES) if host_network else ())):
        staged = f"{staged_path(0)}/{path.removeprefix('etc/')}"
        if path == CERTIFICATES and not os.path.exists(staged):
            continue  # a machine without certificates
        with open(staged, "rb") as source:
            _write_in_root(path, source.read())
        settings += f'Acquire::https::CAInfo "/{CERTIFICATES}";\n'.encode() if path == CERTIFICATES else b""
    if settings:
        _write_in_root(_APT_SETTINGS, settings)


def _write_in_root(path: str, content: bytes) -> None:
    """Replace a file, if its folder exists. The root is untrusted, so no link is followed."""
    folder, _, name = path.rpartition("/")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with _folder_in_root(folder) as handle:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=handle)
            with os.fdopen(os.open(name, flags, 0o644, dir_fd=handle), "wb") as file:
                file.write(content)
    except (FileNotFoundError, NotADirectoryError):
        pass  # an image without /etc, or without apt


def _make_in_root(path: str, mode: int) -> None:
    """Create a folder, if there is nothing in its place. No link is followed: it would lead to the host's folders."""
    above, _, name = path.rpartition("/")
    with contextlib.suppress(FileExistsError, NotADirectoryError), _folder_in_root(above, make=True) as handle:
        os.mkdir(name, mode, dir_fd=handle)
        os.chmod(name, mode, dir_fd=handle)


@contextlib.contextmanager
def _folder_in_root(path: str, *, make: bool = False) -> Iterator[int]:
    """A folder of the root; raises NotADirectoryError if a part of its path is a link."""
    handle = os.open(ROOT, _FOLDER)
    try:
        for name in path.split("/") if path else ():
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=handle)
            inner = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)
