"""A supervisor that runs programs behind walls: it makes a room, and starts each program in it by bubblewrap.

    Demeanor ──(a control socket each)──► nursery ──fork──► warden ──spawn──► bwrap ──► init of a pid namespace ──► …

The first order says what kind of room it is, and is answered with the socket that listens in there. With the first
launch the room is furnished, and its disk is handed over, opened: it can be read when nobody lives any more.
A launch is answered like any other supervisor's, by one line that says how it ended (see supervisor.py).

The kernel kills every member of a pid namespace with its init, before the init itself is gone. The init falls to the
warden, as everything below it does; so when `wait` says that nothing is left, nothing is.
"""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import signal
import socket
from typing import Any

from demeanor.sandboxes.supervisor import linux as kernel
from demeanor.sandboxes.supervisor.cgroup import Leaf
from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills
from demeanor.sandboxes.supervisor.namespaces import enter_namespaces, lay_home, mount_workspace
from demeanor.sandboxes.supervisor.privileges import hold_to
from demeanor.sandboxes.supervisor.process_tree import adopt_orphans, children, cpu_of, descendants, hear_children, send
from demeanor.sandboxes.supervisor.supervisor import DEAF_TO, LENGTH, receive_fds, watch

_SHELL_SAYS_SIGNAL = 128
_SIGNALS = 64
_TICKS = os.sysconf("SC_CLK_TCK")
_ARGUMENTS, FILTER, STATUS = 50, 51, 52
"""The numbers under which bubblewrap finds what it is told, the filter, and where to say how it went. A warden has far
fewer files open: these are free.
"""


def guard(control: socket.socket, leaf: Leaf | None) -> None:
    """Make a room, and run one program after the other in it, until Demeanor lets go."""
    adopt_orphans()
    bell = hear_children()
    order, _ = receive(control, 0)
    if order is None:
        return
    try:
        door = enter_namespaces(order)
    except OSError as error:
        answer(control, b"fail %s\n" % os.fsencode(error.strerror or str(error)))
        return
    answer(control, b"ready\n", [] if door is None else [door.fileno()])
    if door is not None:
        door.close()
    room: BwrapSetup | None = None
    while True:
        launch, fds = receive(control, 2)
        if launch is None:
            return
        try:
            if room is None:
                room = BwrapSetup(order, launch, control, leaf)
            report = room.run(launch, fds, control, bell)
        except OSError as error:
            if error.errno == errno.E2BIG:
                report = b"fail start %d\n" % error.errno
            else:
                report = b"fail room %s\n" % os.fsencode(error.strerror or str(error)).replace(b"\n", b" ")
        finally:
            for fd in fds:
                os.close(fd)
        if not answer(control, report):
            return


def receive(control: socket.socket, most: int) -> tuple[dict[str, Any] | None, list[int]]:
    """An order, and the pipes that came with it; None when Demeanor has let go."""
    head, fds = receive_fds(control, LENGTH.size, max(most, 1))
    if len(head) < LENGTH.size:
        return None, fds
    left = LENGTH.unpack(head)[0]
    body = bytearray()
    while len(body) < left:
        more = control.recv(left - len(body))
        if not more:
            return None, fds
        body += more
    return marshal.loads(body), fds  # noqa: S302 - from Demeanor itself, over a socket that nobody else has


def answer(control: socket.socket, words: bytes, fds: list[int] | None = None) -> bool:
    """Say something to Demeanor; whether it is still there."""
    try:
        socket.send_fds(control, [words], fds or [])
    except OSError:
        return False
    return True


class BwrapSetup:
    """A furnished room."""

    def __init__(
        self, order: dict[str, Any], launch: dict[str, Any], control: socket.socket, leaf: Leaf | None
    ) -> None:
        layered, disk = mount_workspace({**order, "reads": launch["reads"]})
        self._reads = launch["reads"]
        self._bwrap: str = order["bwrap"]
        self._filter: bytes = order["filter"]
        self._memory: int = order["memory"]
        self._leaf = leaf
        self._turn = kernel.own_turn()
        hold_to(order["rlimits"])
        answer(control, b"furnished overlay\n" if layered else b"furnished copy\n", [disk])
        os.close(disk)

    def run(self, launch: dict[str, Any], fds: list[int], control: socket.socket, bell: int) -> bytes:
        """Run a program to its end; the report."""
        if launch["reads"] != self._reads:
            raise OSError(22, "all programs of an attempt must read the same of the host")
        lay_home(launch["home"])
        status, to_status = os.pipe()
        try:
            tree = self._start(launch, fds, to_status)
            os.close(to_status)
            to_status = -1
            watch(tree, control, bell, tree)
            began = b'"exit-code"' in _read_all(status)
        finally:
            os.close(status)
            if to_status >= 0:
                os.close(to_status)
        if not began and tree.status is not None and os.WIFEXITED(tree.status):
            return b"fail bwrap\n"
        return tree.report()

    def _start(self, launch: dict[str, Any], fds: list[int], status: int) -> BwrapTree:
        """Start bubblewrap in a session of its own. What it is told goes through memory."""
        words = in_memory("\0".join(launch["arguments"]).encode("utf-8", "surrogateescape"))
        rules = in_memory(self._filter)
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, fds[0], 1),
            (os.POSIX_SPAWN_DUP2, fds[1], 2),
            (os.POSIX_SPAWN_DUP2, words, _ARGUMENTS),
            (os.POSIX_SPAWN_DUP2, rules, FILTER),
            (os.POSIX_SPAWN_DUP2, status, STATUS),
        ]
        argv = [self._bwrap, "--args", str(_ARGUMENTS), "--", *launch["argv"]]
        heard = [*DEAF_TO, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ]
        kills = OomKills(self._leaf)
        try:
            with kernel.first_to_go(self._turn):
                pid = os.posix_spawn(
                    self._bwrap, argv, {}, file_actions=actions, setsid=True, setsigmask=[], setsigdef=heard
                )
        finally:
            os.close(words)
            os.close(rules)
        return BwrapTree(pid, self._memory, kills)


def in_memory(content: bytes) -> int:
    """A file that lies nowhere; moved out of the way of the numbers that a program is given."""
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
    """bubblewrap, the init of its pid namespace, and everything in that."""

    def __init__(self, leader: int, memory: int, kills: OomKills) -> None:
        super().__init__(leader, memory, kills)
        self._frame = {leader}
        self._doomed: set[int] = set()

    def signal(self, number: int) -> list[int]:
        """Signal all of it. KILL is for bubblewrap and its init alone: the kernel then kills the rest at once, and for
        certain. Anything else is for the rest alone.
        """
        frame = [*children(os.getpid()), *children(self.leader)]
        self._frame.update(frame)
        inside = descendants(frame)
        if number == signal.SIGKILL:
            # Nobody is told what those have used whom the kernel ends with their init: it is noted before.
            self.cpu += sum(cpu_of(pid) for pid in inside if pid not in self._doomed) / _TICKS
            self._doomed.update(inside)
            for pid in frame:
                self._kill(pid)
        else:
            send(inside, number)
        return [*frame, *inside]

    def _kill(self, pid: int) -> None:
        """Kill a process that is surely ours: its number can't have passed to another one meanwhile."""
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            try:
                if pid in (*children(os.getpid()), *children(self.leader)):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)

    def members(self) -> list[int]:
        """Whose memory counts."""
        return descendants(children(self.leader))

    def report(self) -> bytes:
        """How it ended. bubblewrap says of a program that a signal ended what shells say: 128 and the signal."""
        if self.status is not None and os.WIFEXITED(self.status):
            number = os.WEXITSTATUS(self.status) - _SHELL_SAYS_SIGNAL
            if 0 < number <= _SIGNALS:
                self.status = number
        self.leftovers -= self._frame
        return super().report()
