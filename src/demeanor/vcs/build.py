"""Run the build command of a project.

It is the project's own code, so it runs on this machine as the user would run it, outside of any sandbox, which `log`
announces first. None of its processes outlives it (core/trees/program_tree.py).
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from demeanor.config import BuildRules
from demeanor.core.text.wording import excerpt, shortened_to_end
from demeanor.core.trees.program_tree import program_tree
from demeanor.core.values.errors import UsageError


class BuildFailed(UsageError):
    """The build command failed."""


def run_build(
    rules: BuildRules, root: Path, what: str, log_file: Path, environ: Mapping[str, str], log: Callable[[str], None]
) -> None:
    """Run the build command in `root`, with its output in `log_file`; `what` is built. Raises BuildFailed."""
    shown = shlex.join(rules.command)
    log(f"building {what} with `{shown}`, on this machine, outside of any sandbox")
    with log_file.open("wb") as out:
        try:
            with program_tree(rules.command, cwd=root, env=environ, stdout=out) as process:
                code = process.wait(timeout=rules.timeout)
        except OSError as error:
            raise _not_started(rules.command, error.strerror or str(error)) from None
        except subprocess.TimeoutExpired:
            raise BuildFailed(
                f"build = {shown!r}: {what} was not built within {rules.timeout:g} s\n{_end(log_file)}".rstrip()
            ) from None
    if code != 0:
        raise BuildFailed(f"build = {shown!r}: exit code {code} for {what}\n{_end(log_file)}")


def _not_started(command: Sequence[str], why: str) -> BuildFailed:
    remedy = '\n  → it is one program with its arguments; to run several: ["sh", "-c", "… && …"]'
    several = remedy if " " in command[0] else ""
    return BuildFailed(f"build = {shlex.join(command)!r}: can't start it: {why}{several}")


def _end(log_file: Path) -> str:
    """The last lines of the output."""
    return excerpt(shortened_to_end(log_file.read_bytes().decode("utf-8", "replace"), 20_000), lines=20)
