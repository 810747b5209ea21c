"""Installing a coding agent into a folder of its own: an exact version, and nothing of the machine is changed."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from demeanor.agents.package import Package, find_python
from demeanor.agents.recipe import Recipe
from demeanor.core.errors import DemeanorError, UsageError
from demeanor.core.text import excerpt

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]*")
_PATIENCE = 1800.0


class InstallError(DemeanorError):
    """An agent can't be installed."""


def install(
    recipe: Recipe, version: str | None, folder: Path, environ: Mapping[str, str], tell: Callable[[str], None]
) -> Path:
    """The program of an agent in an exact version, installed below `folder` unless it is there already."""
    return install_package(recipe.name, recipe.package, version, folder, environ, tell)


def install_package(
    name: str,
    package: Package,
    version: str | None,
    folder: Path,
    environ: Mapping[str, str],
    tell: Callable[[str], None],
) -> Path:
    """The program of a package, which is called `name` here.

    It is installed beside its place and moved there when it is complete: half an installation is never found.
    """
    wanted = version or package.version
    if not _VERSION.fullmatch(wanted):
        raise UsageError(f"{wanted!r} is no exact version\n  → such as {name}@{package.version}")
    place = folder / name / wanted
    place.parent.mkdir(parents=True, exist_ok=True)
    with _alone(place.parent):
        if package.program_in(place).exists():
            tell(f"{name} {wanted} is there already: {place}")
            return package.program_in(place)
        tell(f"installing {package.full_name} {wanted} with {package.manager} into {place}")
        with tempfile.TemporaryDirectory(prefix=f".{wanted}-", dir=place.parent) as half:
            made = Path(half, "made")
            made.mkdir()
            (_by_npm if package.manager == "npm" else _by_pip)(package, wanted, made, Path(half, "home"), environ)
            if not package.program_in(made).exists():
                raise InstallError(f"{package.full_name} {wanted} was installed, but holds no {package.program}")
            if package.manager == "pip":
                _settle(made, place)
            shutil.rmtree(place, ignore_errors=True)
            made.rename(place)
    return package.program_in(place)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else installs the same agent meanwhile; whoever comes later waits, and finds it."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _by_npm(package: Package, version: str, folder: Path, home: Path, environ: Mapping[str, str]) -> None:
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise InstallError(f"npm is needed to install {package.full_name}, and is not on PATH\n  → install Node.js")
    words = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-update-notifier", "--save-exact"]
    words += [] if package.scripts else ["--ignore-scripts"]
    _run([*words, f"{package.full_name}@{version}", *package.others], folder, home, environ)


def _by_pip(package: Package, version: str, folder: Path, home: Path, environ: Mapping[str, str]) -> None:
    python = find_python(package, environ)
    if python is None:
        raise InstallError(f"{package.name} needs {package.needs}, and none is on PATH\n  → install one")
    _run([python, "-m", "venv", str(folder)], folder, home, environ)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, f"{package.name}=={version}", *package.others], folder, home, environ)


def _settle(made: Path, place: Path) -> None:
    """A virtual environment knows where it was made; let its programs know where it will be."""
    for program in (made / "bin").iterdir():
        if program.is_symlink() or not program.is_file():
            continue
        content = program.read_bytes()
        if str(made).encode() in content:
            program.write_bytes(content.replace(str(made).encode(), str(place).encode()))


def _run(words: list[str], folder: Path, home: Path, environ: Mapping[str, str]) -> None:
    """Run an installer with a HOME of its own; caches and settings of the user's stay in use, read where they are."""
    home.mkdir(exist_ok=True)
    env = {**environ, "HOME": str(home), "NO_UPDATE_NOTIFIER": "1"}
    real = Path(environ.get("HOME") or Path.home())
    env.setdefault("npm_config_cache", str(real / ".npm"))
    if (real / ".npmrc").is_file():
        env.setdefault("npm_config_userconfig", str(real / ".npmrc"))
    env.setdefault("PIP_CACHE_DIR", str(real / ".cache/pip"))
    if (settings := real / ".config/pip/pip.conf").is_file():
        env.setdefault("PIP_CONFIG_FILE", str(settings))
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{words[0]} did not end within {_PATIENCE:.0f} s") from None
    if done.returncode != 0:
        raise InstallError(
            f"{' '.join(words[:3])} … failed (exit code {done.returncode}):\n{excerpt(done.stdout, lines=15)}"
        )
