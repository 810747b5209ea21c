"""Runs a program of this machine as its user would, none of whose processes outlives it.

It runs below a process that ends the whole tree when the program ends, when it is interrupted, or when Demeanor dies
(sandboxes/supervisor/run_tree.py, which is another program).
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from demeanor.core.signals import signals_deferred

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from demeanor.sandboxes.supervisor.run_tree import main
main()
"""
_PACKAGES = str(Path(__file__).parents[3])
_TERMINATE = b"T"


@contextmanager
def program_tree(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str],
    stdout: int | IO[bytes],
    clean_up_time: float = 0.0,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, with its output and errors in `stdout`; at the end of the block all its processes are gone. Those
    of an interrupted program get SIGTERM first, and `clean_up_time` seconds. Raises OSError if it can't be started.
    """
    control, theirs = socket.socketpair()
    process: subprocess.Popen[bytes] | None = None
    with control:
        try:
            with theirs, signals_deferred():  # an interrupted Popen would leave an untracked process
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _PROGRAM, _PACKAGES, str(theirs.fileno()), *argv],
                    cwd=cwd,
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=subprocess.STDOUT,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            yield process
        finally:
            if process is not None:  # a deferred signal is raised after it was started
                with signals_deferred():
                    _end(process, control, clean_up_time)
        if problem := control.recv(16):
            raise OSError(int(problem), os.strerror(int(problem)))


def _end(process: subprocess.Popen[bytes], control: socket.socket, clean_up_time: float) -> None:
    """End all processes, and wait until they have ended."""
    if clean_up_time and process.poll() is None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            control.send(_TERMINATE)
            process.wait(timeout=clean_up_time)
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_WR)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
