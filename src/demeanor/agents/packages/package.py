"""The package of a coding agent, and where its installed versions are.

Demeanor installs each version of an agent into its own folder, `<agents>/<name>/<version>/`. Nothing else on the
machine changes, and several versions can be installed at the same time.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from demeanor.agents.environments.executables import executable_paths, printed_version


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    """An npm or PyPI package that contains an agent."""

    manager: Literal["npm", "pip"]
    """The package manager."""

    name: str
    """The package name; `{platform}` is replaced, for example by `linux-x64`."""

    version: str
    """The version that was tested, installed by default."""

    program: str
    """The program, relative to the folder of the installation; `{platform}` as in the name."""

    also: tuple[str, ...] = ()
    """Packages that it needs but does not depend on, each with its exact version; `{platform}` as in the name."""

    helpers: tuple[str, ...] = ()
    """Programs of the installation that the agent itself starts, relative to its folder; `*` matches any name, and
    `{platform}` is as in the name. They are made executable, because npm unpacks some without that permission."""

    first_run: tuple[str, ...] = ()
    """Arguments for a first start at the end of the installation, for a program that unpacks itself into its cache.

    The cache (XDG_CACHE_HOME) is then the folder `cache` of the installation.
    """

    needs: str = ""
    """What else must be on the machine, such as `node >= 22`; shown to the user."""

    install: str = "demeanor agents install {name}@{version}"
    """The command that installs it."""

    locks: Path = Path(__file__).parent / "locks"
    """The folder of its lock files (agents/packages/lock_file.py)."""

    @property
    def full_name(self) -> str:
        """The package name for this machine."""
        return self.for_platform(this_platform())[0]

    @property
    def extra_packages(self) -> tuple[str, ...]:
        """The packages in `also`, for this machine."""
        return self.for_platform(this_platform())[1:]

    def for_platform(self, platform: str) -> tuple[str, ...]:
        """The package name and the packages in `also`, for a platform."""
        return tuple(text.replace("{platform}", platform) for text in (self.name, *self.also))

    def program_in(self, folder: Path) -> Path:
        """The program of the installation in `folder`."""
        return folder / _for_this_machine(self.program)

    def helpers_in(self, folder: Path) -> tuple[Path, ...]:
        """The helpers of the installation in `folder`."""
        return tuple(path for pattern in self.helpers for path in sorted(folder.glob(_for_this_machine(pattern))))

    def broken_helper(self, folder: Path) -> str | None:
        """What is wrong with the helpers of the installation in `folder`; None if nothing is."""
        for pattern in map(_for_this_machine, self.helpers):
            matches = sorted(folder.glob(pattern))
            if not matches:
                return f"{folder / pattern} is missing"
            for path in matches:
                if not os.access(path, os.X_OK):
                    return f"{path} is not executable"
        return None

    def installation_of(self, program: Path) -> Path | None:
        """The folder of the installation that a program is part of; None if it was installed in another way."""
        return next((folder for folder in program.parents if self.program_in(folder) == program), None)


_WITH_FOLDER = 'PATH="$0:$PATH" exec "$@"'
"""Starts a command with another folder on PATH."""


def this_platform() -> str:
    """The name of this machine's platform, as npm packages have it: for example `linux-x64`."""
    this = os.uname()
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(this.machine.lower(), this.machine)
    return f"{this.sysname.lower()}-{machine}"


def _for_this_machine(text: str) -> str:
    return text.replace("{platform}", this_platform())


def installed(name: str, package: Package, folders: Sequence[Path]) -> dict[str, Path]:
    """The programs of all installed versions of an agent: version → program. Earlier folders take precedence."""
    programs: dict[str, Path] = {}
    for folder in reversed(folders):
        try:
            versions = [path for path in (folder / name).iterdir() if not path.name.startswith(".")]
        except OSError:
            continue
        programs |= {path.name: package.program_in(path) for path in versions if package.program_in(path).exists()}
    return dict(sorted(programs.items(), key=lambda item: _in_order(item[0])))


def _in_order(version: str) -> list[tuple[int, str]]:
    """A key that sorts 0.10.0 behind 0.9.0."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"[.+-]", version)]


def find_program(name: str, package: Package, folders: Sequence[Path], version: str | None) -> Path | None:
    """The program of an agent: `version` if it is given, else the tested one, the newest installed, or one on PATH."""
    programs = installed(name, package, folders)
    if version is not None:
        return programs.get(version)
    if package.version in programs:
        return programs[package.version]
    if programs:
        return next(reversed(programs.values()))
    on_path = shutil.which(Path(package.program).name)
    return Path(on_path) if on_path else None


def why_found(name: str, package: Package, folders: Sequence[Path]) -> str:
    """Why `find_program` takes the program that it takes, if no version is given."""
    versions = [*installed(name, package, folders)]
    if not versions:
        return f"found on PATH; the tested version is {package.version}"
    if package.version not in versions:
        return f"the newest that is installed; the tested version is {package.version}"
    others = ", ".join(other for other in versions if other != package.version)
    return f"the tested version; also installed: {others}" if others else "the tested version"


def with_own_node(words: tuple[str, ...]) -> tuple[str, ...]:
    """Start a program with the Node that was installed beside it, if there is one."""
    beside = Path(words[-1]).with_name("node") if words else Path()
    return (str(beside), *words) if len(words) == 1 and beside.is_file() else words


def with_helpers(argv: tuple[str, ...], package: Package, program: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the folder of the package's helpers on PATH, if Demeanor installed the program."""
    folder = package.installation_of(Path(program[-1])) if program else None
    helpers = package.helpers_in(folder) if folder else ()
    return ("/bin/sh", "-c", _WITH_FOLDER, str(helpers[0].parent), *argv) if helpers else argv


@cache
def program_paths(words: tuple[str, ...], folders: tuple[Path, ...]) -> tuple[str, ...]:
    """The paths that a program needs to start: its installation, its interpreter's, and Node's."""
    paths: dict[str, None] = {}
    for word in (*words, "node"):
        path = Path(word)
        folder = next((folder for folder in folders if path.is_relative_to(folder)), None)
        if folder is not None:
            paths[str(Path(folder, *path.relative_to(folder).parts[:2]))] = None
        elif path.is_absolute() and path.exists() and not os.access(path, os.X_OK):
            paths[str(path.parent)] = None  # a script that is an argument of its interpreter, and the files beside it
        paths |= dict.fromkeys(executable_paths(word))
    return tuple(paths)


@cache
def installed_version(words: tuple[str, ...], package: Package, option: str) -> str | None:
    """The version of an installed program, from the metadata of its package, else as the program prints it."""
    program = Path(words[-1]).resolve()
    for parent in program.parents:
        if version := _metadata_version(parent, package):
            return version
    return printed_version((*words, option)) if option else None


def _metadata_version(folder: Path, package: Package) -> str | None:
    if package.manager == "pip":
        stem = package.name.replace("-", "_")
        infos = folder.glob(f"lib/python*/site-packages/{stem}-*.dist-info")
        return next((path.name.removesuffix(".dist-info").rpartition("-")[2] for path in infos), None)
    try:
        data = json.loads((folder / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if isinstance(data, dict) and data.get("name") == package.full_name and isinstance(data.get("version"), str):
        return str(data["version"])
    return None


def find_python(package: Package, environ: Mapping[str, str]) -> str | None:
    """A Python that can install the package: the one that runs Demeanor, one on PATH, or one of pyenv or uv."""
    least, below = (_bound(sign, package.needs) for sign in (">=", "<"))
    if least <= sys.version_info[:2] and (not below or sys.version_info[:2] < below):
        return sys.executable
    newest = below[1] - 1 if below else 20
    for minor in range(newest, least[1] - 1, -1):
        for python in _pythons(f"python3.{minor}", environ):
            if printed_version((python, "--version")):  # a shim of pyenv may be inactive
                return python
    return None


def _bound(sign: str, needs: str) -> tuple[int, ...]:
    """The version after `>=` or `<` in `python >= 3.10, < 3.13`; empty if there is none."""
    version = re.search(rf"{sign} *(\d+)\.(\d+)", needs) if "python" in needs else None
    return (int(version[1]), int(version[2])) if version else ()


def _pythons(program: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Where a Python of this name may be: on PATH, then in the folders of pyenv and uv, the newest first."""
    if on_path := shutil.which(program, path=environ.get("PATH")):
        yield on_path
    home = Path(environ.get("HOME") or Path.home())
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local/share")
    for folder in (Path(environ.get("PYENV_ROOT") or home / ".pyenv", "versions"), data / "uv/python"):
        yield from map(str, sorted(folder.glob(f"*/bin/{program}"), reverse=True))
