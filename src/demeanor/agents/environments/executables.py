"""Executables on this machine: how they are started, the paths that must be readable for that, and their versions.

A program may be a link into an environment, a script of another interpreter, or a shim: a small script of a version
manager (pyenv, asdf, mise) that starts the program of the version that the current folder asks for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from demeanor.agents.environments.python_environment import (
    environment_of,
    environment_paths,
    eval_folders,
    installation_paths,
    is_installation,
    is_python,
    is_shared,
    is_wide,
    source_folders,
    source_paths,
)
from demeanor.core.text.wording import one_line
from demeanor.core.values.process import Launch

PACKAGE_ROOT = str(Path(__file__).resolve().parents[3])
"""The folder that holds the `demeanor` package, for agents that are part of it. Python lists this folder on import,
so it must be readable as a whole."""

PACKAGE_ENV = {"PYTHONPATH": PACKAGE_ROOT, "PYTHONDONTWRITEBYTECODE": "1"}
"""The variables of a program that is part of the package."""

_ANSWER_TIMEOUT = 30.0
_MAX_SCRIPT = 4096
_NODE, _NODE_MODULES = "node", "node_modules"
_MOST_LINKS = 40
_MOST_INTERPRETERS = 4
_SHIM = re.compile(r'^exec "?([^"\s]*\b(?:pyenv|asdf))"? exec ', re.MULTILINE)
_LINKED_SHIM = "mise"
_SHIM_VARIABLE = re.compile(r'^export (PYENV_ROOT)="(.*)"$', re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Executable:
    """A program on this machine."""

    path: str
    """The path to start it by: not a shim, nor a link to a Python, which finds its modules by its own path."""

    reads: tuple[str, ...]
    """The paths that it needs to start: itself, its installation, its environment and its interpreter."""

    lists: tuple[str, ...] = ()
    """Folders that it searches for modules, of which not everything is in `reads`."""

    instead: Mapping[str, str] = field(default_factory=dict)
    """Folders of PATH with shims and links → the folder of the program that is behind them."""

    python: str | None = None
    """The Python that runs it; None if it is no Python program."""


def python_paths() -> tuple[str, ...]:
    """The paths that `sys.executable` needs to start: its environment and the installation that this was made from."""
    program = Path(sys.executable)
    return tuple(dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, str(program))))


def package_paths() -> tuple[str, ...]:
    """The paths that a program which is part of the package needs to start."""
    return (*python_paths(), PACKAGE_ROOT)


def find_executable(program: str) -> Executable | None:
    """A program by its path, or by its name on PATH; None if it is missing.

    Every trial asks, and searching PATH is slow, so a program that was found is remembered.
    """
    key = (program, os.environ.get("PATH", ""))
    if key not in _EXECUTABLES:
        try:
            _EXECUTABLES[key] = _find(program)
        except LookupError:
            return None
    return _EXECUTABLES[key]


_EXECUTABLES: dict[tuple[str, str], Executable] = {}


def why_missing(program: str) -> str | None:
    """Why a program can't be started; None if it can."""
    if find_executable(program):
        return None
    try:
        _find(program)
    except LookupError as error:
        return str(error.args[0])
    return None


def executable_paths(program: str) -> tuple[str, ...]:
    """The paths that a program needs to start; empty if it is missing."""
    executable = find_executable(program)
    return executable.reads if executable else ()


def started_by_path(words: tuple[str, ...]) -> tuple[str, ...]:
    """A command with its program's path on this machine, because a sandbox may find another one on PATH."""
    executable = find_executable(words[0]) if words else None
    return (executable.path, *words[1:]) if executable else words


def with_executables(launch: Launch, programs: Iterable[str]) -> Launch:
    """The launch with what these programs need to start; those that are missing need nothing."""
    executables = [executable for program in programs if (executable := find_executable(program))]
    reads = (path for executable in executables for path in executable.reads)
    lists = (path for executable in executables for path in executable.lists)
    return replace(
        launch,
        reads=tuple(dict.fromkeys((*launch.reads, *reads))),
        lists=tuple(dict.fromkeys((*launch.lists, *lists))),
        path=_search_path(executables),
    )


def _search_path(executables: Iterable[Executable]) -> str:
    """PATH with the folders of programs before those of their shims and links; empty if there are none of these."""
    instead: dict[str, list[str]] = {}
    for executable in executables:
        for folder, behind in executable.instead.items():
            instead.setdefault(folder, []).append(behind)
    if not instead:
        return ""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(dict.fromkeys(path for folder in folders for path in (*instead.get(folder, ()), folder)))


def _find(program: str, depth: int = 1) -> Executable:
    """Find a program; raises LookupError with the reason if it can't be started."""
    location = shutil.which(program)
    if location is None:
        raise LookupError(_why_not_here(program))
    named = Path(location).absolute()
    links = _from_start(_links(_behind_shim(named)))
    start = links[0]
    reads = dict.fromkeys(path for link in links for path in (str(link), *_installation(link)))
    reads |= dict.fromkeys(_node_paths(links))
    lists: dict[str, None] = {}
    instead: dict[str, str] = {}
    python = None
    if is_python(start):
        python = str(start)
        for source in source_folders(start):
            paths = source_paths(source)
            reads |= dict.fromkeys(paths)
            lists |= {} if paths in {(), (str(source),)} else {str(source): None}
    for name in _interpreters(links) if depth < _MOST_INTERPRETERS else ():
        interpreter = _find(name, depth + 1)
        reads |= dict.fromkeys(interpreter.reads)
        lists |= dict.fromkeys(interpreter.lists)
        instead |= interpreter.instead
        python = python or interpreter.python
    behind = links[-1] if named.name == _NODE else start
    if os.sep not in program and behind.parent != named.parent:
        instead[str(named.parent)] = str(behind.parent)
    return Executable(path=str(start), reads=tuple(reads), lists=tuple(lists), instead=instead, python=python)


def _why_not_here(program: str) -> str:
    """Why a program can't be started; it is a path, or a name on PATH."""
    if os.sep not in program:
        return f"{program!r} is not on PATH"
    if not Path(program).exists():
        return f"{program} does not exist"
    return f"{program} is not executable (chmod +x)" if Path(program).is_file() else f"{program} is not a file"


def _behind_shim(path: Path) -> Path:
    """The program that a shim starts, as its version manager tells; another program itself."""
    text, target = _beginning(path), path.resolve()
    if match := _SHIM.search(text):
        manager = match[1]
    elif target.name == _LINKED_SHIM != path.name:
        manager = str(target)
    else:
        return path
    variables = (("PATH", os.environ.get("PATH", os.defpath)), *_SHIM_VARIABLE.findall(text))
    program, problem = _which((manager, "which", path.name), variables)
    if problem:
        raise LookupError(f"{path} is a shim, but `{manager} which {path.name}` names no program: {problem}")
    return Path(program)


@cache
def _which(command: tuple[str, ...], variables: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    """The path that a version manager prints, and why there is none. Cached, also without a path: it takes a while."""
    try:
        done = _ask(command, {**os.environ, **dict(variables)})
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    program = done.stdout.strip()
    if Path(program).is_file():
        return program, ""
    return "", one_line(done.stderr) or "it prints no path"


def _links(path: Path) -> list[Path]:
    """The path, what it links to, and so on; the last one has no link in it."""
    links = [path]
    while links[-1].is_symlink() and len(links) < _MOST_LINKS:
        folder = Path(os.path.realpath(links[-1].parent))
        links.append(Path(os.path.normpath(folder / links[-1].readlink())))
    return list(dict.fromkeys((*links, path.resolve())))


def _from_start(links: list[Path]) -> list[Path]:
    """The links from the path on that the program is started by.

    A link to a Python may appear as a file in the sandbox, and Python would look for its modules beside it. So it is
    followed to the installation that Python would find; a link to the Python of an environment does not lead to this.
    """
    if not is_python(links[-1]) or environment_of(links[0]):
        return links
    for index, link in enumerate(links):
        if is_installation(link) and not environment_of(link):
            return links[index:]
    return links


def _installation(program: Path) -> Iterator[str]:
    """The folder that a program was installed to, if it is not shared with other programs."""
    if environment := environment_of(program):
        yield from environment_paths(environment)
    elif is_python(program):
        yield from installation_paths(program)
    elif program.parent.name == "bin" and not is_shared(program.parent.parent):
        yield str(program.parent.parent)


def _node_paths(chain: list[Path]) -> Iterator[str]:
    """The folders that a program in `node_modules` loads its modules from: `node_modules` beside and above it, and the
    packages that are linked into these, such as those of a workspace.
    """
    if not any(_NODE_MODULES in path.parts for path in chain):
        return
    folders = dict.fromkeys(folder for path in chain for folder in _node_folders(path))
    for folder in tuple(folders):
        links = (entry for entry in (*folder.glob("*"), *folder.glob("@*/*")) if entry.is_symlink())
        for package in (link.resolve() for link in links):
            if (package / "package.json").is_file():
                folders |= dict.fromkeys(_node_folders(package))
                if not is_wide(package) and not (package / "demeanor.toml").exists() and eval_folders(package) == ():
                    yield str(package)
    yield from map(str, folders)


def _node_folders(path: Path) -> Iterator[Path]:
    """The folders `node_modules` that contain a path, or are beside a folder that does."""
    for parent in path.parents:
        if parent.name == _NODE_MODULES:
            yield parent
        elif (parent / _NODE_MODULES).is_dir():
            yield parent / _NODE_MODULES


def _interpreters(links: list[Path]) -> Iterator[str]:
    """The interpreter that the first line of a script names, and the Python of the environment that it belongs to."""
    words = _beginning(links[-1]).partition("\n")[0].removeprefix("#!").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if words and shutil.which(words[0]):
        yield words[0]
    for environment in filter(None, map(environment_of, links)):
        python = environment / "bin/python"
        if python not in links and os.access(python, os.X_OK):
            yield str(python)


def _beginning(file: Path) -> str:
    """The beginning of a script; empty for another file."""
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_SCRIPT)
    except OSError:
        return ""
    return content.decode("utf-8", "replace") if content.startswith(b"#!") else ""


@cache
def printed_version(command: tuple[str, ...]) -> str | None:
    """The first line that a command prints; None if it prints nothing, can't be started, or does not end in time.

    Cached, because some agents take seconds to print it.
    """
    try:
        done = _ask(command, os.environ)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), None)


def _ask(command: tuple[str, ...], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_ANSWER_TIMEOUT,
        check=False,
        stdin=subprocess.DEVNULL,
        env=env,
    )
