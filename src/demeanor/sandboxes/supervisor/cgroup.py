"""Memory that the kernel itself holds an attempt to: a control group for each, where we may make some.

Of version 2 that is below the nearest group above us that hands `memory` on and lets us make groups in it: what systemd
gives a user's own services, or a unit with `Delegate=yes`. Of version 1 it is memory's own hierarchy, in which root
makes them. Everything an attempt starts is in its group from its first moment. What it writes lies in memory too and
counts, so the group may hold both `memory` and `disk`; within that, `MemoryWatch` looks after `memory` alone.

The supervisor is in the group as well, and small: the kernel ends who is large. Whoever has been ended for it is seen
in the group's count, and then the rest is ended too.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH102, PTH103, PTH106, PTH110, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import Literal, NamedTuple

ROOT, OF = "/sys/fs/cgroup", "/proc/self/cgroup"
"""Where groups are, and what says in which of them we are."""

_GOING_TAKES = 2.0
_PREFIX = "demeanor-"
_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


class Leaf(NamedTuple):
    """One attempt's group."""

    folder: str
    """Where it is."""

    version: Literal[1, 2]
    """Which kind."""

    def kills(self) -> int:
        """How many processes the kernel has ended in there because there was no memory left for them."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        with contextlib.suppress(OSError), open(f"{self.folder}/{name}") as file:
            found = _KILLS.search(file.read())
            return int(found[1]) if found else 0
        return 0

    def holds(self, memory: int) -> bool:
        """Whether the kernel lets nobody in there have more."""
        name = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        limit = _words(self.folder, name)
        return bool(limit) and limit[0].isdigit() and int(limit[0]) <= memory

    def remove(self) -> None:
        """Take the group away; whoever is still in it is ended first, where the kernel does that."""
        deadline = time.monotonic() + _GOING_TAKES
        while os.path.exists(self.folder) and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)
                return
            with contextlib.suppress(OSError):
                _write(self.folder, "cgroup.kill", "1")
            time.sleep(0.005)


class Branch(NamedTuple):
    """Where attempts' groups are made, and what each may hold."""

    folder: str
    """The group above them."""

    version: Literal[1, 2]
    """Which kind."""

    memory: int
    """Bytes that everything in one of them may hold."""

    def words(self) -> tuple[str, ...]:
        """The same as arguments of a program."""
        return self.folder, str(self.version), str(self.memory)

    @staticmethod
    def read(words: list[str]) -> Branch | None:
        """What `words` gave; None of no words."""
        if not words:
            return None
        folder, version, memory = words
        return Branch(folder, 1 if version == "1" else 2, int(memory))

    def leaf(self, pid: int) -> Leaf:
        """The group of the attempt whose supervisor is `pid`."""
        return Leaf(f"{self.folder}/{_PREFIX}{pid}", self.version)

    def tidy(self) -> None:
        """Take away what supervisors left that were killed, also those of other runs."""
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder):
                pid = name.removeprefix(_PREFIX)
                if name != pid and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                    with contextlib.suppress(OSError):
                        os.rmdir(f"{self.folder}/{name}")

    def grow(self, pid: int) -> Leaf:
        """Make a group for `pid` and everything it will start, and have it enter. That takes 10 ms and more."""
        leaf = self.leaf(pid)
        os.mkdir(leaf.folder)
        self.fill(leaf.folder, pid)
        return leaf

    def fill(self, folder: str, pid: int) -> None:
        """Give a new group its limits, and then its first member."""
        if self.version == 1:
            _write(folder, "memory.limit_in_bytes", str(self.memory))
            swap = "memory.memsw.limit_in_bytes", str(self.memory)
        else:
            _write(folder, "memory.max", str(self.memory))
            swap = "memory.swap.max", "0"
        with contextlib.suppress(OSError):  # the kernel may not account for what is swapped out
            _write(folder, *swap)
        _write(folder, "cgroup.procs", str(pid))


def branch(memory: int, *, root: str = ROOT, of: str = OF) -> Branch | None:
    """Where groups that hold so much can be made; None where they can't."""
    try:
        with open(of) as file:
            paths = {kinds: path for _, kinds, path in (line.rstrip("\n").split(":", 2) for line in file)}
    except (OSError, ValueError):
        return None
    for kinds, path in paths.items():
        if "memory" in kinds.split(","):
            folder = os.path.join(root, "memory", path.lstrip("/"))
            usable = _can_grow(folder) and os.path.exists(f"{folder}/memory.limit_in_bytes")
            return Branch(folder, 1, memory) if usable else None
    if "" not in paths:
        return None
    top = root if os.path.exists(f"{root}/cgroup.controllers") else f"{root}/unified"
    folder = os.path.join(top, paths[""].lstrip("/")).rstrip("/")
    if _hands_over(folder):
        return Branch(folder, 2, memory)
    while folder != top:
        folder = os.path.dirname(folder)
        if _can_grow(folder) and "memory" in _words(folder, "cgroup.subtree_control"):
            return Branch(folder, 2, memory)
    return None


def _hands_over(folder: str) -> bool:
    """Whether our own group can be made to hand `memory` on. It must be ours alone: who hands on has no members."""
    if not _can_grow(folder) or "memory" not in _words(folder, "cgroup.controllers"):
        return False
    if _words(folder, "cgroup.procs") != [str(os.getpid())]:
        return False
    try:
        os.makedirs(f"{folder}/demeanor", exist_ok=True)
        _write(f"{folder}/demeanor", "cgroup.procs", "0")
        _write(folder, "cgroup.subtree_control", "+memory")
    except OSError:
        return False
    return True


def around_us(root: str = ROOT) -> Leaf | None:
    """The group of the container that we are the first program of; None where it can't be seen."""
    if os.path.exists(f"{root}/memory.events"):
        return Leaf(root, 2)
    return Leaf(f"{root}/memory", 1) if os.path.exists(f"{root}/memory/memory.oom_control") else None


def counted_at_most(processes: int, root: str = ROOT) -> bool:
    """Whether the kernel lets the container that we are in have no more processes."""
    limit = _words(root, "pids.max") or _words(f"{root}/pids", "pids.max")
    return bool(limit) and limit[0].isdigit() and int(limit[0]) <= processes


def _can_grow(folder: str) -> bool:
    return os.access(folder, os.W_OK) and os.access(f"{folder}/cgroup.procs", os.W_OK)


def _words(folder: str, name: str) -> list[str]:
    with contextlib.suppress(OSError), open(f"{folder}/{name}") as file:
        return file.read().split()
    return []


def _write(folder: str, name: str, value: str) -> None:
    handle = os.open(f"{folder}/{name}", os.O_WRONLY)
    try:
        os.write(handle, value.encode())
    except OSError as error:
        raise OSError(error.errno, f"{name} of a control group: {error.strerror}") from None
    finally:
        os.close(handle)
