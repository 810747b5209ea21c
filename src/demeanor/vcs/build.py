"""Run the build command of a project.

It is the project's own code, so it runs on this machine as the user would run it, outside of any sandbox, which `log`
announces first. None of its processes outlives it.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from demeanor.config.tables import BuildRules
from demeanor.core.errors import UsageError
from demeanor.core.text import excerpt
from demeanor.vcs.signals import signals_deferred


class BuildFailed(UsageError):
    """The build command failed."""


def run_build(
    rules: BuildRules, root: Path, what: str, log_file: Path, environ: Mapping[str, str], log: Callable[[str], None]
) -> None:
    """Run the build command in `root`, with its output in `log_file`; `what` is built. Raises BuildFailed."""
    shown = " ".join(rules.command)
    log(f"building {what} with `{shown}`, on this machine, outside of any sandbox")
    process: subprocess.Popen[bytes] | None = None
    with log_file.open("wb") as out:
        try:
            with signals_deferred():  # an interrupted Popen would leave an untracked process
                process = subprocess.Popen(
                    rules.command,
                    cwd=root,
                    env=dict(environ),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
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
                _kill_group(process)
    if code != 0:
        raise BuildFailed(f"build = {shown!r}: exit code {code} for {what}\n{_end(log_file)}")


def _end(log_file: Path) -> str:
    """The last lines of the output."""
    return excerpt(log_file.read_bytes()[-20_000:].decode("utf-8", "replace"), lines=20)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the build and all processes of its group."""
    with signals_deferred():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
