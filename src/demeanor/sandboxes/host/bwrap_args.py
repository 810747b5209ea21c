"""The file system of a bubblewrap sandbox: the arguments of bubblewrap, and the generated /etc.

The root is an allow-list. The host's /usr is mounted read-only. /etc is generated, except for what programs need to
find libraries and certificates. /tmp, /dev/shm, HOME and the workspace are on the sandbox's own disk. An agent's
installation is mounted read-only at its path on the host. Nothing else exists in the sandbox.
"""

# Paths are compared as text here; no file is opened.
# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH114, PTH115

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from demeanor.sandboxes.supervisor.namespaces import HOME, MERGED, SCRATCH, SHARED, TEMP, staged_path

WORKSPACE_PATH, HOME_PATH, TEMP_PATH = "/workspace", "/home/agent", "/tmp"  # noqa: S108 - inside, it is the agent's own
"""The paths of a program's folders in the sandbox."""

UID = 1000
"""The uid of programs in the sandbox."""

PORT = 11811
"""The gateway's port in a private network: an unusual number, the same in all sandboxes."""

SYSTEM_PATHS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""The host's system folders that are mounted, if they exist."""

_SYSTEM_PREFIXES = tuple(f"{path}/" for path in SYSTEM_PATHS)

HOST_ETC = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem",
    "pki/tls", "pki/ca-trust", "ca-certificates", "localtime", "services", "protocols", "mime.types", "os-release",
)  # fmt: skip
"""The files and folders of the host's /etc that are mounted or copied, if they exist. They don't identify the host."""

_ETC = {
    "hosts": "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost\n",
    "hostname": "sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    "resolv.conf": "",
}


def write_etc(folder: Path, uid: int = UID, home: str = HOME_PATH) -> None:
    """Write /etc into a new folder: generated files, copies of the host's files, and mount points for its folders. The
    agent is the user `uid`. Files are copied because each mount costs time at every start.
    """
    folder.mkdir(mode=0o755)
    for name in HOST_ETC:
        if os.path.isfile(f"/etc/{name}"):
            (folder / name).parent.mkdir(exist_ok=True, mode=0o755)
            shutil.copyfile(f"/etc/{name}", folder / name)
            (folder / name).chmod(0o644)
    for name in etc_folders():
        (folder / name).mkdir(parents=True)
    users = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    agent = f"agent:x:{uid}:{uid}:agent:{home}:/bin/sh\n"
    groups = f"agent:x:{uid}:\nroot:x:0:\nnogroup:x:65534:\n"
    for name, text in {**_ETC, "passwd": agent + users, "group": groups}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o644)


def is_visible(path: str, also: Sequence[str] = ()) -> bool:
    """Whether a path of the host is mounted anyway."""
    inside = f"{path}/"
    return inside.startswith(_SYSTEM_PREFIXES) or any(inside.startswith(f"{top}/") for top in also)


def can_read(path: str, shown: Sequence[str]) -> bool:
    """Whether a program can read a path of the host, and what it links to, if the paths in `shown` are mounted."""
    return is_visible(os.path.abspath(path), shown) and is_visible(os.path.realpath(path), shown)


def visible_path(path: str, also: Sequence[str] = ()) -> str:
    """The part of PATH that is visible in the sandbox."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if is_visible(folder, also)) or os.defpath


def paths_to_bind(reads: Iterable[str]) -> tuple[str, ...]:
    """The paths to mount besides the system folders: each as given and with its links resolved, outer folders first."""
    paths: set[str] = set()
    for path in reads:
        absolute = os.path.abspath(path)
        paths.update((absolute, os.path.realpath(absolute)))
    shown: list[str] = []
    for path in sorted(paths):
        if not is_visible(path, shown) and path != "/" and os.path.exists(path):
            shown.append(path)
    return tuple(shown)


def bwrap_arguments(
    *, env: Mapping[str, str], shown: Sequence[str], fds: tuple[int, int], host_network: bool = False
) -> list[str]:
    """The arguments of bubblewrap. The staging folder has the generated /etc and then the paths in `shown`, in this
    order; `fds` are the descriptors of the seccomp filter and of the status.
    """
    args = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    args += ["--disable-userns", "--new-session", "--uid", str(UID), "--gid", str(UID), "--hostname", "sandbox"]
    args += _system_arguments()
    args += _etc_arguments(("resolv.conf", "hosts") if host_network else ())
    args += ["--proc", "/proc", "--dev", "/dev"]
    for target, name in ((TEMP_PATH, TEMP), ("/dev/shm", SHARED), (HOME_PATH, HOME), (WORKSPACE_PATH, MERGED)):  # noqa: S108
        args += ["--bind", f"{SCRATCH}/{name}", target]
    for number, path in enumerate(shown, 1):
        args += ["--ro-bind", staged_path(number), path]
    args += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORKSPACE_PATH, "--clearenv"]
    for name, value in env.items():
        args += ["--setenv", name, value]
    return [*args, "--seccomp", str(fds[0]), "--json-status-fd", str(fds[1])]


def _etc_arguments(names: Iterable[str]) -> list[str]:
    return [word for name in names for word in ("--ro-bind", os.path.realpath(f"/etc/{name}"), f"/etc/{name}")]


@cache
def _system_arguments() -> list[str]:
    """The arguments for the system folders and for /etc: the same for every program."""
    args: list[str] = []
    for path in SYSTEM_PATHS:
        if os.path.islink(path):
            args += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            args += ["--ro-bind", path, path]
    return [*args, "--ro-bind", staged_path(0), "/etc", *_etc_arguments(etc_folders())]


@cache
def system_folders() -> tuple[str, ...]:
    """The system folders that exist and are not links."""
    return tuple(path for path in SYSTEM_PATHS if os.path.isdir(path) and not os.path.islink(path))


@cache
def etc_folders() -> tuple[str, ...]:
    """The folders of the host's /etc that are mounted."""
    return tuple(name for name in HOST_ETC if os.path.isdir(f"/etc/{name}"))
