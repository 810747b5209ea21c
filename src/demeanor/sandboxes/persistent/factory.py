"""Where lodges are made: one folder and one nursery for all of them, and what they have in common."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.sandbox_spec import Ceilings, Network
from demeanor.sandboxes.host.bwrap_args import HOST_ETC, PORT, SYSTEM, lay_etc, to_show
from demeanor.sandboxes.host.runtime import SandboxRuntime, in_thread
from demeanor.sandboxes.host.uids import MANY, many_users, spare_user
from demeanor.sandboxes.levels.bubblewrap import means
from demeanor.sandboxes.persistent.client import PersistentSandbox
from demeanor.sandboxes.persistent.spec import PersistentSpec

_MORE_ETC = (
    "login.defs", "adduser.conf", "deluser.conf", "default/useradd", "skel", "shells", "debian_version", "pam.d",
    "security", "bash.bashrc", "profile", "inputrc", "magic", "mailcap",
)  # fmt: skip
"""What is taken of the host's /etc besides: what a container's programs are used to finding. Nothing secret."""

_SYSTEM_USERS = {
    "daemon": 1, "bin": 2, "sys": 3, "games": 5, "man": 6, "mail": 8, "www-data": 33, "backup": 34, "list": 38,
    "_apt": 100,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class PersistentOptions:
    """What is wanted of a lodge."""

    network: Network = "none"
    """What can be reached from in there."""

    port: int = PORT
    """Where its own socket listens."""

    rootfs: Path | None = None
    """A root file system to start from; None for the host's programs."""

    reads: tuple[str, ...] = ()
    """What else is shown of the host, read-only, where it lies."""


class PersistentSandboxes:
    """Makes lodges that may all use as much."""

    def __init__(self, root: Path | None = None, *, ceilings: Ceilings | None = None, many: bool = True) -> None:
        self._ceilings = ceilings or Ceilings()
        self._runtime = SandboxRuntime(root, memory=self._ceilings.memory + self._ceilings.disk)
        self._many = many
        self._laying = threading.Lock()

    @property
    def folder(self) -> Path:
        """Everything lies in here; it is removed at the end, also when Demeanor itself is killed."""
        return self._runtime.ready().folder

    async def open(self, options: PersistentOptions) -> PersistentSandbox:
        """A new lodge; raises WorldError where none can be had."""
        plan = await in_thread(self._plan, options)
        sandbox = PersistentSandbox(self._runtime.ready(), plan)
        try:
            await sandbox.entered()
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    def leave(self) -> None:
        """Remove what is left."""
        self._runtime.leave()

    def _plan(self, options: PersistentOptions) -> PersistentSpec:
        bwrap, rules = means()
        most, first = self._ceilings, many_users() if self._many else None
        return PersistentSpec(
            bwrap=bwrap,
            filter=rules,
            etc=self._etc(host_network=options.network == "host"),
            system=SYSTEM,
            rootfs=str(options.rootfs.resolve()) if options.rootfs else None,
            reads=to_show(options.reads),
            network=options.network,
            port=options.port,
            uid=spare_user(),
            many=first is not None,
            first=first or 0,
            count=MANY,
            disk=most.disk,
            inodes=most.files,
            memory=most.memory,
            rlimits={"RLIMIT_NPROC": most.processes, "RLIMIT_CORE": 0},
        )

    def _etc(self, *, host_network: bool) -> str:
        folder = self.folder / ("etc-of-host-network" if host_network else "etc-of-lodges")
        with self._laying:  # several lodges may be opened at once, each in a thread of its own
            if not folder.exists():
                lay_etc(folder)
                _take((*HOST_ETC, *_MORE_ETC, *(("resolv.conf", "hosts") if host_network else ())), folder)
                _add_users(folder)
        return str(folder)


def _take(names: Iterable[str], folder: Path) -> None:
    """Copy what is there of the host's /etc."""
    for name in names:
        source, target = Path("/etc", name), folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=_closed)
        elif source.is_file():
            shutil.copyfile(source, target)
            target.chmod(0o644)


def _closed(folder: str, names: list[str]) -> list[str]:
    """What others may not read stays where it is."""
    return [name for name in names if not Path(folder, name).lstat().st_mode & 0o004]


def _add_users(folder: Path) -> None:
    """The users that a container has, none of whom can log in."""
    with (folder / "passwd").open("a") as passwd, (folder / "group").open("a") as group:
        for name, number in _SYSTEM_USERS.items():
            passwd.write(f"{name}:x:{number}:{number}:{name}:/nonexistent:/usr/sbin/nologin\n")
            group.write(f"{name}:x:{number}:\n")
    names = [line.split(":")[0] for line in (folder / "passwd").read_text().splitlines()]
    (folder / "shadow").write_text("".join(f"{name}:*:19000:0:99999:7:::\n" for name in names))
    (folder / "gshadow").write_text("".join(f"{name}:*::\n" for name in names))
