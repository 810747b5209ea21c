"""A program's tree of processes: seeing all of it, and ending all of it.

A *subreaper* is a process that inherits every orphan below it: a process whose parent dies becomes its child, however
often it forks and whatever session it moves to. So nothing gets lost, and `wait` saying «no child» proves that nothing
is left. Where there are no subreapers (macOS) a program's process group is ended instead, which a daemon can leave.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH110, PTH123, PTH208

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

WHOLE = sys.platform == "linux"
"""Whether whole trees can be ended, and not only process groups."""

_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)
_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def adopt_orphans() -> None:
    """From now on, processes below this one whose parent dies become its children."""
    if WHOLE and _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def hear_children() -> int:
    """A file descriptor that becomes readable when a child ends or stops."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def children(parent: int) -> list[int]:
    """The processes whose parent is `parent`."""
    if not _LISTS_CHILDREN:
        return _children_by_search(parent)
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has just ended
        for thread in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{thread}/children", "rb", buffering=0) as file:
                found += map(int, file.read().split())
    return found


def _children_by_search(parent: int) -> list[int]:
    """The same on a kernel that keeps no such list."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:
            if int(file.read().rpartition(b")")[2].split()[1]) == parent:
                found.append(int(name))
    return found


def descendants(roots: list[int]) -> list[int]:
    """Every process below `roots`."""
    found: list[int] = []
    for root in roots:
        found += (pid for pid in children(root) if pid not in roots)
    for pid in found:
        found += children(pid)
    return found


def cpu_of(pid: int) -> int:
    """The clock ticks that a process has used, with those of its children that it was told of; 0 where it has gone."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        return sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
    return 0


def is_living(pid: int) -> bool:
    """Whether a process has not ended yet; one that waits to be buried has."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        return file.read().rpartition(b")")[2].split()[0] not in b"ZX"
    return False


def signal_all(roots: list[int], number: int) -> list[int]:
    """Signal `roots` and every process below them; the processes that were found."""
    found = [*roots, *descendants(roots)]
    send(found, number)
    return found


def send(pids: list[int], number: int) -> None:
    """Signal processes, as far as they are there."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


class ProcessTree:
    """One program, everything below it, and what it used."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.status: int | None = None
        self.leftovers: set[int] = set()
        self.cpu = 0.0
        self.peak = 0

    def reap(self, how: int = os.WNOHANG) -> bool:
        """Bury what has ended; whether anything is left. With `how` 0, wait until at least one process has ended."""
        while True:
            try:
                pid, status, used = os.wait4(-1, how)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            how = os.WNOHANG
            self.cpu += used.ru_utime + used.ru_stime
            self.peak = max(self.peak, used.ru_maxrss)
            if pid == self.leader:
                self.status = status

    def signal(self, number: int) -> list[int]:
        """Signal all of it; the processes that got it."""
        if WHOLE:
            return signal_all(children(os.getpid()), number)
        with contextlib.suppress(OSError):
            os.killpg(self.leader, number)
        return [self.leader]

    def end(self) -> None:
        """Kill until nothing is left. What is forked meanwhile falls to us too, and is seen in the next round."""
        alive = self.reap()
        outlived = self.status is not None
        while alive:
            living = set(filter(is_living, descendants([os.getpid()]))) if outlived and WHOLE else None
            killed = self.signal(signal.SIGKILL)
            if outlived:
                self.leftovers.update(killed if living is None else living.intersection(killed))
            if not killed:  # the list may miss a process while others come and go
                time.sleep(0.001)
            alive = self.reap(0 if killed else os.WNOHANG)
        if not WHOLE:
            self.signal(signal.SIGKILL)

    def report(self) -> bytes:
        """How it ended, as a line."""
        scale = 1024 if WHOLE else 1
        return b"end %d %d %.6f %d\n" % (self.status or 0, len(self.leftovers), self.cpu, self.peak * scale)
