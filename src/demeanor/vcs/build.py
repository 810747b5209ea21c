"""Run the build command of a project.

It is the project's own code, so it runs on this machine as the user would run it, outside of any sandbox, which `log`
announces first. None of its processes outlives it: it runs below a process that ends the whole tree when the build
ends, when it is interrupted, or when Demeanor dies (sandboxes/supervisor/run_tree.py, which is another program).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from demeanor.config.tables import BuildRules
from demeanor.core.errors import UsageError
from demeanor.core.text import excerpt, shortened_to_end
from demeanor.vcs.signals import signals_deferred

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from demeanor.sandboxes.supervisor.run_tree import main
main()
"""
_PACKAGES = str(Path(__file__).parents[2])


class BuildFailed(UsageError):
    """The build command failed."""


def run_build(
    rules: BuildRules, root: Path, what: str, log_file: Path, environ: Mapping[str, str], log: Callable[[str], None]
) -> None:
    """Run the build command in `root`, with its output in `log_file`; `what` is built. Raises BuildFailed."""
    shown = " ".join(rules.command)
    log(f"building {what} with `{shown}`, on this machine, outside of any sandbox")
    control, theirs = socket.socketpair()
    process: subprocess.Popen[bytes] | None = None
    with control, log_file.open("wb") as out:
        try:
            with theirs, signals_deferred():  # an interrupted Popen would leave an untracked process
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _PROGRAM, _PACKAGES, str(theirs.fileno()), *rules.command],
                    cwd=root,
                    env=dict(environ),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            code = process.wait(timeout=rules.timeout)
        except OSError as error:
            raise BuildFailed(f"build = {shown!r}: can't start it: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise BuildFailed(
                f"build = {shown!r}: {what} was not built within {rules.timeout:g} s\n{_end(log_file)}".rstrip()
            ) from None
        finally:
            if process is not None:
                _end_tree(process, control)
        problem = control.recv(16)
    if problem:
        raise BuildFailed(f"build = {shown!r}: can't start it: {os.strerror(int(problem))}")
    if code != 0:
        raise BuildFailed(f"build = {shown!r}: exit code {code} for {what}\n{_end(log_file)}")


def _end(log_file: Path) -> str:
    """The last lines of the output."""
    return excerpt(shortened_to_end(log_file.read_bytes().decode("utf-8", "replace"), 20_000), lines=20)


def _end_tree(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    """Hang up, so that all processes of the build are killed, and wait until they are."""
    with signals_deferred():
        control.shutdown(socket.SHUT_WR)
        process.wait()
