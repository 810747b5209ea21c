"""PID 1 of a container: opens the listener, sets up the workspace, and runs one program after the other.

    Demeanor ──(docker or podman)──► container: init ──spawn──► agent ──► its children …
        ▲                                        │
        └───────────(a unix socket)──────────────┘   the listener, the disk, launches, reports

What an engine does not offer, or not to every user, is done from inside: the socket that listens in the container's
network and the disk are opened here and sent to Demeanor over a mounted unix socket. That needs no privileges on the
host. As the init of the container's pid namespace it can't be killed from inside, and the kernel kills all other
processes with it. When Demeanor dies the socket closes, and it exits.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH102

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import Any

from demeanor.sandboxes.supervisor import linux
from demeanor.sandboxes.supervisor.cgroup import container_cgroup, has_pids_limit
from demeanor.sandboxes.supervisor.home_files import write_home_files
from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills
from demeanor.sandboxes.supervisor.messages import reason, receive, reply
from demeanor.sandboxes.supervisor.namespaces import HOME, MERGED, copy_workspace, listen_on
from demeanor.sandboxes.supervisor.privileges import install_seccomp, set_rlimits
from demeanor.sandboxes.supervisor.process_tree import descendants, sigchld_fd
from demeanor.sandboxes.supervisor.supervisor import IGNORED_SIGNALS, start, watch

DISK = "/sandbox"
"""The disk: workspace and HOME. /tmp is another one, of which nothing is collected."""

RUN = "/run/demeanor"
"""The folder for Demeanor's own files in a container."""

SOCKET, START, CODE = f"{RUN}/socket", f"{RUN}/start", f"{RUN}/code"
"""The socket to Demeanor; the starting state of the workspace; and this program."""

_ALL_PROCESSES = -1


def main() -> None:
    """Serve Demeanor until it hangs up. The kernel kills all other processes when this one exits."""
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o022)
    oom_score = linux.open_oom_score()
    linux.disable_ptrace()
    control = socket.socket(socket.AF_UNIX)
    control.connect(SOCKET)
    spec, _ = receive(control, 0)
    if spec is None:
        return
    sigchld = sigchld_fd()
    try:
        fds = _set_up(spec)
    except OSError as error:
        reply(control, b"fail %s\n" % reason(error))
        return
    if not reply(control, b"ready %s\n" % _enforced_limits(spec), fds):
        return
    for fd in fds:
        os.close(fd)
    while True:
        launch, fds = receive(control, 2)
        if launch is None or not reply(control, _run(launch, spec["memory"], oom_score, fds, control, sigchld)):
            return


def _set_up(spec: dict[str, Any]) -> list[int]:
    """Set up the workspace and restrict this process; returns the disk, and the listener where one is wanted."""
    os.mkdir(f"{DISK}/{MERGED}")
    os.mkdir(f"{DISK}/{HOME}")
    copy_workspace(START, f"{DISK}/{MERGED}")
    set_rlimits({"RLIMIT_CORE": 0})
    fds = [os.open(DISK, os.O_RDONLY | os.O_DIRECTORY)]
    if spec["port"] is not None:
        fds.append(listen_on(spec["port"]).detach())
    install_seccomp(spec["filter"])
    return fds


def _enforced_limits(spec: dict[str, Any]) -> bytes:
    """The limits that the kernel enforces for the engine; an engine may be unable to. Processes have an rlimit, too."""
    cgroup = container_cgroup()
    enforced = [b"memory"] if cgroup is not None and cgroup.has_memory_limit(spec["memory_and_disk"]) else []
    if has_pids_limit(spec["processes"]):
        return b" ".join((*enforced, b"processes"))
    set_rlimits({"RLIMIT_NPROC": spec["processes"]})
    return b" ".join(enforced)


def _run(
    launch: dict[str, Any], memory: int, oom_score: int, fds: list[int], control: socket.socket, sigchld: int
) -> bytes:
    """Run a program to its end; returns the report."""
    step = b"setup"
    try:
        write_home_files(launch["home"], f"{DISK}/{HOME}")
        step = b"enter"
        os.chdir(f"{DISK}/{MERGED}")
        step = b"start"
        oom_kills = OomKills(container_cgroup())
        with linux.raised_oom_score(oom_score):
            pid = start(launch, *fds)
        tree = ContainerTree(pid, memory, oom_kills)
    except OSError as error:
        return b"fail %s %s\n" % (step, reason(error) if step == b"setup" else b"%d" % (error.errno or 0))
    finally:
        os.chdir("/")
        for fd in fds:
            os.close(fd)
    watch(tree, control, sigchld, tree)
    return tree.report()


class ContainerTree(MeasuredTree):
    """All processes in the container except the init."""

    def signal(self, number: int) -> list[int]:
        """Send a signal to all of it at once with kill(-1), which no process that forks meanwhile can escape."""
        if os.getpid() == 1:
            pids = descendants([1])
            with contextlib.suppress(ProcessLookupError):
                os.kill(_ALL_PROCESSES, number)
            return pids
        return super().signal(number)  # the engine runs its own init above this process
