"""A memory limit for a process tree, enforced by polling where the kernel does not enforce one.

Pages shared between processes are counted once (PSS). The kernel walks page tables to compute it, so it is read only
when the sum of the resident sizes, which is cheap and never too small, exceeds the peak so far.
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

    def __init__(self, limit: int) -> None:
        self.peak = 0
        """The highest value seen, in bytes."""
        self.pause = FAST_POLL
        """Seconds until the next check is due."""
        self._limit = limit

    def exceeded(self, pids: list[int]) -> bool:
        """Measure these processes; whether they exceed, or ever exceeded, the limit."""
        resident = sum(map(_resident, pids))
        self.pause = FAST_POLL if resident > self._limit / 2 else SLOW_POLL
        if resident <= self.peak:
            return False
        return self.record(sum(map(_proportional, pids)))

    def record(self, used: int) -> bool:
        """Record a measurement, in bytes; whether the peak exceeds the limit."""
        self.peak = max(self.peak, used)
        return self.peak > self._limit


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(read_file(f"/proc/{pid}/statm").split()[1]) * _PAGE
    return 0


def _proportional(pid: int) -> int:
    with contextlib.suppress(OSError):
        found = re.search(rb"^Pss: +(\d+) kB", read_file(f"/proc/{pid}/smaps_rollup"), re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
    return _resident(pid)


class OomKills:
    """Counts the processes that the OOM killer kills in a control group, from the moment this object is created.
    Create it before the program is started: the kernel may kill it at once.
    """

    def __init__(self, cgroup: Cgroup | None) -> None:
        self._cgroup = cgroup
        self._before = cgroup.oom_kills() if cgroup else 0

    def any(self) -> bool:
        """Whether there were any. The kernel counts before it kills, so a process that was waited for is counted."""
        return self._cgroup is not None and self._cgroup.oom_kills() > self._before


class MeasuredTree(ProcessTree):
    """A process tree with a memory limit."""

    def __init__(self, leader: int, memory: int, oom_kills: OomKills) -> None:
        super().__init__(leader)
        self._watch = MemoryWatch(memory)
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
