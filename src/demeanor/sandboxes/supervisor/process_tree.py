"""A program's process tree: finding all of it, and killing all of it.

A *subreaper* is a process that inherits every orphan below it: a process whose parent dies becomes its child, however
often it forks and whatever session it moves to. So nothing is lost, and when `wait` reports that there are no children,
nothing is left. Without subreapers (macOS) the program's process group is killed instead, which a daemon can leave.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH110, PTH115, PTH208

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

HAS_SUBREAPERS = sys.platform == "linux"
"""Whether whole process trees can be killed, and not only process groups."""

_PIECE = 8192
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)
_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def become_subreaper() -> None:
    """Make this process the parent of all orphans among its descendants."""
    if HAS_SUBREAPERS and _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def sigchld_fd() -> int:
    """A file descriptor that becomes readable when a child ends or stops."""
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return renewed_sigchld_fd()


def renewed_sigchld_fd() -> int:
    """The same in a child process that has inherited the handler of the signal, which Python takes a while to set."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def own_pid() -> int:
    """The pid of this process as /proc shows it: the init of a new pid namespace has the /proc of the outer one yet."""
    return int(os.readlink("/proc/self"))


def write_file(path: str, content: bytes, flags: int = 0) -> None:
    """Write a small file in the same way. It must exist, unless the flags create it."""
    handle = os.open(path, os.O_WRONLY | flags, 0o666)
    try:
        while content:
            content = content[os.write(handle, content) :]
    finally:
        os.close(handle)


def read_file(path: str) -> bytes:
    """A small file, such as one in /proc, with half the system calls of `open` and `read`: every attempt reads many."""
    handle = os.open(path, os.O_RDONLY)
    try:
        content = piece = os.read(handle, _PIECE)
        while piece:
            piece = os.read(handle, _PIECE)
            content += piece
        return content
    finally:
        os.close(handle)


def children(parent: int) -> list[int]:
    """The pids of the children of `parent`."""
    if not _LISTS_CHILDREN:
        return _children_by_search(parent)
    pids: list[int] = []
    with contextlib.suppress(OSError):  # it has just ended
        for thread in os.listdir(f"/proc/{parent}/task"):
            pids += map(int, read_file(f"/proc/{parent}/task/{thread}/children").split())
    return pids


def _children_by_search(parent: int) -> list[int]:
    """The same on a kernel without /proc/PID/task/TID/children."""
    pids = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if int(read_file(f"/proc/{name}/stat").rpartition(b")")[2].split()[1]) == parent:
                pids.append(int(name))
    return pids


def descendants(roots: list[int]) -> list[int]:
    """The pids of all processes below `roots`."""
    pids: list[int] = []
    for root in roots:
        pids += (pid for pid in children(root) if pid not in roots)
    for pid in pids:
        pids += children(pid)
    return pids


def cpu_ticks(pid: int) -> int:
    """The clock ticks used by a process and by its children that it has waited for; 0 when it has ended."""
    with contextlib.suppress(OSError, ValueError):
        return sum(map(int, read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()[11:15]))
    return 0


def is_alive(pid: int) -> bool:
    """Whether a process is still running; a zombie is not."""
    with contextlib.suppress(OSError, IndexError):
        return read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] not in b"ZX"
    return False


def signal_all(roots: list[int], number: int) -> list[int]:
    """Send a signal to `roots` and all their descendants; returns the pids that were found."""
    pids = [*roots, *descendants(roots)]
    send_signal(pids, number)
    return pids


def send_signal(pids: list[int], number: int) -> None:
    """Send a signal to those of the processes that still exist."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


class ProcessTree:
    """One program, all its descendants, and the resources that they used."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.wakeup: int | None = None
        """A file descriptor that becomes readable when the program ends, where SIGCHLD does not tell."""
        self.status: int | None = None
        self.leftovers: set[int] = set()
        self.cpu = 0.0
        self.peak = 0

    def reap(self, options: int = os.WNOHANG) -> bool:
        """Wait for ended children; whether any child is left. With `options` 0, block until at least one has ended."""
        while True:
            try:
                pid, status, used = os.wait4(-1, options)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            options = os.WNOHANG
            self.cpu += used.ru_utime + used.ru_stime
            self.peak = max(self.peak, used.ru_maxrss)
            if pid == self.leader:
                self.status = status

    def signal(self, number: int) -> list[int]:
        """Send a signal to the whole tree; returns the pids."""
        if HAS_SUBREAPERS:
            return signal_all(children(os.getpid()), number)
        with contextlib.suppress(OSError):
            os.killpg(self.leader, number)
        return [self.leader]

    def kill(self) -> None:
        """Kill until nothing is left. Children forked meanwhile are killed in the next round."""
        alive = self.reap()
        outlived = self.status is not None
        while alive:
            living = set(filter(is_alive, descendants([os.getpid()]))) if outlived and HAS_SUBREAPERS else None
            killed = self.signal(signal.SIGKILL)
            if outlived:
                self.leftovers.update(killed if living is None else living.intersection(killed))
            if not killed:  # the list of children can miss a process while others start and end
                time.sleep(0.001)
            alive = self.reap(0 if killed else os.WNOHANG)
        if not HAS_SUBREAPERS:
            self.signal(signal.SIGKILL)

    def report(self) -> bytes:
        """The report to Demeanor: `end STATUS LEFTOVERS CPU_SECONDS PEAK_BYTES`."""
        scale = 1024 if HAS_SUBREAPERS else 1
        return b"end %d %d %.6f %d\n" % (self.status or 0, len(self.leftovers), self.cpu, self.peak * scale)
