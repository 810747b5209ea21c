"""The fork server: the process from which supervisors are forked. One per run, small, and quick to fork.

It is the subreaper of its supervisors: when an agent kills its own supervisor, the agent's processes become children of
the fork server, which kills them. When Demeanor is gone, it removes the run's folder, and exits.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable

from demeanor.sandboxes.supervisor.cgroup import Cgroup, CgroupParent, pid_namespace
from demeanor.sandboxes.supervisor.messages import reason, receive, receive_fds, reply
from demeanor.sandboxes.supervisor.process_tree import become_subreaper, children, sigchld_fd, signal_all
from demeanor.sandboxes.supervisor.run_folder import remove_run_folder
from demeanor.sandboxes.supervisor.supervisor import (
    BUBBLEWRAP,
    BUBBLEWRAP_OF_ROOT,
    IGNORED_SIGNALS,
    LANDLOCK,
    PERSISTENT,
    PLAIN,
    supervise,
)

_ORPHANS_TIMEOUT = 5.0


def serving(kind: bytes) -> Callable[[socket.socket, Cgroup | None], None]:
    """The function of a kind of supervisor. It is imported when it is first needed: the fewer modules the fork server
    has, the sooner it is ready, and the quicker it is forked.
    """
    if kind in (BUBBLEWRAP, BUBBLEWRAP_OF_ROOT):
        from demeanor.sandboxes.supervisor.bwrap_supervisor import serve_bwrap

        return serve_bwrap
    if kind == LANDLOCK:
        from demeanor.sandboxes.supervisor.landlock_supervisor import namespaces_work, serve_landlock

        namespaces_work()  # its supervisors inherit the answer
        return serve_landlock
    if kind == PERSISTENT:
        from demeanor.sandboxes.supervisor.persistent import serve_persistent

        return serve_persistent
    return lambda control, _: supervise(control)


def fork(kind: bytes) -> int:
    """Fork a supervisor of that kind, into its own pid namespace where it has one; raises OSError if that fails."""
    if kind not in (BUBBLEWRAP, BUBBLEWRAP_OF_ROOT):
        return os.fork()
    from demeanor.sandboxes.supervisor.pid_namespace import fork_into_pid_namespace

    return fork_into_pid_namespace(own_users=kind == BUBBLEWRAP)


def refusing(problem: OSError) -> Callable[[socket.socket, Cgroup | None], None]:
    """The function of a supervisor that could not be given its namespaces: it says why."""

    def refuse(control: socket.socket, cgroup: Cgroup | None) -> None:
        reply(control, b"fail %s\n" % reason(problem))
        receive(control, 0)  # the message that was sent before the failure was seen

    return refuse


def reap(supervisors: dict[int, socket.socket], parent: CgroupParent | None = None) -> None:
    """Reap supervisors that have ended. If one did not exit with 0, kill the orphans that it left to us first."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            os.kill(pid, signal.SIGKILL)
        elif pid in supervisors:
            control = supervisors.pop(pid)
            if status != 0:
                kill_orphans(supervisors)
            if parent is not None:
                parent.cgroup(pid).remove()
            control.close()


def has_children() -> bool:
    """Whether a child is left that has not ended. Every descendant is below a child, so without one nothing is left."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
        return True
    return False


def kill_orphans(supervisors: dict[int, socket.socket]) -> None:
    """Kill every child that is not a supervisor, with its descendants."""
    deadline = time.monotonic() + _ORPHANS_TIMEOUT
    empty_rounds = 0
    while empty_rounds < 3 and time.monotonic() < deadline:  # the list can miss a process while others start and end
        orphans = [pid for pid in children(os.getpid()) if pid not in supervisors]
        empty_rounds = 0 if orphans else empty_rounds + 1
        signal_all(orphans, signal.SIGKILL)
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def serve(requests: socket.socket, parent: CgroupParent | None = None) -> None:
    """Fork a supervisor for every control socket that is received, until `requests` is closed. Supervisors other than
    the plain one get their own control group where `parent` is given.
    """
    become_subreaper()
    sigchld = sigchld_fd()
    if parent is not None:
        pid_namespace()  # its supervisors inherit the answer
    supervisors: dict[int, socket.socket] = {}
    poller = select.poll()
    poller.register(requests, select.POLLIN)
    poller.register(sigchld, select.POLLIN)
    while True:
        ready = [fd for fd, _ in poller.poll()]
        if sigchld in ready:
            os.read(sigchld, 4096)
            reap(supervisors, parent)
        if requests.fileno() in ready:
            kind, fds = receive_fds(requests, 1, 1)
            if not fds:
                break
            control = socket.socket(fileno=fds[0])
            work = serving(kind)
            try:
                pid = fork(kind)
            except OSError as error:
                work = refusing(error)
                pid = os.fork()
            if pid == 0:
                become_supervisor(control, work, parent if kind != PLAIN else None)
            supervisors[pid] = control
    while supervisors:  # their control sockets are closed too, and they exit
        if select.select([sigchld], [], [], 1.0)[0]:
            os.read(sigchld, 4096)
        reap(supervisors, parent)
    if has_children():
        kill_orphans(supervisors)


def become_supervisor(
    control: socket.socket, work: Callable[[socket.socket, Cgroup | None], None], parent: CgroupParent | None
) -> None:
    """In the forked child: close everything but the control socket, and do the work of a supervisor."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)  # the pipe of the fork server, which is closed next
        if control.fileno() != 3:
            os.dup2(control.fileno(), 3, inheritable=False)
        os.closerange(4, 4096)
        own = socket.socket(fileno=3)
        if parent is None:
            work(own, None)
        else:
            try:
                cgroup = parent.create()
            except OSError as error:
                reply(own, b"fail setup %s\n" % reason(error))
                receive(own, 2)  # the message that was sent before the failure was seen
            else:
                work(own, cgroup)
        code = 0
    finally:
        os._exit(code)


def main() -> None:
    """Serve on the inherited socket until Demeanor closes it; then leave nothing behind."""
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o022)
    fd, folder, *rest = sys.argv[1:]
    parent = CgroupParent.from_args(rest)
    serve(socket.socket(fileno=int(fd)), parent)
    if parent is not None:
        parent.remove_stale()
    if os.path.isdir(folder) and not os.path.islink(folder):  # noqa: PTH112, PTH114 - without pathlib
        remove_run_folder(folder)
    os._exit(0)
