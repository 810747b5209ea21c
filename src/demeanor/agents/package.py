"""Where a coding agent comes from, and where it is found once it is installed.

Agents that Demeanor installs lie in folders of their own, `<agents>/<name>/<version>/`: nothing of the machine is
changed, and several versions live side by side.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from demeanor.agents.readable_paths import installation
from demeanor.agents.version import told_version

_PATIENCE = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    """A package of npm or PyPI that holds an agent."""

    manager: Literal["npm", "pip"]
    """Who installs it."""

    name: str
    """Its name there; `{platform}` stands for such as `linux-x64`."""

    version: str
    """The version that was tried, and is installed where none is named."""

    program: str
    """The program inside the folder it is installed to; `{platform}` as in the name."""

    also: tuple[str, ...] = ()
    """Other packages that it can't do without and does not bring along, each with its exact version.

    `{platform}` as in the name.
    """

    scripts: bool = False
    """Whether it is of no use before its own install scripts have run."""

    needs: str = ""
    """What else must be on the machine, such as `node >= 22`; for people."""

    @property
    def full_name(self) -> str:
        """The name for this machine."""
        return _for_this_machine(self.name)

    @property
    def others(self) -> tuple[str, ...]:
        """The other packages for this machine."""
        return tuple(map(_for_this_machine, self.also))

    def program_in(self, folder: Path) -> Path:
        """The program of an installation."""
        return folder / _for_this_machine(self.program)


def _for_this_machine(text: str) -> str:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    return text.replace("{platform}", f"{platform.system().lower()}-{machine}")


def agents_folder(environ: Mapping[str, str]) -> Path:
    """Where agents are installed unless another folder is named."""
    if named := environ.get("DEMEANOR_AGENTS"):
        return Path(named)
    data = environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local/share") / "demeanor/agents"


def installed(name: str, package: Package, folder: Path) -> dict[str, Path]:
    """The programs of all installed versions of an agent, by version."""
    try:
        versions = sorted(path for path in (folder / name).iterdir() if not path.name.startswith("."))
    except OSError:
        return {}
    return {path.name: package.program_in(path) for path in versions if package.program_in(path).exists()}


def find(name: str, package: Package, folder: Path, version: str | None) -> Path | None:
    """The program of an agent: the version asked for, the one that was tried, any installed one, or the one on PATH."""
    there = installed(name, package, folder)
    if version is not None:
        return there.get(version)
    if package.version in there:
        return there[package.version]
    if there:
        return next(reversed(there.values()))
    on_path = shutil.which(Path(package.program).name)
    return Path(on_path) if on_path else None


@cache
def reads(words: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """What must be readable for a program to start: its own installation, its interpreter's, and Node's."""
    found: dict[str, None] = {}
    for word in (*words, "node"):
        path = Path(word)
        if path.is_relative_to(folder):
            found[str(Path(folder, *path.relative_to(folder).parts[:2]))] = None
        elif path.is_absolute() and path.exists() and not os.access(path, os.X_OK):
            found[str(path.parent)] = None  # a script that is handed to its interpreter, and what lies beside it
        found |= dict.fromkeys(installation(word))
    return tuple(found)


@cache
def version_of(words: tuple[str, ...], package: Package, option: str) -> str | None:
    """The version of an installed program: told by its package where that is at hand, else by the program itself."""
    program = Path(words[-1]).resolve()
    for parent in program.parents:
        if version := _told_by(parent, package):
            return version
    return told_version((*words, option)) if option else None


def _told_by(folder: Path, package: Package) -> str | None:
    if package.manager == "pip":
        stem = package.name.replace("-", "_")
        places = folder.glob(f"lib/python*/site-packages/{stem}-*.dist-info")
        return next((place.name.removesuffix(".dist-info").rpartition("-")[2] for place in places), None)
    try:
        data = json.loads((folder / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if isinstance(data, dict) and data.get("name") == package.full_name and isinstance(data.get("version"), str):
        return str(data["version"])
    return None


def find_python(package: Package, environ: Mapping[str, str]) -> str | None:
    """A Python that a package can be installed with: the one that runs Demeanor, or one on PATH that is new enough."""
    wanted = [int(number) for number in re.findall(r"\d+", package.needs)] if "python" in package.needs else []
    if list(sys.version_info[:2]) >= wanted:
        return sys.executable
    for minor in range(20, wanted[1] - 1, -1):
        found = shutil.which(f"python3.{minor}", path=environ.get("PATH"))
        if found and told_version((found, "--version")):  # what a version manager lays on PATH may be switched off
            return found
    return None
