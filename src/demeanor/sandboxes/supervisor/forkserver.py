"""The process from which supervisors are forked: started once per run, small, and quick to fork.

It inherits the orphans of its supervisors: should an agent kill its own supervisor, the agent's processes fall to the
nursery, which kills them. When Demeanor is gone, it removes what is left of the benches, and ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import stat
import sys
import time

from demeanor.sandboxes.supervisor.bwrap_supervisor import answer, guard, receive
from demeanor.sandboxes.supervisor.cgroup import Branch
from demeanor.sandboxes.supervisor.landlock_supervisor import fence
from demeanor.sandboxes.supervisor.persistent import keep
from demeanor.sandboxes.supervisor.process_tree import adopt_orphans, children, hear_children, signal_all
from demeanor.sandboxes.supervisor.supervisor import DEAF_TO, FENCE, KEEPER, WARDEN, receive_fds, supervise

_STRANGERS_TAKE = 5.0
_KINDS = {WARDEN: guard, FENCE: fence, KEEPER: keep}


def reap(supervisors: dict[int, socket.socket], branch: Branch | None = None) -> None:
    """Take note of supervisors that have ended. Where one did not end by itself, end what fell to us from it first."""
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
            if branch is not None:
                branch.leaf(pid).remove()
            control.close()


def kill_orphans(supervisors: dict[int, socket.socket]) -> None:
    """Kill every child that is no supervisor, and all below it."""
    deadline = time.monotonic() + _STRANGERS_TAKE
    rounds_without = 0
    while rounds_without < 3 and time.monotonic() < deadline:  # a list may miss a process while others come and go
        strangers = [pid for pid in children(os.getpid()) if pid not in supervisors]
        rounds_without = 0 if strangers else rounds_without + 1
        signal_all(strangers, signal.SIGKILL)
        for pid in strangers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def serve(door: socket.socket, branch: Branch | None = None) -> None:
    """Fork a supervisor for every control socket that comes through the door, until the door is closed. Those that run
    programs behind walls or a fence get a group each, where a branch for these is given.
    """
    adopt_orphans()
    bell = hear_children()
    supervisors: dict[int, socket.socket] = {}
    ears = select.poll()
    ears.register(door, select.POLLIN)
    ears.register(bell, select.POLLIN)
    while True:
        ready = [fd for fd, _ in ears.poll()]
        if bell in ready:
            os.read(bell, 4096)
            reap(supervisors, branch)
        if door.fileno() in ready:
            kind, fds = receive_fds(door, 1, 1)
            if not fds:
                break
            control = socket.socket(fileno=fds[0])
            pid = os.fork()
            if pid == 0:
                become_supervisor(control, kind, branch)
            supervisors[pid] = control
    while supervisors:  # they hear of it too, and end
        select.select([bell], [], [], 1.0)
        reap(supervisors, branch)


def become_supervisor(control: socket.socket, kind: bytes, branch: Branch | None) -> None:
    """What a fork of the nursery does: it keeps nothing of the nursery but its own control socket."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)  # it rings the nursery's bell, which is closed next
        if control.fileno() != 3:
            os.dup2(control.fileno(), 3, inheritable=False)
        signal.set_wakeup_fd(-1)
        os.closerange(4, 4096)
        own = socket.socket(fileno=3)
        if kind not in _KINDS:
            supervise(own)
        elif branch is None:
            _KINDS[kind](own, None)
        else:
            try:
                leaf = branch.grow(os.getpid())
            except OSError as error:
                answer(own, b"fail room %s\n" % os.fsencode(error.strerror or str(error)))
                receive(own, 2)  # what it was told before it could tell
            else:
                _KINDS[kind](own, leaf)
        code = 0
    finally:
        os._exit(code)


def sweep(folder: str) -> None:
    """Remove the benches that a Demeanor which was killed could not remove."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(folder).st_mode):
            script = 'chmod -R u+rwx "$0" 2>/dev/null; exec rm -rf -- "$0"'
            os.execv("/bin/sh", ["sh", "-c", script, folder])  # noqa: S606


def main() -> None:
    """Serve on the socket that was handed over; then leave nothing behind."""
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o022)
    door, folder, *rest = sys.argv[1:]
    branch = Branch.read(rest)
    serve(socket.socket(fileno=int(door)), branch)
    if branch is not None:
        branch.tidy()
    sweep(folder)
    os._exit(0)
