"""The process from which the processes for checks are forked, before Demeanor starts threads and services."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import shutil
import signal
import socket
import stat
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.checks import FunctionCheck
from demeanor.core.values.eval import Eval
from demeanor.judge.answers import Rehearsals
from demeanor.judge.check_worker import work

REQUEST = struct.Struct(">cq")
SPAWN, KILL = b"s", b"k"
_PR_SET_PDEATHSIG = 1
_FIXTURE_SECONDS = 10.0
"""The longest time to tear down fixtures at the end."""


def serve(control: socket.socket, evals: dict[str, Eval], rehearsals: Rehearsals) -> None:
    """The server: fork and kill workers until Demeanor closes the connection or dies."""
    gc.freeze()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _forget_files(control.fileno())
    pids: set[int] = set()
    grace = _FIXTURE_SECONDS if any(map(takes_fixtures, evals.values())) else 0.0
    try:
        while True:
            data, fds, _, _ = socket.recv_fds(control, REQUEST.size, 1)
            if len(data) != REQUEST.size:
                return
            what, pid = REQUEST.unpack(data)
            if what == SPAWN:
                pid = _fork_worker(control, fds[0], evals, rehearsals)
                pids.add(pid)
            else:
                _end(pid, has_folders=grace > 0)
                pids.discard(pid)
            control.sendall(REQUEST.pack(what, pid))
    finally:
        end = time.monotonic() + grace
        for pid in pids:
            _wait(pid, end)
            _end(pid, has_folders=grace > 0)


def takes_fixtures(eval: Eval) -> bool:  # noqa: A002
    """Whether a check of an eval takes fixtures of pytest."""
    return any(isinstance(check, FunctionCheck) and check.fixtures for check in eval.checks)


def _wait(pid: int, end: float) -> None:
    """Give a worker whose connection is closed time to tear down its fixtures."""
    while time.monotonic() < end and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.005)


def _fork_worker(control: socket.socket, fd: int, evals: dict[str, Eval], rehearsals: Rehearsals) -> int:
    server = os.getpid()
    pid = os.fork()
    if pid == 0:
        control.close()
        _die_with(server)
        os.setpgid(0, 0)
        end_with(lambda: work(socket.socket(fileno=fd), evals, rehearsals))
    with contextlib.suppress(OSError):  # the worker may have done it already, and may even have ended
        os.setpgid(pid, pid)
    os.close(fd)
    return pid


def _die_with(server: int) -> None:
    """In a worker: be killed when the server dies, also if it is dead already. Elsewhere than on Linux, a worker ends
    when it next reads from its connection."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != server:
            os._exit(1)


def _end(pid: int, *, has_folders: bool) -> None:
    """Kill a worker, and remove the temporary folders of its fixtures, unless it has done so itself."""
    prefix = temp_prefix(pid)
    _kill(pid)
    if has_folders:
        for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            shutil.rmtree(folder, ignore_errors=True)


def _kill(pid: int) -> None:
    """Kill a worker with everything in its process group, which a check may have left."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def end_with(main: Any) -> None:
    """Run `main` as the whole rest of this process, without the clean-up of the process that it was forked from."""
    code = 1
    try:
        main()
        code = 0
    except OSError:
        code = 0  # the connection is gone: Demeanor has ended
    finally:
        os._exit(code)


def _forget_files(kept: int) -> None:
    """Replace inherited sockets, pipes and files opened for writing by /dev/null: when Demeanor closes them, their
    other ends must see it, and their locks must be released."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in [int(path.name) for path in Path("/dev/fd").iterdir()]:
        with contextlib.suppress(OSError):
            mode, flags = os.fstat(fd).st_mode, fcntl.fcntl(fd, fcntl.F_GETFL)
            shared = stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode) or flags & os.O_ACCMODE != os.O_RDONLY
            if fd > 2 and fd not in (kept, null) and shared:
                os.dup2(null, fd)
