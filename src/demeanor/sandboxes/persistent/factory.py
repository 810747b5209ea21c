"""Creates persistent sandboxes, which share one folder, one fork server and one /etc."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.sandboxes.host.bwrap_args import HOST_ETC, PORT, SYSTEM_PATHS, paths_to_bind, write_etc
from demeanor.sandboxes.host.certificates import copy_certificates
from demeanor.sandboxes.host.level import seccomp_filter
from demeanor.sandboxes.host.runtime import SandboxRuntime, in_thread
from demeanor.sandboxes.host.uids import RANGE_SIZE, unused_uid, unused_uid_range
from demeanor.sandboxes.levels.bubblewrap import find_bwrap
from demeanor.sandboxes.persistent.client import PersistentSandbox
from demeanor.sandboxes.persistent.spec import PersistentSpec

_MORE_ETC = (
    "login.defs", "adduser.conf", "deluser.conf", "default/useradd", "skel", "shells", "debian_version", "pam.d",
    "security", "bash.bashrc", "profile", "inputrc", "magic", "mailcap",
)  # fmt: skip
"""More files of the host's /etc that programs in a container expect. None of them is secret."""

_SYSTEM_USERS = {
    "daemon": 1, "bin": 2, "sys": 3, "games": 5, "man": 6, "mail": 8, "www-data": 33, "backup": 34, "list": 38,
    "_apt": 100,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class PersistentOptions:
    """The options of a persistent sandbox."""

    network: Network = "none"
    """What programs can connect to."""

    port: int = PORT
    """The port of its listener."""

    rootfs: Path | None = None
    """A root file system to use instead of the host's programs."""

    reads: tuple[str, ...] = ()
    """Other paths of the host to mount read-only, at the same path."""


class PersistentSandboxes:
    """Creates persistent sandboxes with the same limits."""

    def __init__(self, root: Path | None = None, *, ceilings: Ceilings | None = None, many_users: bool = True) -> None:
        self._ceilings = ceilings or Ceilings()
        self._runtime = SandboxRuntime(root, memory=self._ceilings.memory + self._ceilings.disk)
        self._many_users = many_users
        self._etc_lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """The folder of all sandboxes. It is removed at the end, also when Demeanor itself is killed."""
        return self._runtime.launcher().folder

    async def open(self, options: PersistentOptions) -> PersistentSandbox:
        """Create a sandbox; raises WorldError when that is not possible."""
        spec = await in_thread(self._spec, options)
        sandbox = PersistentSandbox(self._runtime.launcher(), spec)
        try:
            await sandbox.wait_ready()
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    def close(self) -> None:
        """Remove the folder, and stop the fork server."""
        self._runtime.close()

    def _spec(self, options: PersistentOptions) -> PersistentSpec:
        bwrap, rules = find_bwrap()
        limits, first_uid = self._ceilings, unused_uid_range() if self._many_users else None
        return PersistentSpec(
            bwrap=bwrap,
            filter=rules,
            single_user_filter=seccomp_filter(ignores_owners=True) if options.rootfs else rules,
            etc=self._etc(host_network=options.network == "host", own_root=options.rootfs is not None),
            system=SYSTEM_PATHS,
            rootfs=str(options.rootfs.resolve()) if options.rootfs else None,
            reads=paths_to_bind(options.reads),
            network=options.network,
            port=options.port,
            uid=unused_uid(),
            many_users=first_uid is not None,
            first_uid=first_uid or 0,
            uid_count=RANGE_SIZE,
            disk=limits.disk,
            inodes=limits.files,
            memory=limits.memory,
            rlimits={"RLIMIT_NPROC": limits.processes, "RLIMIT_CORE": 0},
        )

    def _etc(self, *, host_network: bool, own_root: bool) -> str:
        """The folder that becomes /etc. With a root file system of its own, a sandbox takes few files from it, so the
        host's are not copied: there can be a thousand of them."""
        folder = self.folder / f"etc{'-host-network' if host_network else ''}{'-own-root' if own_root else ''}"
        names = () if own_root else (*HOST_ETC, *_MORE_ETC)
        with self._etc_lock:  # several sandboxes may be opened at once, each in its own thread
            if not folder.exists():
                write_etc(folder)
                _copy_host_etc(names, folder)
                _add_users(folder)
                if host_network:
                    _copy_host_etc(("resolv.conf", "hosts"), folder)
                    copy_certificates(folder)
        return str(folder)


def _copy_host_etc(names: Iterable[str], folder: Path) -> None:
    """Copy those files and folders of the host's /etc that exist."""
    for name in names:
        source, target = Path("/etc", name), folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=_not_world_readable)
        elif source.is_file():
            shutil.copyfile(source, target)
            target.chmod(0o644)


def _not_world_readable(folder: str, names: list[str]) -> list[str]:
    """The files that other users may not read; they are not copied."""
    return [name for name in names if not Path(folder, name).lstat().st_mode & 0o004]


def _add_users(folder: Path) -> None:
    """Add the system users that a container has, without logins."""
    with (folder / "passwd").open("a") as passwd, (folder / "group").open("a") as group:
        for name, number in _SYSTEM_USERS.items():
            passwd.write(f"{name}:x:{number}:{number}:{name}:/nonexistent:/usr/sbin/nologin\n")
            group.write(f"{name}:x:{number}:\n")
    names = [line.split(":")[0] for line in (folder / "passwd").read_text().splitlines()]
    (folder / "shadow").write_text("".join(f"{name}:*:19000:0:99999:7:::\n" for name in names))
    (folder / "gshadow").write_text("".join(f"{name}:*::\n" for name in names))
