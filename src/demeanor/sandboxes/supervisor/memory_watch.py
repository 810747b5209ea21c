"""A memory limit for a process tree, enforced by polling where the kernel does not enforce one.

Pages shared between processes are counted once (PSS). The kernel walks page tables to compute it, so it is read only
when the sum of the resident sizes, which is cheap and never too small, exceeds the peak so far.

Files of `memfd_create` are memory that need not be mapped. Where no control group counts them, those that a process has
open are counted; what is mapped of them, too, is counted once.
"""

from __future__ import annotations

import contextlib
import os
import re

from demeanor.sandboxes.supervisor.cgroup import Cgroup
from demeanor.sandboxes.supervisor.process_tree import ProcessTree, descendants, read_file

_PAGE = os.sysconf("SC_PAGE_SIZE")
SLOW_POLL, FAST_POLL = 0.2, 0.05
"""Seconds between two checks: far from the limit, and near it."""


class MemoryWatch:
    """Compares the memory of a set of processes with a limit."""

    def __init__(self, limit: int, *, open_files: bool = True) -> None:
        """`open_files`: whether files of `memfd_create` are counted."""
        self.peak = 0
        """The highest value seen, in bytes."""
        self.pause = FAST_POLL
        """Seconds until the next check is due."""
        self._limit = limit
        self._open_files = open_files

    def exceeded(self, pids: list[int]) -> bool:
        """Measure these processes; whether they exceed, or ever exceeded, the limit."""
        files = _memory_files(pids) if self._open_files else 0
        resident = sum(map(_resident, pids)) + files
        self.pause = FAST_POLL if resident > self._limit / 2 else SLOW_POLL
        if resident <= self.peak:
            return False
        used = [_proportional(pid) for pid in pids]
        shared = sum(part for _, part in used)
        return self.record(sum(whole for whole, _ in used) + max(0, files - shared))

    def record(self, used: int) -> bool:
        """Record a measurement, in bytes; whether the peak exceeds the limit."""
        self.peak = max(self.peak, used)
        return self.peak > self._limit


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(read_file(f"/proc/{pid}/statm").split()[1]) * _PAGE
    return 0


def _proportional(pid: int) -> tuple[int, int]:
    """The memory of a process, with its share of shared pages; and the part of it that is in files in memory."""
    with contextlib.suppress(OSError):
        sizes = dict(re.findall(rb"(?m)^(Pss|Pss_Shmem): +(\d+) kB", read_file(f"/proc/{pid}/smaps_rollup")))
        return int(sizes.get(b"Pss", 0)) * 1024, int(sizes.get(b"Pss_Shmem", 0)) * 1024
    return _resident(pid), 0


def _memory_files(pids: list[int]) -> int:
    """The size of the files of `memfd_create` that these processes have open, each counted once."""
    sizes: dict[int, int] = {}
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):  # noqa: PTH208 - in every poll
                with contextlib.suppress(OSError):  # closed meanwhile
                    if os.readlink(f"{folder}/{name}").startswith("/memfd:"):  # noqa: PTH115
                        state = os.stat(f"{folder}/{name}")  # noqa: PTH116
                        sizes[state.st_ino] = state.st_blocks * 512
    return sum(sizes.values())


class OomKills:
    """Counts the processes that the OOM killer kills in a control group, from the moment this object is created.
    Create it before the program is started: the kernel may kill it at once.
    """

    def __init__(self, cgroup: Cgroup | None) -> None:
        self._cgroup = cgroup
        self._before = cgroup.oom_kills() if cgroup else 0

    @property
    def grouped(self) -> bool:
        """Whether there is a control group."""
        return self._cgroup is not None

    def any(self) -> bool:
        """Whether there were any. The kernel counts before it kills, so a process that was waited for is counted."""
        return self._cgroup is not None and self._cgroup.oom_kills() > self._before


class MeasuredTree(ProcessTree):
    """A process tree with a memory limit."""

    def __init__(self, leader: int, memory: int, oom_kills: OomKills) -> None:
        super().__init__(leader)
        self._watch = MemoryWatch(memory, open_files=not oom_kills.grouped)
        self._limit = memory
        self._exceeded = False
        self._is_new = True
        self._oom_kills = oom_kills

    def members(self) -> list[int]:
        """The pids whose memory counts."""
        return descendants([os.getpid()])

    def check(self) -> float | None:
        """Measure the memory; see `Watcher`. It is measured FAST_POLL after the start for the first time: many programs
        have ended by then, and their peak is in the report.
        """
        if self._is_new:
            self._is_new = False
            return FAST_POLL
        self._exceeded = self._watch.exceeded(self.members()) or self._oom_kills.any()
        return None if self._exceeded else self._watch.pause

    def report(self) -> bytes:
        """The report. Polling may have missed a breach, so the kernel's own records are checked once more here."""
        if self._oom_kills.any():  # the OOM killer acts only at the limit, whatever was measured last
            self._exceeded = True
            self.peak = max(self.peak, self._limit // 1024 + 1)
        if self._watch.record(self.peak * 1024):
            self._exceeded = True
        self.peak = max(self.peak, self._watch.peak // 1024)
        return super().report() if not self._exceeded else super().report().replace(b"\n", b" memory\n")
