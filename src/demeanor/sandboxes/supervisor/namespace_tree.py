"""The process tree of a program that runs in its own pid namespace: killing the namespace's init kills all of it."""

from __future__ import annotations

import os
import signal

from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills
from demeanor.sandboxes.supervisor.pid_namespace import NamespaceInit
from demeanor.sandboxes.supervisor.process_tree import cpu_ticks, descendants, send_signal

_EXIT_TIMEOUT_MS = 500
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class NamespaceTree(MeasuredTree):
    """The init of a pid namespace, which is not part of the program, and all processes below it."""

    def __init__(self, init: NamespaceInit, memory: int, oom_kills: OomKills) -> None:
        super().__init__(init.pid, memory, oom_kills)
        self._init = init
        self.wakeup = init.reports
        self._program_status: int | None = None
        self._wrappers = {init.pid}
        """Processes that are not the program's own."""
        self._counted: set[int] = set()
        self._killed = False

    def reap(self, options: int = os.WNOHANG) -> bool:
        """Wait for the init, which ends after everything else. The status is that of the program."""
        alive = super().reap(options)
        if self._program_status is None:
            self._program_status = self._init.status()
        if self._program_status is not None:
            self.status = self._program_status
        return alive

    def roots(self) -> list[int]:
        """The processes whose descendants are the program's own."""
        return [self.leader]

    def members(self) -> list[int]:
        """The pids whose memory counts."""
        return descendants(self.roots())

    def signal(self, number: int) -> list[int]:
        """Send a signal to the program's processes. For KILL, the kernel kills the whole namespace at once."""
        inside = self.members()
        if number == signal.SIGKILL:
            # The resource usage of processes that die with their init is not reported to us: count it before.
            self.cpu += sum(cpu_ticks(pid) for pid in inside if pid not in self._counted) / _TICKS_PER_SECOND
            self._counted.update(inside)
            self._killed = True
            self.kill_namespace(empty=not inside)
        else:
            send_signal(inside, number)
        return [*self._wrappers, *inside]

    def kill_namespace(self, *, empty: bool) -> None:
        """Kill the init; one whose program and descendants are gone ends by itself, and reports what they used."""
        self._init.kill(_EXIT_TIMEOUT_MS if empty else 0)

    def kill(self) -> None:
        """Kill until nothing is left. After a program that left nothing behind, the init ends by itself."""
        if self.reap() and self.status is not None and not self.members():
            self._init.wait(_EXIT_TIMEOUT_MS)
        super().kill()
        self._init.close()

    def report(self) -> bytes:
        """The report, without the processes that are not the program's own. Nothing is known about a program whose init
        was killed by another process."""
        if self._program_status is None and not self._killed:
            return b"fail setup the init of the pid namespace was killed\n"
        self.leftovers -= self._wrappers
        return super().report()
