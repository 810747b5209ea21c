"""Measures how many cores other programs leave free, so that a local model uses the whole machine when it may.

With other work on a core, a second thread of the engine costs more than it gains: all threads wait for the slowest one.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_SECONDS = 0.4
_TOLERATED = 0.25
"""The part of a core that may be busy, so that it still counts as free."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CpuSample:
    """The CPU time that was used until one moment, in ticks."""

    busy: int
    """By everything on this machine."""

    own: int
    """By this process and its descendants."""


def engine_threads() -> int:
    """Threads for a model: the free cores, which takes half a second to measure; where that can't be measured, all
    cores but one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    before, began = cpu_sample(), time.monotonic()
    if before is None:
        return max(1, cores - 1)
    time.sleep(_SECONDS)
    after, seconds = cpu_sample() or before, time.monotonic() - began
    return threads_for(cores, others_busy(before, after, seconds * os.sysconf("SC_CLK_TCK")))


def threads_for(cores: int, busy: float) -> int:
    """Threads if others keep so many cores busy: at least half of the cores, because the others may stop."""
    return max(1, cores // 2, min(cores, cores - math.ceil(busy - _TOLERATED)))


def others_busy(before: CpuSample, after: CpuSample, ticks: float) -> float:
    """How many cores other programs kept busy between two samples."""
    used = (after.busy - before.busy) - max(0, after.own - before.own)
    return max(0.0, used / max(1.0, ticks))


def cpu_sample(proc: Path = _PROC) -> CpuSample | None:
    """What was used until now; None if the system does not say."""
    try:
        user, nice, system, _, _, irq, soft_irq, *_ = map(
            int, (proc / "stat").read_text().split("\n", 1)[0].split()[1:]
        )
        return CpuSample(busy=user + nice + system + irq + soft_irq, own=_own_ticks(proc))
    except (OSError, ValueError):
        return None


def _own_ticks(proc: Path) -> int:
    """Ticks of this process, its descendants, and those of them that have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in proc.iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            parents[int(folder.name)] = int(fields[1])
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    return sum(used for pid, used in ticks.items() if _descends(pid, os.getpid(), parents))


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    seen: set[int] = set()
    while pid not in seen and pid != ancestor:
        seen.add(pid)
        pid = parents.get(pid, 0)
    return pid == ancestor
