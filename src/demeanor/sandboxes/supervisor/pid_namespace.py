"""A pid namespace that the kernel ends with its supervisor, and a program in it.

A supervisor may itself be the first process of a namespace (`fork_into_pid_namespace`). Another one starts a process
that is:

    supervisor ──clone(NEWPID)──► init ──spawn──► program ──► …

A death signal that a program sets for itself comes too late: its parent may die before. And it is not inherited. So the
first process of the namespace sets one before it starts anything, and then checks that the supervisor still lives. When
that process dies, the kernel kills everything in the namespace, also in namespaces below it. No moment is left at which
SIGKILL of the supervisor would let a process live on.

The init reports how the program ended, and lives on until the last process has ended.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
from collections.abc import Callable
from typing import NoReturn

from demeanor.sandboxes.supervisor import linux
from demeanor.sandboxes.supervisor.process_tree import children

_CLONE = {"x86_64": 56, "aarch64": 220}
_NEWPID = 0x20000000
_LIBC = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock, as a fork must
_syscall = _LIBC.syscall
_before_fork = ctypes.pythonapi.PyOS_BeforeFork
_after_fork_in_parent, _after_fork_in_child = (
    ctypes.pythonapi.PyOS_AfterFork_Parent,
    ctypes.pythonapi.PyOS_AfterFork_Child,
)


class NamespaceInit:
    """The first process of a pid namespace, and what it reports about its program."""

    def __init__(self, spawn: Callable[[], int], flags: int = 0) -> None:
        """`spawn` starts the program, in the new namespace; `flags` name further namespaces to be created with it.
        Raises OSError if it can't be started."""
        self.reports, report = os.pipe()
        """Becomes readable when the program ends."""
        try:
            self.pid = _clone(flags)
            """Its pid, as the supervisor sees it."""
            if self.pid == 0:
                os.close(self.reports)
                _run_init(spawn, report)
        except OSError:
            os.close(self.reports)
            raise
        finally:
            os.close(report)
        what, number = self._receive() or (b"fail", 5)
        if what == b"fail":
            self.close()
            os.waitpid(self.pid, 0)
            raise OSError(number, os.strerror(number))
        self.program = number
        """The pid of the program, as the supervisor sees it."""

    def status(self) -> int | None:
        """The wait status of the program; None while it runs, or if it never was reported."""
        if not _is_readable(self.reports, 0):
            return None
        report = self._receive()
        return None if report is None else report[1]

    def _receive(self) -> tuple[bytes, int] | None:
        """The next report; None when the init has ended. A report is written at once, so it is never partial."""
        words = os.read(self.reports, 16).split()
        return (words[0], int(words[1])) if words else None

    def kill(self, timeout_ms: int) -> None:
        """End the namespace. The init ends by itself when the program and its descendants are gone; wait for that, and
        kill it when the time is up. Call this before the init is waited for: then its pid is still its own.
        """
        handle = os.pidfd_open(self.pid)
        try:
            if not _is_readable(handle, timeout_ms):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)

    def wait(self, timeout_ms: int) -> None:
        """Wait until the init has ended by itself, or the time is up. As `kill`, this comes before it is waited for."""
        handle = os.pidfd_open(self.pid)
        try:
            _is_readable(handle, timeout_ms)
        finally:
            os.close(handle)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.reports)


def _is_readable(handle: int, timeout_ms: int) -> bool:
    """Wait until there is something to read, at most for that time."""
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    return bool(poller.poll(timeout_ms))


def fork_into_pid_namespace(*, own_users: bool) -> int:
    """As `os.fork`, but the child is the init of a new pid namespace: when it dies, the kernel kills every process in
    the namespace first. With `own_users` it has a new user namespace too, in which no user is mapped yet.
    """
    _before_fork()
    try:
        pid = _clone(linux.NEWUSER if own_users else 0)
    except OSError:
        _after_fork_in_parent()
        raise
    if pid == 0:
        _after_fork_in_child()
    else:
        _after_fork_in_parent()
    return pid


def _clone(flags: int) -> int:
    """Fork into a new pid namespace, without telling the interpreter."""
    number = ctypes.c_long(_NEWPID | flags | signal.SIGCHLD)
    result = _syscall(_CLONE[os.uname().machine], number, None, None, None, None)
    return linux.checked(result, "creating namespaces")


def _run_init(spawn: Callable[[], int], report: int) -> NoReturn:
    """In the child: die with the supervisor, start the program, report its end, and wait for all other processes."""
    try:
        linux.set_death_signal()
        poller = select.poll()
        poller.register(report, 0)
        if poller.poll(0):  # the other end is closed: the supervisor died before it could be noticed
            os._exit(1)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        program = spawn()
        shown = children(int(os.readlink("/proc/self")))  # noqa: PTH115 - pids as the supervisor sees them
        os.write(report, b"start %010d" % shown[0])
        while True:
            pid, status = os.wait()
            if pid == program:
                os.write(report, b"ended %010d" % status)
    except ChildProcessError:
        os._exit(0)
    except OSError as error:
        os.write(report, b"fail  %010d" % (error.errno or 5))
    finally:
        os._exit(1)
