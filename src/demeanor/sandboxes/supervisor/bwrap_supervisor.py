"""The supervisor of `--sandbox bubblewrap`: sets up namespaces, and starts each program in them with bubblewrap.

    Demeanor ──(control socket)──► fork server ──clone──► supervisor ──spawn──► bwrap ──► its init ──► …

The first message is the sandbox's spec; the answer carries the socket that listens in the sandbox. With the first
launch the workspace is mounted, and its disk is sent to Demeanor as an open folder, which can be read after the last
process has ended. A launch is answered with one line that says how it ended, as by the plain supervisor.

There are two pid namespaces: bubblewrap creates the one that agents see, inside of one whose init is the supervisor
itself. The kernel kills every process of a pid namespace when its init dies, before the init itself is gone. So no
process outlives the supervisor, at whatever moment that is killed; and when `wait` reports that no child is left, no
process is left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import time
from typing import Any

from demeanor.sandboxes.supervisor import linux
from demeanor.sandboxes.supervisor.cgroup import Cgroup
from demeanor.sandboxes.supervisor.home_files import write_home_files
from demeanor.sandboxes.supervisor.host_names import HostNames
from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills
from demeanor.sandboxes.supervisor.messages import reason, receive, reply
from demeanor.sandboxes.supervisor.namespaces import HOME, SCRATCH, enter_namespaces, mount_workspace
from demeanor.sandboxes.supervisor.privileges import set_rlimits
from demeanor.sandboxes.supervisor.process_tree import children, cpu_ticks, descendants, renewed_sigchld_fd, send_signal
from demeanor.sandboxes.supervisor.supervisor import DEFAULT_SIGNALS, watch

_SIGNAL_EXIT_CODES = 128
_MAX_SIGNAL = 64
_EXIT_TIMEOUT = 0.5
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_ARGS_FD, FILTER_FD, STATUS_FD = 50, 51, 52
"""The descriptors from which bubblewrap reads its arguments and the seccomp filter, and to which it writes its status.
A supervisor has far fewer files open, so these numbers are free.
"""


RUN_FOLDER = "DEMEANOR_RUN_FOLDER"
"""The variable of bubblewrap, not of the agent, by which a later run finds what a killed one left."""


def serve_bwrap(control: socket.socket, cgroup: Cgroup | None) -> None:
    """Set up a sandbox and run programs in it, one after the other, until Demeanor hangs up."""
    sigchld = renewed_sigchld_fd()
    spec, _ = receive(control, 0)
    if spec is None or not _entered(spec, control):
        return
    hosts = None if spec["network"] == "host" else _host_names()
    mounted: MountedSandbox | None = None
    while True:
        launch, fds = receive(control, 2)
        if launch is None:
            return
        try:
            if mounted is None:
                mounted = MountedSandbox(spec, launch, control, cgroup, hosts)
            report = mounted.run(launch, fds, control, sigchld)
        except OSError as error:
            if error.errno == errno.E2BIG:
                report = b"fail start %d\n" % error.errno
            else:
                report = b"fail setup %s\n" % reason(error)
        finally:
            for fd in fds:
                os.close(fd)
        if not reply(control, report):
            return


def _entered(spec: dict[str, Any], control: socket.socket) -> bool:
    """Enter the namespaces of the sandbox, and send Demeanor the socket that listens there; whether that worked."""
    try:
        if spec["uid"] is None:
            linux.map_users(*spec["owner"])
        listener = enter_namespaces(spec, has_users=spec["uid"] is None)
        linux.mount_proc()
    except OSError as error:
        reply(control, b"fail %s\n" % reason(error))
        return False
    reply(control, b"ready\n", [] if listener is None else [listener.fileno()])
    if listener is not None:
        listener.close()
    return True


def _host_names() -> HostNames | None:
    """The name server of the sandbox; None if it can't listen."""
    try:
        return HostNames()
    except OSError:
        return None


class MountedSandbox:
    """A sandbox whose workspace is mounted, ready to run programs."""

    def __init__(
        self,
        spec: dict[str, Any],
        launch: dict[str, Any],
        control: socket.socket,
        cgroup: Cgroup | None,
        hosts: HostNames | None,
    ) -> None:
        overlay, disk = mount_workspace({**spec, "reads": launch["reads"]})
        self._reads = launch["reads"]
        self._bwrap: str = spec["bwrap"]
        self._mark = {RUN_FOLDER: spec["mark"]}
        self._filter: bytes = spec["filter"]
        self._memory: int = spec["memory"]
        self._cgroup = cgroup
        self._hosts = hosts
        set_rlimits(spec["rlimits"])
        reply(control, b"mounted overlay\n" if overlay else b"mounted copy\n", [disk])
        os.close(disk)

    def run(self, launch: dict[str, Any], fds: list[int], control: socket.socket, sigchld: int) -> bytes:
        """Run a program to its end; returns the report."""
        if launch["reads"] != self._reads:
            raise OSError(22, "all programs of an attempt must read the same paths of the host")
        write_home_files(launch["home"], f"{SCRATCH}/{HOME}")
        status, status_write = os.pipe()
        try:
            tree = self._start(launch, fds, status_write, sigchld)
            os.close(status_write)
            status_write = -1
            watch(tree, control, sigchld, tree, self._hosts)
            started = b'"exit-code"' in _read_all(status)
        finally:
            os.close(status)
            if status_write >= 0:
                os.close(status_write)
        if not started and tree.status is not None and os.WIFEXITED(tree.status):
            return b"fail bwrap\n"
        return tree.report() if self._hosts is None else self._hosts.report(tree.report())

    def _start(self, launch: dict[str, Any], fds: list[int], status: int, sigchld: int) -> BwrapTree:
        """Start bubblewrap in its own session. Its arguments and the filter are passed as memfds."""
        args = memfd("\0".join(launch["arguments"]).encode("utf-8", "surrogateescape"))
        rules = memfd(self._filter)
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, fds[0], 1),
            (os.POSIX_SPAWN_DUP2, fds[1], 2),
            (os.POSIX_SPAWN_DUP2, args, _ARGS_FD),
            (os.POSIX_SPAWN_DUP2, rules, FILTER_FD),
            (os.POSIX_SPAWN_DUP2, status, STATUS_FD),
        ]
        argv = [self._bwrap, "--args", str(_ARGS_FD), "--", *launch["argv"]]
        oom_kills = OomKills(self._cgroup)
        oom_score = linux.open_oom_score()
        try:
            with linux.raised_oom_score(oom_score):
                pid = os.posix_spawn(
                    self._bwrap,
                    argv,
                    self._mark,
                    file_actions=actions,
                    setsid=True,
                    setsigmask=[],
                    setsigdef=DEFAULT_SIGNALS,
                )
            return BwrapTree(pid, self._memory, oom_kills, sigchld)
        finally:
            os.close(oom_score)
            os.close(args)
            os.close(rules)


def memfd(content: bytes) -> int:
    """An anonymous file with that content, open at its start."""
    handle = os.memfd_create("demeanor")
    os.write(handle, content)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _read_all(pipe: int) -> bytes:
    pieces = []
    while piece := os.read(pipe, 4096):
        pieces.append(piece)
    return b"".join(pieces)


class BwrapTree(MeasuredTree):
    """bubblewrap, the init of its pid namespace, and all processes in that one. This process is the init of the outer
    namespace: every orphan becomes its child.
    """

    def __init__(self, leader: int, memory: int, oom_kills: OomKills, sigchld: int) -> None:
        super().__init__(leader, memory, oom_kills)
        self._sigchld = sigchld
        self._wrappers = {leader}
        """Processes that are not the program's own."""
        self._counted: set[int] = set()

    def members(self) -> list[int]:
        """The pids whose memory counts: the processes below the init that bubblewrap started."""
        return descendants(self._roots())

    def _roots(self) -> list[int]:
        """That init: a child of bubblewrap, or of this process when bubblewrap has ended."""
        outer = children(os.getpid())
        below = children(self.leader) if self.leader in outer else []
        roots = [pid for pid in (*outer, *below) if pid != self.leader]
        self._wrappers.update(roots)
        return roots

    def signal(self, number: int) -> list[int]:
        """Send a signal to the program's processes. KILL is sent to everything in the namespace at once."""
        inside = self.members()
        if number == signal.SIGKILL:
            # The resource usage of processes that die with their init is not reported to us: count it before.
            self.cpu += sum(cpu_ticks(pid) for pid in inside if pid not in self._counted) / _TICKS_PER_SECOND
            self._counted.update(inside)
            kill_namespace()
        else:
            send_signal(inside, number)
        return [*self._wrappers, *inside]

    def kill(self) -> None:
        """Kill until nothing is left. After a program that left nothing behind, the init ends by itself."""
        if self.reap() and self.status is not None and not self.members():
            self._wait(_EXIT_TIMEOUT)
        super().kill()

    def _wait(self, seconds: float) -> None:
        """Wait until every process has ended by itself, or the time is up."""
        deadline = time.monotonic() + seconds
        while self.reap() and (left := deadline - time.monotonic()) > 0:
            if select.select([self._sigchld], [], [], left)[0]:
                os.read(self._sigchld, 4096)

    def report(self) -> bytes:
        """The report. bubblewrap exits with 128 + N, as shells do, when signal N ended its program."""
        if self.status is not None and os.WIFEXITED(self.status):
            number = os.WEXITSTATUS(self.status) - _SIGNAL_EXIT_CODES
            if 0 < number <= _MAX_SIGNAL:
                self.status = number
        self.leftovers -= self._wrappers
        return super().report()


def kill_namespace() -> None:
    """Kill every process of our pid namespace and of those below it, except for this one, which is its init."""
    if os.getpid() != 1:  # never signal the processes of a host
        raise OSError(errno.EPERM, "this process is not the init of a pid namespace")
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
