"""The supervisor of `--sandbox landlock`: programs restricted by landlock, seccomp, limits, and another user.

    Demeanor ──(control socket)──► fork server ──fork──► supervisor ──fork, restrict, exec──► agent ──► its children …

It works as the plain supervisor, but each program restricts itself before it becomes the agent. No namespace is made,
so nothing is hidden, and processes are found and killed as children of their subreaper.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH116, PTH208

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import Any, NoReturn

from demeanor.sandboxes.supervisor import landlock_abi, linux
from demeanor.sandboxes.supervisor.cgroup import Cgroup
from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills
from demeanor.sandboxes.supervisor.messages import reason, receive, reply
from demeanor.sandboxes.supervisor.privileges import set_rlimits
from demeanor.sandboxes.supervisor.process_tree import become_subreaper, sigchld_fd
from demeanor.sandboxes.supervisor.supervisor import DEFAULT_SIGNALS, find_program, watch


def serve_landlock(control: socket.socket, cgroup: Cgroup | None) -> None:
    """Run programs one after the other, each until its whole process tree has ended, until Demeanor hangs up."""
    become_subreaper()
    sigchld = sigchld_fd()
    while True:
        launch, fds = receive(control, 2)
        if launch is None:
            return
        try:
            report = _run(launch, fds, control, sigchld, cgroup)
        except OSError as error:
            report = b"fail setup %s\n" % reason(error)
        if not reply(control, report):
            return


def _run(launch: dict[str, Any], fds: list[int], control: socket.socket, sigchld: int, cgroup: Cgroup | None) -> bytes:
    """Run a program to its end; returns the report."""
    errors, errors_write = os.pipe()  # closed by exec
    try:
        existing_tasks = count_tasks(launch["uid"])
        oom_kills = OomKills(cgroup)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _exec_agent(launch, fds, errors_write, existing_tasks, parent)
        os.close(errors_write)
        errors_write = -1
        tree = MeasuredTree(pid, launch["memory"], oom_kills)
        failure = os.read(errors, 4096)
    finally:
        for fd in (errors, errors_write, *fds):
            if fd >= 0:
                os.close(fd)
    watch(tree, control, sigchld, tree)
    return failure or tree.report()


def _exec_agent(launch: dict[str, Any], fds: list[int], errors: int, existing_tasks: int, parent: int) -> NoReturn:
    """In the forked child: restrict this process, and exec the agent. A failure is written to `errors`."""
    step = b"setup"
    try:
        signal.set_wakeup_fd(-1)
        for number in DEFAULT_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        linux.raise_oom_score()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(fds[0], 1)
        os.dup2(fds[1], 2)
        ruleset = landlock_abi.create_ruleset(launch["reads"], launch["devices"], launch["writes"], launch["ports"])
        set_rlimits({**launch["rlimits"], "RLIMIT_NPROC": launch["processes"] + existing_tasks})
        step = b"enter"
        os.chdir(launch["cwd"])
        step = b"setup"
        if launch["uid"] != os.getuid():
            linux.set_user(launch["uid"])
        linux.die_with_parent(parent)
        landlock_abi.restrict_self(ruleset, launch["filter"])
        step = b"start"
        argv, env = [os.fsencode(word) for word in launch["argv"]], launch["env"]
        program = find_program(argv[0] if argv else b"", os.fsencode(env.get("PATH", "")))
        os.execve(program, argv, env)  # noqa: S606 - argv is always a list
    except OSError as error:
        os.write(errors, b"fail %s %s\n" % (step, reason(error) if step == b"setup" else b"%d" % (error.errno or 0)))
    finally:
        os._exit(1)


def count_tasks(uid: int) -> int:
    """The number of processes and threads of a user. RLIMIT_NPROC counts all of them, since there is no namespace."""
    found = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{name}").st_uid == uid:
                found += len(os.listdir(f"/proc/{name}/task"))
    return found
