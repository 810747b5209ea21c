"""Runs one program on this machine as its user would, and ends with it every process that it leaves behind.

    Demeanor ──(control socket)──► this process, a subreaper ──spawn──► program ──► its children …

The program inherits standard output and error. When it ends, or when Demeanor closes its end of the socket, even by
being killed, the whole process tree is killed before this process ends. Its exit status is that of the program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys

from demeanor.sandboxes.supervisor.messages import reply
from demeanor.sandboxes.supervisor.process_tree import ProcessTree, become_subreaper, sigchld_fd
from demeanor.sandboxes.supervisor.supervisor import DEFAULT_SIGNALS, IGNORED_SIGNALS, watch


def main() -> None:
    """Run the program that the arguments name, after the number of the socket."""
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    become_subreaper()
    sigchld = sigchld_fd()
    argv = sys.argv[2:]
    try:
        pid = os.posix_spawnp(argv[0], argv, os.environ, setsid=True, setsigmask=[], setsigdef=DEFAULT_SIGNALS)
    except OSError as error:
        reply(control, b"%d" % (error.errno or 0))
        os._exit(1)
    tree = ProcessTree(pid)
    watch(tree, control, sigchld)
    status = tree.status or 0
    if os.WIFSIGNALED(status):
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))
