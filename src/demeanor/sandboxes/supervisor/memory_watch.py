"""How much memory a program and everything below it holds, looked at now and then: a limit where the kernel has none.

Pages that several processes share are counted once (PSS). To count them the kernel walks page tables, so that is done
only where the plain sum, which is cheap and never too small, exceeds what was seen before.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import os
import re

from demeanor.sandboxes.supervisor.cgroup import Leaf
from demeanor.sandboxes.supervisor.process_tree import ProcessTree

_PAGE = os.sysconf("SC_PAGE_SIZE")
SELDOM, OFTEN = 0.2, 0.05
"""Seconds from one look to the next: far from the limit, and near it."""


class MemoryWatch:
    """Watches over one program at a time."""

    def __init__(self, most: int) -> None:
        self.peak = 0
        """The most that was seen."""
        self.pause = OFTEN
        """Seconds until one should look again."""
        self._most = most

    def exceeded(self, pids: list[int]) -> bool:
        """Look at these processes; whether they hold more than they may."""
        at_most = sum(map(_resident, pids))
        self.pause = OFTEN if at_most > self._most / 2 else SELDOM
        if at_most <= self.peak:
            return False
        return self.peaked(sum(map(_shared_out, pids)))

    def peaked(self, held: int) -> bool:
        """Take in that so much was held at some time, in bytes; whether that was more than is allowed."""
        self.peak = max(self.peak, held)
        return self.peak > self._most


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
        return int(file.read().split()[1]) * _PAGE
    return 0


def _shared_out(pid: int) -> int:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb", buffering=0) as file:
        found = re.search(rb"^Pss: +(\d+) kB", file.read(), re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
    return _resident(pid)


class OomKills:
    """The processes that the kernel killed in a control group for want of memory, counted from the moment this is made.
    Make it before the program is started: the kernel may kill it at once.
    """

    def __init__(self, leaf: Leaf | None) -> None:
        self._leaf = leaf
        self._before = leaf.kills() if leaf else 0

    def any(self) -> bool:
        """Whether there were any. The kernel counts before it kills, so a process that was waited for is counted."""
        return self._leaf is not None and self._leaf.kills() > self._before


class MeasuredTree(ProcessTree):
    """A program and everything below it, with an eye on its memory."""

    def __init__(self, leader: int, memory: int, kills: OomKills) -> None:
        super().__init__(leader)
        self._watch = MemoryWatch(memory)
        self._most = memory
        self._too_much = False
        self._kills = kills

    def members(self) -> list[int]:
        """Whose memory counts."""
        raise NotImplementedError

    def look(self, tree: ProcessTree) -> float | None:
        """Look at its memory; see `Watcher`."""
        self._too_much = self._watch.exceeded(self.members()) or self._kills.any()
        return None if self._too_much else self._watch.pause

    def report(self) -> bytes:
        """How it ended. Polling may have missed a breach, so what the kernel recorded is checked here once more."""
        if self._kills.any():  # the kernel ends nobody before all that is allowed is taken, whatever we saw last
            self._too_much = True
            self.peak = max(self.peak, self._most // 1024 + 1)
        if self._watch.peaked(self.peak * 1024):
            self._too_much = True
        self.peak = max(self.peak, self._watch.peak // 1024)
        return super().report() if not self._too_much else super().report().replace(b"\n", b" memory\n")
