"""`python -m demeanor` and `python -m pytest` as processes of their own, without the time for interpreter and imports.

The suite starts the command line more than a thousand times, and most of the CPU time of a short command goes into
starting Python and importing modules. Here one program per pytest process imports them once and forks a process for
each command, with the command's arguments, environment, working folder and standard streams. In it `demeanor.__main__`
runs as it does after `python -m demeanor`. Other such programs have also imported pytest and its plugins, or Dask.
Tests of start-up start fresh processes (`Project.command`, `Project.fresh_pytest`).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import pkgutil
import runpy
import select
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
from typing import Any, NoReturn

from tests.helpers import processes

REPOSITORY = Path(__file__).parents[2]
PACKAGES = (
    *("agents", "cli", "commands", "config", "core", "define", "gateway", "plugins"),
    *("judge", "observe", "render", "runner", "sandboxes", "statistics", "store", "vcs"),
)
NOT_PRELOADED = (
    *("demeanor.plugins.cluster", "demeanor.commands.serve"),
    *("demeanor.commands.agents.conformance.eval_", "demeanor.plugins.harbor.inside"),
)
"""What needs packages that take long to import, or Harbor, and evals, which the product imports in its own way."""
IMPORTED_LATE = ("genai_prices.data_snapshot", "genai_prices.types")
"""What the product imports only when a command needs it, and what takes a while."""
CHANGES_PYTHON = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_")
SIZE = 1 << 16
PRINT_STACKS = signal.SIGUSR1


def fits(env: Mapping[str, str]) -> bool:
    """Whether Python itself would start in the same way with this environment."""
    return not any(name.startswith(CHANGES_PYTHON) for name in env)


class Started:
    """A process that was forked, as far as a `subprocess.Popen` is needed for it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._replies = connection.makefile("r")
        self._code: int | None = None
        self.pid = int(self._replies.readline())

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        if self._code is None and select.select([self._connection], [], [], 0)[0]:
            self.wait()
        return self._code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended."""
        if self._code is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise AssertionError(f"process {self.pid} did not end within {timeout:g} s")
            self._code = int(self._replies.readline())
            self.close()
        return self._code

    def close(self) -> None:
        """Don't wait for it any more."""
        self._replies.close()
        self._connection.close()


def start(
    module: str,
    words: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    out: int,
    err: int,
    server: str = "demeanor",
    namespaces: int | None = None,
    preload: str = "",
    session: bool = False,
) -> Started:
    """Start `python -m MODULE WORDS...` with its output going to two file descriptors.

    `server` names what is imported before: `demeanor`, `pytest` or `cluster`. `namespaces` is a process whose user and
    network namespaces it enters, `preload` is Python code that it runs first, and `session` lets it lead a session.
    """
    asked = {
        "module": module,
        "words": words,
        "cwd": str(cwd),
        "env": dict(env),
        "namespaces": namespaces,
        "preload": preload,
        "session": session,
    }
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(_server(os.getpid(), server))
    socket.send_fds(connection, [b"x"], [0, out, err])
    connection.sendall(json.dumps(asked).encode())
    connection.shutdown(socket.SHUT_WR)
    return Started(connection)


def program() -> str:
    """A program `demeanor` for shell scripts: it does the same for the command of the script that starts it."""
    return f"#!{sys.executable} -IS\n{_PROGRAM.format(address=_server(os.getpid(), 'demeanor'))}"


_PROGRAM = """\
import json, os, socket, sys

asked = {{"module": "demeanor", "words": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}}
connection = socket.socket(socket.AF_UNIX)
connection.connect({address!r})
socket.send_fds(connection, [b"x"], [0, 1, 2])
connection.sendall(json.dumps(asked).encode())
connection.shutdown(socket.SHUT_WR)
pid, code = connection.makefile().read().split()
sys.exit(int(code))
"""


def run(
    module: str, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float, server: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and capture its output, as `subprocess.run` does. One that does not end is described."""
    (out, their_out), (err, their_err) = os.pipe(), os.pipe()
    process = start(module, words, cwd=cwd, env=env, out=their_out, err=their_err, server=server or module)
    os.close(their_out)
    os.close(their_err)
    texts = {out: b"", err: b""}
    try:
        if not _read_all(texts, time.monotonic() + timeout):
            process.close()
            problem = f"`{module} {' '.join(words)}` did not end within {timeout:g} s"
            raise AssertionError(f"{problem}\n{_end_and_describe(process.pid, texts)}\n{texts[err].decode()}")
    finally:
        for pipe in texts:
            os.close(pipe)
    output, errors = (text.decode().replace("\r\n", "\n").replace("\r", "\n") for text in texts.values())
    return subprocess.CompletedProcess(list(words), process.wait(), output, errors)


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
def _server(parent: int, name: str) -> str:
    """The address of a program that forks; it ends with the process `parent`, which is this one."""
    address = f"\0demeanor-tests-{parent}-{name}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        command = [sys.executable, "-m", __name__, str(listener.fileno()), name]
        env = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        program = subprocess.Popen(
            command, cwd=REPOSITORY, env=env, pass_fds=[listener.fileno()], stdin=subprocess.PIPE
        )
    assert program.stdin is not None
    own = program.stdin

    def end() -> None:
        if os.getpid() == parent:
            own.close()
            program.wait()

    atexit.register(end)
    return address


def next_command(listener: socket.socket) -> dict[str, Any]:
    """Fork a process for each command; returns in that process only, with what was asked for."""
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            os._exit(0)
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                listener.close()
                return _forked(connection)


def _reap(_number: int, _frame: object) -> None:
    """Remove processes that have replied. Ignoring the signal would also do that, but lose their CPU time."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _forked(connection: socket.socket) -> dict[str, Any]:
    """Read what is asked for, and fork the process of the command; reply with its pid and its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, fds, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("r") as file:
        asked: dict[str, Any] = json.load(file)
    pid = os.fork()
    if pid == 0:
        connection.close()
        for target, fd in enumerate(fds):
            os.dup2(fd, target)
            os.close(fd)
        return asked
    for fd in fds:
        os.close(fd)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):  # it took too long
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def main() -> None:
    """Import everything, then be one command after another, each in a process of its own."""
    server = sys.argv[2]
    if server == "pytest":
        import_pytest()
    else:
        import_demeanor()
    if server == "cluster":
        import_cluster()
    if threading.active_count() > 1 or tempfile.tempdir is not None:
        raise RuntimeError("an import started a thread, or looked for a temporary folder")
    gc.freeze()
    gc.unfreeze = lambda: None  # a run unfreezes everything; pytest then searches all objects for cycles, five times
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores both
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    asked = next_command(socket.socket(fileno=int(sys.argv[1])))
    set_by_python = {name: os.environ[name] for name in ("LC_CTYPE",) if name in os.environ}
    os.environ.clear()
    os.environ.update(set_by_python | asked["env"])
    os.chdir(asked["cwd"])
    faulthandler.register(PRINT_STACKS)
    sys.path[0] = asked["cwd"]
    sys.argv[1:] = asked["words"]
    if asked.get("session"):
        os.setsid()
    if asked.get("namespaces") is not None:
        _enter(asked["namespaces"])
    if server == "cluster":
        import_module("dask.config").refresh()  # it reads the environment
    exec(asked.get("preload", ""), {})  # noqa: S102 - code of a test
    try:
        runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ending:
        if not isinstance(ending.code, int):
            raise
        _end(ending.code)


def _enter(pid: int) -> None:
    """Enter the user and network namespaces of a process, as `nsenter --user --preserve-credentials --net` does."""
    libc = ctypes.CDLL(None, use_errno=True)
    files = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("user", "net")]
    for file in files:
        if libc.setns(file, 0) != 0:
            raise OSError(ctypes.get_errno(), f"the namespaces of {pid} can't be entered")
        os.close(file)


def _end(code: int) -> NoReturn:
    """End the process as Python does, but without freeing each object, which takes longer than a short command."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def import_demeanor() -> None:
    """Import the modules of the product."""
    for package in PACKAGES:
        root = import_module(f"demeanor.{package}")
        for module in pkgutil.walk_packages(root.__path__, f"demeanor.{package}."):
            if not module.name.startswith(NOT_PRELOADED) and not module.name.endswith("__main__"):
                import_module(module.name)
    for name in IMPORTED_LATE:
        import_module(name)


def import_cluster() -> None:
    """Import Dask and what makes attempts on its workers."""
    for name in ("distributed.cli.dask_scheduler", "distributed.cli.dask_worker"):
        import_module(name)
    for module in pkgutil.iter_modules(import_module("demeanor.plugins.cluster").__path__):
        import_module(f"demeanor.plugins.cluster.{module.name}")


def import_pytest() -> None:
    """Import pytest with its plugins, and the product in the way that pytest imports plugins: with rewritten asserts.

    Otherwise pytest would warn that it is too late to rewrite them.
    """
    import pytest

    class Product:
        def pytest_cmdline_main(self) -> int:
            import_demeanor()
            import_module("demeanor.pytest_plugin.items")
            return 0

    options = ("-p", "no:cacheprovider", "--capture=no", "--rootdir=/", "--config-file=/dev/null")
    pytest.main(list(options), plugins=[Product()])


if __name__ == "__main__":
    main()
