"""Harbor itself: where it is on this machine, and whether it is one that works."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from demeanor.agents.packages import Package, agents_folders, find_program, installed_version
from demeanor.config import Config
from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.rules import harbor_rules

HARBOR = Package(
    manager="pip",
    name="harbor",
    version="0.24.0",
    program="bin/harbor",
    needs="python >= 3.12",
    install="demeanor harbor install {version}",
    locks=Path(__file__).parent / "locks",
)
"""Harbor, in the version that was tested."""

_INSTALL = "demeanor harbor install"
_MIN_VERSION = (0, 24)


def find_harbor(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command that starts Harbor; empty if it is not installed.

    Looks for the one named in the configuration, beside our own Python, installed by Demeanor, and on PATH, in this
    order.
    """
    if named := harbor_rules(config).command(config.root):
        return named
    beside = Path(sys.executable).parent / "harbor"
    if beside.is_file():
        return (str(beside),)
    program = find_program("harbor", HARBOR, agents_folders(environ), None)
    return (str(program),) if program else ()


def harbor_version(command: tuple[str, ...]) -> str:
    """The version of an installed Harbor; empty if it does not report one."""
    return installed_version(command, HARBOR, "--version") or ""


def harbor_problem(config: Config, environ: Mapping[str, str]) -> str | None:
    """Why tasks can't run here, with the remedy; None if they can."""
    command = find_harbor(config, environ)
    if not command:
        remedy = f"{_INSTALL}, or set its path: [harbor] program = …"
        return f"harbor, which runs whole tasks, is not installed\n  → {remedy}"
    version = harbor_version(command)
    if not version:
        return f"{' '.join(command)} does not report its version\n  → {_INSTALL}"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < _MIN_VERSION:
        return f"Harbor {version} is too old; {HARBOR.version} is tested\n  → {_INSTALL}"
    return None


def require_harbor(config: Config, environ: Mapping[str, str]) -> None:
    """Raise UsageError when tasks can't run here."""
    if problem := harbor_problem(config, environ):
        raise UsageError(problem)
