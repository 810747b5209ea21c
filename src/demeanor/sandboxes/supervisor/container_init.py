"""The first program in a container: it makes the door, lays out the room, and runs one program after the other.

    Demeanor ──(engine)──► container: steward ──spawn──► the agent ──► its children …
        ▲                                │
        └────(a unix socket of its own)──┘   the listening socket, the room's disk, launches, reports

What an engine can't be asked for, or not by everybody, is done from within: the socket that listens in the container's
network and the disk, opened, are handed out over a socket that was mounted. That needs no right on the host. It is the
init of the container's pid namespace: nobody in there can end it, and with it the kernel ends everybody. When
Demeanor is gone the socket closes, and it ends.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH102

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import Any

from demeanor.sandboxes.supervisor import linux as kernel
from demeanor.sandboxes.supervisor.bwrap_supervisor import answer, receive
from demeanor.sandboxes.supervisor.cgroup import around_us, counted_at_most
from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills
from demeanor.sandboxes.supervisor.namespaces import HOME, MERGED, copy_start, lay_home, listen_at
from demeanor.sandboxes.supervisor.privileges import filter_calls, hold_to
from demeanor.sandboxes.supervisor.process_tree import descendants, hear_children
from demeanor.sandboxes.supervisor.supervisor import DEAF_TO, start, watch

ROOM = "/room"
"""The disk: the workspace and HOME. The temp folder is another one, which nobody looks at afterwards."""

OWN = "/run/demeanor"
"""What is Demeanor's in a container."""

SOCKET, START, CODE = f"{OWN}/socket", f"{OWN}/start", f"{OWN}/code"
"""The way to Demeanor; the workspace's starting state; and this program."""

_EVERYBODY = -1


def main() -> None:
    """Serve Demeanor until it lets go; then end, and everything with it."""
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o022)
    turn = kernel.own_turn()
    kernel.keep_to_oneself()
    control = socket.socket(socket.AF_UNIX)
    control.connect(SOCKET)
    order, _ = receive(control, 0)
    if order is None:
        return
    bell = hear_children()
    try:
        fds = _lay_out(order)
    except OSError as error:
        answer(control, b"fail %s\n" % os.fsencode(error.strerror or str(error)))
        return
    if not answer(control, b"ready %s\n" % _limits(order), fds):
        return
    for fd in fds:
        os.close(fd)
    while True:
        launch, fds = receive(control, 2)
        if launch is None or not answer(control, _run(launch, order["memory"], turn, fds, control, bell)):
            return


def _lay_out(order: dict[str, Any]) -> list[int]:
    """Make the room ready, and give up what no program in it needs; its disk, and the door where one is wanted."""
    os.mkdir(f"{ROOM}/{MERGED}")
    os.mkdir(f"{ROOM}/{HOME}")
    copy_start(START, f"{ROOM}/{MERGED}")
    hold_to({"RLIMIT_CORE": 0})
    fds = [os.open(ROOM, os.O_RDONLY | os.O_DIRECTORY)]
    if order["port"] is not None:
        fds.append(listen_at(order["port"]).detach())
    filter_calls(order["filter"])
    return fds


def _limits(order: dict[str, Any]) -> bytes:
    """Which limits the engine has the kernel hold; an engine may not be able to. Processes can be counted otherwise."""
    leaf = around_us()
    held = [b"memory"] if leaf is not None and leaf.holds(order["most"]) else []
    if counted_at_most(order["processes"]):
        return b" ".join((*held, b"processes"))
    hold_to({"RLIMIT_NPROC": order["processes"]})
    return b" ".join(held)


def _run(launch: dict[str, Any], memory: int, turn: int, fds: list[int], control: socket.socket, bell: int) -> bytes:
    """Run a program to its end; the report."""
    step = b"room"
    try:
        lay_home(launch["home"], ROOM)
        step = b"enter"
        os.chdir(f"{ROOM}/{MERGED}")
        step = b"start"
        argv = [os.fsencode(word) for word in launch["argv"]]
        env = {os.fsencode(name): os.fsencode(value) for name, value in launch["env"].items()}
        kills = OomKills(around_us())
        with kernel.first_to_go(turn):
            pid = start(argv or [b""], env, *fds)
        tree = ContainerTree(pid, memory, kills)
    except OSError as error:
        why = os.fsencode(error.strerror or str(error)) if step == b"room" else b"%d" % (error.errno or 0)
        return b"fail %s %s\n" % (step, why.replace(b"\n", b" "))
    finally:
        os.chdir("/")
        for fd in fds:
            os.close(fd)
    watch(tree, control, bell, tree)
    return tree.report()


class ContainerTree(MeasuredTree):
    """Everybody in the container but the steward."""

    def signal(self, number: int) -> list[int]:
        """Signal all of it, at once; nobody is forked meanwhile who would not get it too."""
        me = os.getpid()
        found = descendants([me])
        if me == 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(_EVERYBODY, number)
            return found
        return super().signal(number)  # some engine runs an init of its own above us

    def members(self) -> list[int]:
        """Whose memory counts."""
        return descendants([os.getpid()])
