"""Control groups: one per attempt, with a memory limit that the kernel enforces, where we may create some.

With version 2 they are created below the nearest group above ours that delegates `memory` and that we may write to:
what systemd gives to a user's own services, or to a unit with `Delegate=yes`. With version 1 root creates them in the
memory hierarchy. Everything an attempt starts is in its group from the first moment. Files on its tmpfs count as memory
too, so the limit of the group is `memory` plus `disk`; within that, `MemoryWatch` enforces `memory` alone.

The supervisor is in the group as well, but small: the OOM killer picks large processes. A kill is seen in the group's
counter, and the supervisor then kills the rest.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH102, PTH103, PTH106, PTH110, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import contextlib
import os
import re
import time
from functools import cache
from typing import Literal, NamedTuple

from demeanor.sandboxes.supervisor.process_tree import own_pid, read_file

ROOT, OWN_GROUPS = "/sys/fs/cgroup", "/proc/self/cgroup"
"""Where control groups are mounted, and the file that lists ours."""

_REMOVE_TIMEOUT = 2.0
_PREFIX = "demeanor"
_OOM_KILL = re.compile(rb"^oom_kill (\d+)$", re.MULTILINE)


class Cgroup(NamedTuple):
    """The control group of one attempt."""

    folder: str
    """Its folder below /sys/fs/cgroup."""

    version: Literal[1, 2]
    """The cgroup version."""

    def oom_kills(self) -> int:
        """How many processes the OOM killer has killed in this group."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        with contextlib.suppress(OSError):
            match = _OOM_KILL.search(read_file(f"{self.folder}/{name}"))
            return int(match[1]) if match else 0
        return 0

    def has_memory_limit(self, memory: int) -> bool:
        """Whether the kernel limits this group to that many bytes or fewer."""
        name = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        limit = _read_words(self.folder, name)
        return bool(limit) and limit[0].isdigit() and int(limit[0]) <= memory

    def remove(self) -> None:
        """Remove the group, and kill its processes first where the kernel can (`cgroup.kill`)."""
        deadline = time.monotonic() + _REMOVE_TIMEOUT
        while os.path.exists(self.folder) and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)
                return
            with contextlib.suppress(OSError):
                _write(self.folder, "cgroup.kill", "1")
            time.sleep(0.005)


class CgroupParent(NamedTuple):
    """The group below which the groups of attempts are created, and the limit of each."""

    folder: str
    """Its folder below /sys/fs/cgroup."""

    version: Literal[1, 2]
    """The cgroup version."""

    memory: int
    """The memory limit of each attempt's group, in bytes."""

    def to_args(self) -> tuple[str, ...]:
        """This value as command-line arguments."""
        return self.folder, str(self.version), str(self.memory)

    @staticmethod
    def from_args(args: list[str]) -> CgroupParent | None:
        """The value that `to_args` was called on; None without arguments."""
        if not args:
            return None
        folder, version, memory = args
        return CgroupParent(folder, 1 if version == "1" else 2, int(memory))

    def cgroup(self, pid: int) -> Cgroup:
        """The group of the attempt whose supervisor is `pid`."""
        return Cgroup(f"{self.folder}/{_PREFIX}-{pid_namespace()}-{pid}", self.version)

    def remove_stale(self) -> None:
        """Remove empty groups of supervisors that no longer exist, also those of other runs. Containers may share the
        folder, so groups of another pid namespace are left alone."""
        prefix = f"{_PREFIX}-{pid_namespace()}-"
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder):
                pid = name.removeprefix(prefix)
                if name != pid and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                    with contextlib.suppress(OSError):
                        os.rmdir(f"{self.folder}/{name}")

    def create(self, pid: int | None = None) -> Cgroup:
        """Create a group and move `pid`, or this process, into it. This takes 10 ms and more."""
        cgroup = self.cgroup(own_pid() if pid is None else pid)
        os.mkdir(cgroup.folder)
        self.limit_and_enter(cgroup.folder, pid or 0)
        return cgroup

    def limit_and_enter(self, folder: str, pid: int) -> None:
        """Set the limits of a new group, and then move a process into it; 0 is this one."""
        if self.version == 1:
            _write(folder, "memory.limit_in_bytes", str(self.memory))
            swap = "memory.memsw.limit_in_bytes", str(self.memory)
        else:
            _write(folder, "memory.max", str(self.memory))
            swap = "memory.swap.max", "0"
        with contextlib.suppress(OSError):  # the kernel may be built without swap accounting
            _write(folder, *swap)
        _write(folder, "cgroup.procs", str(pid))


@cache
def pid_namespace() -> int:
    """The number of the pid namespace in which groups are named: that of the process that asks first. Its children may
    have another one. 0 if it is unknown."""
    with contextlib.suppress(OSError):
        return os.stat("/proc/self/ns/pid").st_ino
    return 0


def find_parent(memory: int, *, root: str = ROOT, own_groups: str = OWN_GROUPS) -> CgroupParent | None:
    """Where groups with that memory limit can be created; None where they can't."""
    try:
        with open(own_groups) as file:
            paths = {kinds: path for _, kinds, path in (line.rstrip("\n").split(":", 2) for line in file)}
    except (OSError, ValueError):
        return None
    for kinds, path in paths.items():
        if "memory" in kinds.split(","):
            folder = os.path.join(root, "memory", path.lstrip("/"))
            usable = _is_writable(folder) and os.path.exists(f"{folder}/memory.limit_in_bytes")
            return CgroupParent(folder, 1, memory) if usable else None
    if "" not in paths:
        return None
    top = root if os.path.exists(f"{root}/cgroup.controllers") else f"{root}/unified"
    folder = os.path.join(top, paths[""].lstrip("/")).rstrip("/")
    if _delegate_memory(folder):
        return CgroupParent(folder, 2, memory)
    while folder != top:
        folder = os.path.dirname(folder)
        if _is_writable(folder) and "memory" in _read_words(folder, "cgroup.subtree_control"):
            return CgroupParent(folder, 2, memory)
    return None


def _delegate_memory(folder: str) -> bool:
    """Try to make our own group delegate `memory`. Only we may be in it: a group that delegates has no processes."""
    if not _is_writable(folder) or "memory" not in _read_words(folder, "cgroup.controllers"):
        return False
    if _read_words(folder, "cgroup.procs") != [str(os.getpid())]:
        return False
    try:
        os.makedirs(f"{folder}/demeanor", exist_ok=True)
        _write(f"{folder}/demeanor", "cgroup.procs", "0")
        _write(folder, "cgroup.subtree_control", "+memory")
    except OSError:
        return False
    return True


def container_cgroup(root: str = ROOT) -> Cgroup | None:
    """The group of the container that this process runs in; None where it is not visible."""
    if os.path.exists(f"{root}/memory.events"):
        return Cgroup(root, 2)
    return Cgroup(f"{root}/memory", 1) if os.path.exists(f"{root}/memory/memory.oom_control") else None


def has_pids_limit(processes: int, root: str = ROOT) -> bool:
    """Whether the kernel limits the container that this process runs in to that many processes or fewer."""
    limit = _read_words(root, "pids.max") or _read_words(f"{root}/pids", "pids.max")
    return bool(limit) and limit[0].isdigit() and int(limit[0]) <= processes


def _is_writable(folder: str) -> bool:
    return os.access(folder, os.W_OK) and os.access(f"{folder}/cgroup.procs", os.W_OK)


def _read_words(folder: str, name: str) -> list[str]:
    with contextlib.suppress(OSError), open(f"{folder}/{name}") as file:
        return file.read().split()
    return []


def _write(folder: str, name: str, value: str) -> None:
    handle = os.open(f"{folder}/{name}", os.O_WRONLY)
    try:
        os.write(handle, value.encode())
    except OSError as error:
        raise OSError(error.errno, f"can't write {name} of a control group: {error.strerror}") from None
    finally:
        os.close(handle)
