"""The plain supervisor: runs one program at a time and kills every process that the program leaves behind.

    Demeanor ──(one control socket each)──► fork server ──fork──► supervisor ──spawn──► agent ──► its children …

The control socket carries launches and commands one way and reports the other. When Demeanor dies, even by `kill -9`,
the socket closes and the supervisor kills everything. The other supervisors use `start` and `watch` from here.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH116, PTH118

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import stat
from typing import TYPE_CHECKING, Any, Protocol

from demeanor.sandboxes.supervisor.messages import receive, receive_bytes, reply
from demeanor.sandboxes.supervisor.process_tree import ProcessTree, become_subreaper, sigchld_fd

if TYPE_CHECKING:
    from demeanor.sandboxes.supervisor.host_names import HostNames

PLAIN, BUBBLEWRAP, BUBBLEWRAP_OF_ROOT, LANDLOCK, PERSISTENT = b"s", b"b", b"r", b"l", b"p"
"""The kinds of supervisors that the fork server can fork. One of bubblewrap has its own pid namespace, and its own user
namespace too unless it is that of root.
"""

TERM, KILL = b"T", b"K"
"""The commands that Demeanor may send while a program runs: terminate, or kill, all its processes."""

IGNORED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that are meant for the agent. Its supervisor ignores them."""

DEFAULT_SIGNALS = (*IGNORED_SIGNALS, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals whose default action is restored in the agent."""


def find_program(name: bytes, path: bytes) -> bytes:
    """Find a program on PATH as a shell does; raises OSError when it does not exist or is not executable."""
    if b"/" in name:
        return name
    error: type[OSError] = FileNotFoundError
    for folder in path.split(b":"):
        candidate = os.path.join(folder or b".", name)
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.stat(candidate).st_mode):
                if os.access(candidate, os.X_OK):
                    return candidate
                error = PermissionError
    raise error(2 if error is FileNotFoundError else 13, "can't be run", name)


def start(launch: dict[str, Any], out: int, err: int) -> int:
    """Start a program in its own session, with only /dev/null and two pipes open; returns its pid."""
    argv = [os.fsencode(word) for word in launch["argv"]] or [b""]
    env = {os.fsencode(name): os.fsencode(value) for name, value in launch["env"].items()}
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, err, 2),
    ]
    program = find_program(argv[0], env.get(b"PATH", b""))
    return os.posix_spawn(
        program, argv, env, file_actions=actions, setsid=True, setsigmask=[], setsigdef=DEFAULT_SIGNALS
    )


def supervise(control: socket.socket) -> None:
    """Run programs one after the other, each until its whole process tree has ended, until Demeanor hangs up."""
    become_subreaper()
    sigchld = sigchld_fd()
    while True:
        launch, fds = receive(control, 2)
        if launch is None or not reply(control, _run(launch, fds, control, sigchld)):
            return


def _run(launch: dict[str, Any], fds: list[int], control: socket.socket, sigchld: int) -> bytes:
    """Run a program to its end; returns the report."""
    step = b"enter"
    try:
        os.chdir(launch["cwd"])
        step = b"start"
        tree = ProcessTree(start(launch, *fds))
    except OSError as error:
        return b"fail %s %d\n" % (step, error.errno or 0)
    finally:
        os.chdir("/")
        for fd in fds:
            os.close(fd)
    watch(tree, control, sigchld)
    return tree.report()


class Watcher(Protocol):
    """Checks a running program at intervals."""

    def check(self) -> float | None:
        """Seconds until the next check; None when the program must be killed."""
        ...


def watch(
    tree: ProcessTree,
    control: socket.socket,
    sigchld: int,
    watcher: Watcher | None = None,
    hosts: HostNames | None = None,
) -> None:
    """Wait until a program and all its descendants have ended. Whatever goes wrong, they have ended afterwards."""
    try:
        _wait(tree, control, sigchld, watcher, hosts)
    finally:
        tree.kill()


def _wait(
    tree: ProcessTree, control: socket.socket, sigchld: int, watcher: Watcher | None, hosts: HostNames | None
) -> None:
    """Wait until a program has ended or must be killed."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(sigchld, select.POLLIN)
    if tree.wakeup is not None:
        poller.register(tree.wakeup, select.POLLIN)
    if hosts is not None:
        poller.register(hosts.fileno(), select.POLLIN)
    terminating = False
    while True:
        pause = watcher.check() if watcher else 0.0
        if pause is None:
            return
        ready = [fd for fd, _ in poller.poll(pause * 1000 if watcher else None)]
        if hosts is not None and hosts.fileno() in ready:
            hosts.answer()
        if sigchld in ready:
            os.read(sigchld, 4096)
        if not tree.reap():
            return
        if control.fileno() in ready:
            commands = receive_bytes(control, 64)
            if not commands or KILL in commands:
                return
            terminating = True
            tree.signal(signal.SIGTERM)
        if tree.status is not None and not terminating:
            return
