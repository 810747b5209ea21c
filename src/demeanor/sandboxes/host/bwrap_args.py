"""What a program behind walls finds: the arguments of bubblewrap.

The root is an allow-list. The host's /usr is there, read-only; /etc is made up, but for what programs need to find
libraries and certificates; /tmp, /dev/shm, HOME and the workspace lie on the room's own disk; an agent's installation
is shown read-only where it lies on the host. Everything else is not there at all.
"""

# Paths are compared as text here, and nothing is opened.
# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH114, PTH115

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from demeanor.sandboxes.supervisor.namespaces import HOME, MERGED, SCRATCH, SHARED, TEMP, read_at

WORKSPACE_SEEN, HOME_SEEN, TEMP_SEEN = "/workspace", "/home/agent", "/tmp"  # noqa: S108 - inside, it is the agent's own
"""Where a program finds its folders."""

UID = 1000
"""Who a program finds itself to be."""

PORT = 11811
"""Where a program in a network of its own finds the gateway: an unusual number, the same everywhere."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""What is shown of the host's system, as far as it is there."""

HOST_ETC = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem",
    "pki/tls", "pki/ca-trust", "ca-certificates", "localtime", "services", "protocols", "mime.types", "os-release",
)  # fmt: skip
"""What is shown of the host's /etc, as far as it is there: nothing that tells who or where we are."""

_ETC = {
    "hosts": "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost\n",
    "hostname": "sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    "resolv.conf": "",
}


def lay_etc(folder: Path, uid: int = UID, home: str = HOME_SEEN) -> None:
    """Write /etc into a new folder: what is made up, copies of files of the host's, and empty places for folders of it.
    The agent is the user `uid`.

    Each thing that is mounted costs time at every start; a copy costs some once.
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


def visible(path: str, also: Sequence[str] = ()) -> bool:
    """Whether something of the host is seen anyway."""
    return any(path == top or path.startswith(f"{top}/") for top in (*SYSTEM, *also))


def path_seen(path: str, also: Sequence[str] = ()) -> str:
    """PATH as far as it can be seen."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if visible(folder, also)) or os.defpath


def to_show(reads: Iterable[str]) -> tuple[str, ...]:
    """What must be shown besides the system: each thing where it is named and where it really lies, outer first."""
    found: set[str] = set()
    for path in reads:
        plain = os.path.abspath(path)
        found.update(place for place in (plain, os.path.realpath(plain)) if os.path.exists(place))
    shown: list[str] = []
    for path in sorted(found):
        if not visible(path, shown) and path != "/":
            shown.append(path)
    return tuple(shown)


def arguments(
    *, env: Mapping[str, str], shown: Sequence[str], fds: tuple[int, int], host_network: bool = False
) -> list[str]:
    """What bubblewrap is told. The stage has the made-up /etc, then what is `shown`, in this order; `fds` are those of
    the filter and of the status.
    """
    words = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--disable-userns", "--new-session", "--uid", str(UID), "--gid", str(UID), "--hostname", "sandbox"]
    words += [*_system(), "--ro-bind", read_at(0), "/etc"]
    for name in (*etc_folders(), *(("resolv.conf", "hosts") if host_network else ())):
        words += ["--ro-bind", os.path.realpath(f"/etc/{name}"), f"/etc/{name}"]
    words += ["--proc", "/proc", "--dev", "/dev"]
    for seen, name in ((TEMP_SEEN, TEMP), ("/dev/shm", SHARED), (HOME_SEEN, HOME), (WORKSPACE_SEEN, MERGED)):  # noqa: S108
        words += ["--bind", f"{SCRATCH}/{name}", seen]
    for number, path in enumerate(shown, 1):
        words += ["--ro-bind", read_at(number), path]
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORKSPACE_SEEN, "--clearenv"]
    for name, value in env.items():
        words += ["--setenv", name, value]
    return [*words, "--seccomp", str(fds[0]), "--json-status-fd", str(fds[1])]


def _system() -> Iterator[str]:
    for path in SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)


@cache
def system_folders() -> tuple[str, ...]:
    """What is shown of the host's system, without links to it."""
    return tuple(path for path in SYSTEM if os.path.isdir(path) and not os.path.islink(path))


@cache
def etc_folders() -> tuple[str, ...]:
    """The folders that are shown of the host's /etc."""
    return tuple(name for name in HOST_ETC if os.path.isdir(f"/etc/{name}"))
