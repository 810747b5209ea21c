"""The Python module that an agent did not find: where this machine has it, and what makes the agent find it.

The agent's own Python is asked, outside of the sandbox, with the search path that it has in the sandbox, and then with
that of the user. It does not import the module, whose name comes from the agent's output.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from demeanor.agents.environments import (
    PACKAGE_ROOT,
    environment_of,
    environment_settings,
    eval_folders,
    find_executable,
    is_python,
    is_wide,
)
from demeanor.core.values.process import ProcessEnd

_MISSING = re.compile(r"No module named '?((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?=['\s;,)]|$)", re.ASCII)
_MOST_CHARACTERS = 20_000
_LONGEST_NAME = 200
_TIMEOUT = 20.0
_SITE_FOLDERS = ("site-packages", "dist-packages")
_QUESTION = """
import json, sys
sys.path[:] = sys.argv[2:] + [path for path in sys.path if path]
names, path, location = sys.argv[1].split("."), None, None
for count in range(len(names)):
    specs = (finder.find_spec(".".join(names[:count + 1]), path) for finder in sys.meta_path)
    spec, location = None, None
    if not count or path is not None:
        spec = next((spec for spec in specs if spec is not None), None)
    if spec is None:
        break
    path, location = spec.submodule_search_locations, spec.origin
    if path is not None:
        path = list(getattr(path, "_path", path))
        location = path[0]
print(json.dumps(location))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModuleSearch:
    """How an agent looked for a module."""

    words: Sequence[str]
    """Its program and arguments."""

    env: Mapping[str, str]
    """The variables that it was started with."""

    readable: Callable[[str], bool]
    """Whether it can read a path of this machine."""


def missing_module(end: ProcessEnd) -> str | None:
    """The module that a program's last output says is missing; None if there is none."""
    for text in (end.stderr.text, end.stdout.text):
        names = _MISSING.findall(text[-_MOST_CHARACTERS:])
        if names and len(names[-1]) <= _LONGEST_NAME:
            return str(names[-1]).removesuffix(".__main__")
    return None


def explain_missing_module(name: str, search: ModuleSearch, agent: str) -> tuple[str, str] | None:
    """Why an agent did not find a module, and the remedy; None if its Python is not known."""
    python = _python(search.words)
    if python is None:
        return None
    folders = _script_folders(search.words)
    own_path = search.env.get("PYTHONPATH", "")
    location = _ask(python, name, folders, own_path if own_path != PACKAGE_ROOT else "")
    variable = ""
    if location is None:
        location = _ask(python, name, folders, None)
        if location is None:
            return f"{python} has no module {name!r}", f"install it there: {_install_command(python, name)}"
        variable = f"set agents.{agent}.env.PYTHONPATH to {Path(location).parents[name.count('.')]}"
    folder = _folder(Path(location))
    where = f"{python} has the module {name!r} in {folder}"
    if not search.readable(str(folder)):
        remedies = filter(None, (f"add {folder} to agents.{agent}.reads", variable))
        return f"{where}, which is not in the sandbox{_why_hidden(folder)}", ", and ".join(remedies)
    if variable:
        return f"{where}, but only with variables of your shell", variable
    return f"{where}, which the agent can read, so another Python did not find it", (
        f"let the agent start {python}, or install {name.partition('.')[0]!r} for the other Python"
    )


def _python(words: Sequence[str]) -> str | None:
    """The Python that runs a command: of its program, or of a program in its arguments that is named by its path."""
    programs = (find_executable(word) for index, word in enumerate(words) if index == 0 or word.startswith("/"))
    return next((program.python for program in programs if program and program.python), None)


def _script_folders(words: Sequence[str]) -> tuple[str, ...]:
    """The folder of the script that a Python runs, in which it looks for modules first."""
    scripts = (Path(word) for word in words if word.startswith("/") and not is_python(Path(word)))
    return tuple(str(script.resolve().parent) for script in scripts if script.is_file())[:1]


@cache
def _ask(python: str, name: str, folders: tuple[str, ...], search_path: str | None) -> str | None:
    """Where a Python finds a module; None if it does not. `search_path`: PYTHONPATH; None for that of the user, with
    the packages that are installed for this user only.
    """
    env = dict(os.environ)
    options: tuple[str, ...] = ("-B",)
    if search_path is not None:
        without = {variable: value for variable, value in env.items() if not variable.startswith("PYTHON")}
        env, options = {**without, "PYTHONPATH": search_path}, ("-B", "-s")
    try:
        done = subprocess.run(
            (python, *options, "-c", _QUESTION, name, *folders),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=True,
            stdin=subprocess.DEVNULL,
            env=env,
            cwd="/",
        )
        location = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return location if isinstance(location, str) and location.startswith("/") else None


def _folder(location: Path) -> Path:
    """What to make readable: the folder of all installed packages, or else the package or the module alone."""
    for folder in location.parents:
        if folder.name in _SITE_FOLDERS:
            return folder
    return location


def _why_hidden(folder: Path) -> str:
    if is_wide(folder.parent):
        return f" ({folder.parent} is never readable as a whole, even if a .pth file names it)"
    if evals := eval_folders(folder):
        return f" (there are evals in {evals[0]}, which agents must not read)"
    return ""


def _install_command(python: str, name: str) -> str:
    """How to install a package with the module's name, which is the usual name, into the environment of a Python."""
    package, environment = name.partition(".")[0], environment_of(Path(python))
    if environment and (environment / "pipx_metadata.json").exists():
        return shlex.join(("pipx", "inject", environment.name, package))
    if environment and "uv" in environment_settings(environment):
        return shlex.join(("uv", "pip", "install", "--python", python, package))
    return shlex.join((python, "-m", "pip", "install", package))
