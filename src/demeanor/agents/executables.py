"""Executables on this machine: the paths that must be readable for one to start, and the version that it prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
"""The folder that holds the `demeanor` package, for agents that are part of it. Python lists this folder on import,
so it must be readable as a whole."""

PACKAGE_ENV = {"PYTHONPATH": PACKAGE_ROOT, "PYTHONDONTWRITEBYTECODE": "1"}
"""The variables of a program that is part of the package."""

_VERSION_TIMEOUT = 30.0
_MAX_SHEBANG = 512
_SHARED_FOLDERS = (".local", "opt", "usr", "local", "home")


def python_paths() -> tuple[str, ...]:
    """The paths that `sys.executable` needs to start: its environment and the installation that this was made from."""
    program = Path(sys.executable)
    return tuple(dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, str(program))))


def package_paths() -> tuple[str, ...]:
    """The paths that a program which is part of the package needs to start."""
    return (*python_paths(), PACKAGE_ROOT)


def executable_paths(program: str) -> tuple[str, ...]:
    """The paths that a program needs to start: itself, its installation and its interpreter; empty if it is missing.

    Every trial asks, and searching PATH is slow, so a program that was found is remembered.
    """
    if program not in _FOUND:
        found = shutil.which(program)
        if found is None:
            return ()
        _FOUND[program] = _required_paths(Path(found).absolute())
    return _FOUND[program]


_FOUND: dict[str, tuple[str, ...]] = {}


def _required_paths(program: Path) -> tuple[str, ...]:
    paths = {str(program): None, _installation_folder(program.resolve()): None}
    if interpreter := _interpreter(program):
        folders = (_installation_folder(interpreter), _installation_folder(interpreter.resolve()))
        paths |= dict.fromkeys((str(interpreter), *folders))
    return tuple(paths)


def _installation_folder(program: Path) -> str:
    """The folder that a program was installed to; the program itself if that folder holds other things too."""
    for parent in program.parents:
        if parent.name == "node_modules":
            return str(parent)
    folder = program.parent.parent
    shared = folder.name in _SHARED_FOLDERS or Path.home().is_relative_to(folder)
    return str(program if program.parent.name != "bin" or shared else folder)


def _interpreter(program: Path) -> Path | None:
    """The interpreter in the shebang line of a script."""
    try:
        with program.open("rb") as file:
            line = file.readline(_MAX_SHEBANG)
    except OSError:
        return None
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    found = shutil.which(words[0]) if words else None
    return Path(found).absolute() if found else None


@cache
def printed_version(command: tuple[str, ...]) -> str | None:
    """The first line that a command prints; None if it prints nothing, can't be started, or does not end in time.

    Cached, because some agents take seconds to print it.
    """
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), None)
