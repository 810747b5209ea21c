"""`python -m demeanor` as a process of its own, without the time for the interpreter and the imports.

The suite starts the command line more than a thousand times, and most of the CPU time of a short command goes into
starting Python and importing modules. Here one program per pytest process imports them once and forks a process for
each command, with the command's arguments, environment, working folder and standard streams. In it `demeanor.__main__`
runs as it does after `python -m demeanor`. Tests of start-up, signals and kills start fresh processes
(`Project.command`).
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.helpers import processes

REPOSITORY = Path(__file__).parents[2]
PACKAGES = (
    *("agents", "cli", "commands", "config", "core", "define", "dockerfile", "gateway", "harbor", "harbor_format"),
    *("judge", "observe", "render", "runner", "sandboxes", "statistics", "store", "vcs"),
)
NOT_PRELOADED = (
    *("demeanor.runner.executors", "demeanor.commands.serve", "demeanor.commands.watch", "demeanor.commands.cluster"),
    "demeanor.commands.agents.conformance.eval_",
)
"""What needs packages that take long to import, and evals, which the product imports in its own way."""
CHANGES_PYTHON = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_")
SIZE = 1 << 16
PRINT_STACKS = signal.SIGUSR1


def fits(env: Mapping[str, str]) -> bool:
    """Whether Python itself would start in the same way with this environment."""
    return not any(name.startswith(CHANGES_PYTHON) for name in env)


def run(words: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and capture its output, as `subprocess.run` does. One that does not end is described."""
    own, theirs = socket.socketpair()
    (out, their_out), (err, their_err) = os.pipe(), os.pipe()
    with own, own.makefile("r") as replies:
        socket.send_fds(_server(os.getpid()), [b"x"], [theirs.fileno(), 0, their_out, their_err])
        theirs.close()
        os.close(their_out)
        os.close(their_err)
        own.sendall(json.dumps({"words": words, "cwd": str(cwd), "env": dict(env)}).encode())
        own.shutdown(socket.SHUT_WR)
        pid = int(replies.readline())
        texts = {out: b"", err: b""}
        try:
            if not _read_all(texts, time.monotonic() + timeout):
                problem = f"`demeanor {' '.join(words)}` did not end within {timeout:g} s"
                raise AssertionError(f"{problem}\n{_end_and_describe(pid, texts)}\n{texts[err].decode()}")
        finally:
            for pipe in texts:
                os.close(pipe)
        output, errors = (text.decode().replace("\r\n", "\n").replace("\r", "\n") for text in texts.values())
        return subprocess.CompletedProcess(list(words), int(replies.readline()), output, errors)


def _read_all(texts: dict[int, bytes], deadline: float) -> bool:
    """Add what is written to each pipe to its text, until all writers have closed them; False if they have not."""
    with selectors.DefaultSelector() as selector:
        for pipe in texts:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(deadline - time.monotonic())
            if not ready and time.monotonic() >= deadline:
                return False
            for key, _ in ready:
                read = os.read(key.fd, SIZE)
                texts[key.fd] += read
                if not read:
                    selector.unregister(key.fd)
    return True


def _end_and_describe(command: int, texts: dict[int, bytes]) -> str:
    """What the processes are that still belong to a command, or still hold its output open, and where they are; then
    kill them. Those that were forked print the stacks of their threads first."""
    pipes = {f"pipe:[{os.fstat(pipe).st_ino}]" for pipe in texts}
    pids = [pid for pid in processes.others() if pipes & processes.open_files(pid)]
    pids = sorted({command, *pids, *processes.descendants(command)})
    lines = [
        f"{pid} (parent {processes.parent(pid)}, {processes.state(pid)}, in {processes.read(pid, 'wchan')}): "
        f"{processes.command_line(pid)!r}"
        for pid in pids
    ]
    with contextlib.suppress(ProcessLookupError):
        for pid in pids:
            if __name__ in processes.command_line(pid):
                os.kill(pid, PRINT_STACKS)
    _read_all(texts, time.monotonic() + 5)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return "\n".join(lines)


@cache
def _server(parent: int) -> socket.socket:
    """The connection to the program that forks; it ends with the process `parent`, which is this one."""
    own, theirs = socket.socketpair()
    command = [sys.executable, "-m", __name__, str(theirs.fileno())]
    env = {"PATH": os.environ["PATH"]}
    program = subprocess.Popen(command, cwd=REPOSITORY, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()

    def end() -> None:
        if os.getpid() == parent:
            own.close()
            program.wait()

    atexit.register(end)
    return own


def next_command(control: socket.socket) -> dict[str, Any]:
    """Fork a process for each command; returns in that process only, with what was asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes processes that have replied
    while True:
        _, fds, _, _ = socket.recv_fds(control, 1, 4)
        if not fds:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            return _forked(fds)
        for fd in fds:
            os.close(fd)


def _forked(fds: Sequence[int]) -> dict[str, Any]:
    """Read what is asked for, and fork the process of the command; reply with its pid and its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=fds[0]) as connection:
        with connection.makefile("r") as file:
            asked: dict[str, Any] = json.load(file)
        pid = os.fork()
        if pid == 0:
            for target, fd in enumerate(fds[1:]):
                os.dup2(fd, target)
                os.close(fd)
            return asked
        for fd in fds[1:]:
            os.close(fd)
        connection.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(BrokenPipeError):  # it took too long
            connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)


def main() -> None:
    """Import the product, then be one command after another, each in a process of its own."""
    for package in PACKAGES:
        root = import_module(f"demeanor.{package}")
        for module in pkgutil.walk_packages(root.__path__, f"demeanor.{package}."):
            if not module.name.startswith(NOT_PRELOADED) and not module.name.endswith("__main__"):
                import_module(module.name)
    if threading.active_count() > 1 or tempfile.tempdir is not None:
        raise RuntimeError("importing demeanor started a thread, or looked for a temporary folder")
    gc.freeze()
    asked = next_command(socket.socket(fileno=int(sys.argv[1])))
    set_by_python = {name: os.environ[name] for name in ("LC_CTYPE",) if name in os.environ}
    os.environ.clear()
    os.environ.update(set_by_python | asked["env"])
    os.chdir(asked["cwd"])
    faulthandler.register(PRINT_STACKS)
    sys.path[0] = asked["cwd"]
    sys.argv[1:] = asked["words"]
    runpy.run_module("demeanor", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
