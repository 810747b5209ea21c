"""A supervisor whose programs live behind a fence: landlock, a filter of system calls, limits, and another user.

    Demeanor ──(a control socket each)──► nursery ──fork──► fence ──fork, fence in, exec──► the agent ──► its children …

It is what supervisor.py is, but that each program lays the fence around itself before it becomes the agent. No
namespace is made, so nothing is hidden, and processes are ended as they are there: hunted down by their subreaper.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH116, PTH208

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import Any, NoReturn

from demeanor.sandboxes.supervisor import landlock_abi as ruleset
from demeanor.sandboxes.supervisor import linux as kernel
from demeanor.sandboxes.supervisor.bwrap_supervisor import answer, receive
from demeanor.sandboxes.supervisor.cgroup import Leaf
from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills
from demeanor.sandboxes.supervisor.privileges import hold_to
from demeanor.sandboxes.supervisor.process_tree import adopt_orphans, descendants, hear_children
from demeanor.sandboxes.supervisor.supervisor import DEAF_TO, find_program, watch


def fence(control: socket.socket, leaf: Leaf | None) -> None:
    """Run one program after the other, and end each with everything below it, until Demeanor lets go."""
    adopt_orphans()
    bell = hear_children()
    while True:
        launch, fds = receive(control, 2)
        if launch is None:
            return
        try:
            report = _run(launch, fds, control, bell, leaf)
        except OSError as error:
            report = b"fail room %s\n" % os.fsencode(error.strerror or str(error)).replace(b"\n", b" ")
        if not answer(control, report):
            return


def _run(launch: dict[str, Any], fds: list[int], control: socket.socket, bell: int, leaf: Leaf | None) -> bytes:
    """Run a program to its end; the report."""
    trouble, to_trouble = os.pipe()  # closed when the program has become the agent
    try:
        crowd = tasks_of(launch["uid"])
        kills = OomKills(leaf)
        pid = os.fork()
        if pid == 0:
            _become_agent(launch, fds, to_trouble, crowd)
        os.close(to_trouble)
        to_trouble = -1
        tree = LandlockTree(pid, launch["memory"], kills)
        said = os.read(trouble, 4096)
    finally:
        for fd in (trouble, to_trouble, *fds):
            if fd >= 0:
                os.close(fd)
    watch(tree, control, bell, tree)
    return said or tree.report()


def _become_agent(launch: dict[str, Any], fds: list[int], trouble: int, crowd: int) -> NoReturn:
    """In the fork: lay the fence around this process, and become the agent. What does not work is told."""
    step = b"room"
    try:
        signal.set_wakeup_fd(-1)
        for number in (*DEAF_TO, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        kernel.go_first()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(fds[0], 1)
        os.dup2(fds[1], 2)
        rules = ruleset.restrict(launch["reads"], launch["uses"], launch["writes"], launch["ports"])
        hold_to({**launch["rlimits"], "RLIMIT_NPROC": launch["processes"] + crowd})
        step = b"enter"
        os.chdir(launch["cwd"])
        step = b"room"
        if launch["uid"] != os.getuid():
            kernel.become(launch["uid"])
        ruleset.enter(rules, launch["filter"])
        step = b"start"
        argv, env = [os.fsencode(word) for word in launch["argv"]], launch["env"]
        program = find_program(argv[0] if argv else b"", os.fsencode(env.get("PATH", "")))
        os.execve(program, argv, env)  # noqa: S606 - there is never a shell in between
    except OSError as error:
        why = os.fsencode(error.strerror or str(error)) if step == b"room" else b"%d" % (error.errno or 0)
        os.write(trouble, b"fail %s %s\n" % (step, why.replace(b"\n", b" ")))
    finally:
        os._exit(1)


def tasks_of(uid: int) -> int:
    """How many processes and threads a user has: the kernel counts them all together where there is no namespace."""
    found = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{name}").st_uid == uid:
                found += len(os.listdir(f"/proc/{name}/task"))
    return found


class LandlockTree(MeasuredTree):
    """The agent and everything below it."""

    def members(self) -> list[int]:
        """Whose memory counts."""
        return descendants([os.getpid()])
