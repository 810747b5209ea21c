"""The supervisor of `--sandbox landlock`: programs restricted by landlock, seccomp, limits, and another user.

    Demeanor ──(control socket)──► fork server ──fork──► supervisor ──clone──► init ──fork, restrict, exec──► agent …

It works as the plain supervisor, but each program restricts itself before it becomes the agent. Where the kernel lets
us create namespaces, the program has its own pid namespace, so that it dies with the supervisor, with all its
processes, and its own /proc, so that it sees the numbers of its processes that the kernel uses. Elsewhere processes are
found and killed as children of their subreaper.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH116, PTH208

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import socket
from typing import Any, NoReturn

from demeanor.sandboxes.supervisor import landlock_abi, linux
from demeanor.sandboxes.supervisor.cgroup import Cgroup
from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills
from demeanor.sandboxes.supervisor.messages import reason, receive, reply
from demeanor.sandboxes.supervisor.namespace_tree import NamespaceTree
from demeanor.sandboxes.supervisor.pid_namespace import NamespaceInit
from demeanor.sandboxes.supervisor.privileges import set_rlimits
from demeanor.sandboxes.supervisor.process_tree import become_subreaper, sigchld_fd
from demeanor.sandboxes.supervisor.supervisor import DEFAULT_SIGNALS, find_program, watch

NAMESPACE, NO_NAMESPACE = b"namespace pid\n", b"namespace none\n"
"""What a supervisor sends before a program starts: whether it runs in its own pid namespace."""


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
        namespace = namespaces_work()
        reply(control, NAMESPACE if namespace else NO_NAMESPACE)
        tree = _start(launch, fds, errors_write, OomKills(cgroup), namespace)
        os.close(errors_write)
        errors_write = -1
        failure = os.read(errors, 4096)
    finally:
        for fd in (errors, errors_write, *fds):
            if fd >= 0:
                os.close(fd)
    watch(tree, control, sigchld, tree)
    return failure or tree.report()


def _start(launch: dict[str, Any], fds: list[int], errors: int, oom_kills: OomKills, namespace: bool) -> MeasuredTree:
    """Start a program, in its own pid namespace where that works."""
    if not namespace:
        tasks, parent = count_tasks(launch["uid"]), os.getpid()
        pid = os.fork()
        if pid == 0:
            _exec_agent(launch, fds, errors, tasks, parent)
        return MeasuredTree(pid, launch["memory"], oom_kills)
    own_users = _user_namespace()
    tasks = 1 if own_users else count_tasks(launch["uid"])  # the init, since tasks are counted per user namespace
    ids = os.getuid(), os.getgid()

    def spawn() -> int:
        if own_users:
            linux.map_users(*ids)
        pid = os.fork()
        if pid == 0:
            _exec_agent(launch, fds, errors, tasks, None)
        for fd in (errors, *fds):
            os.close(fd)
        return pid

    return NamespaceTree(NamespaceInit(spawn, own_users), launch["memory"], oom_kills)


@functools.cache
def namespaces_work() -> bool:
    """Whether programs can have their own pid namespace and /proc; tried once, in a child process."""
    own_users = _user_namespace()
    ids = os.getuid(), os.getgid()

    def spawn() -> int:
        if own_users:
            linux.map_users(*ids)
        pid = os.fork()
        if pid == 0:
            try:
                _mount_proc()
                os._exit(0)
            finally:
                os._exit(1)
        return pid

    try:
        init = NamespaceInit(spawn, own_users)
    except OSError:
        return False
    try:
        select.select([init.reports], [], [])
        return init.status() == 0
    finally:
        init.kill(0)
        os.waitpid(init.pid, 0)
        init.close()


def _user_namespace() -> int:
    """The flag for a new user namespace, without which an ordinary user may not create any other; 0 for root."""
    return 0 if os.getuid() == 0 else linux.NEWUSER


def _mount_proc() -> None:
    """Mount the /proc of this process's pid namespace, for this process and its descendants."""
    linux.unshare(linux.NEWNS)
    linux.make_mounts_private()
    linux.mount_proc()


def _exec_agent(
    launch: dict[str, Any], fds: list[int], errors: int, existing_tasks: int, parent: int | None
) -> NoReturn:
    """In the forked child: restrict this process, and exec the agent. A failure is written to `errors`. `parent` is the
    process to die with; None in a pid namespace, which dies as a whole."""
    step = b"setup"
    try:
        signal.set_wakeup_fd(-1)
        for number in DEFAULT_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        if parent is None:
            _mount_proc()
        linux.raise_oom_score()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(fds[0], 1)
        os.dup2(fds[1], 2)
        ruleset = landlock_abi.create_ruleset(
            launch["reads"], launch["lists"], launch["devices"], launch["writes"], launch["ports"]
        )
        set_rlimits({**launch["rlimits"], "RLIMIT_NPROC": launch["processes"] + existing_tasks})
        step = b"enter"
        os.chdir(launch["cwd"])
        step = b"setup"
        if launch["uid"] != os.getuid():
            linux.set_user(launch["uid"])
        if parent is not None:
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
    """The number of processes and threads of a user. RLIMIT_NPROC counts all of them in a user namespace."""
    tasks = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{name}").st_uid == uid:
                tasks += len(os.listdir(f"/proc/{name}/task"))
    return tasks
