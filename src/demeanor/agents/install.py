"""Installs an exact version of a coding agent into its own folder; nothing else on the machine changes."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from demeanor.agents.package import Package, find_python
from demeanor.agents.recipe import Recipe
from demeanor.core.errors import DemeanorError, UsageError
from demeanor.core.text import excerpt

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]*")
_TIMEOUT = 1800.0


class InstallError(DemeanorError):
    """An agent could not be installed."""


def install(
    recipe: Recipe, version: str | None, folder: Path, environ: Mapping[str, str], tell: Callable[[str], None]
) -> Path:
    """Install an agent below `folder`, unless that version is installed already; returns its program."""
    return install_package(recipe.name, recipe.package, version, folder, environ, tell)


def install_package(
    name: str,
    package: Package,
    version: str | None,
    folder: Path,
    environ: Mapping[str, str],
    tell: Callable[[str], None],
) -> Path:
    """Install a package as `<folder>/<name>/<version>`, unless it is installed already; returns its program.

    It is installed into a temporary folder and then renamed, so that an incomplete installation is never found.
    """
    wanted = version or package.version
    if not _VERSION.fullmatch(wanted):
        raise UsageError(f"{wanted!r} is not an exact version\n  → write for example {name}@{package.version}")
    target = folder / name / wanted
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.parent):
        _make_executable(package.helpers_in(target))
        incomplete = package.broken_helper(target) if wanted == package.version else None
        if package.program_in(target).exists() and not incomplete:
            tell(f"{name} {wanted} is already installed: {target}")
            return package.program_in(target)
        tell(f"installing {package.full_name} {wanted} with {package.manager} into {target}")
        with tempfile.TemporaryDirectory(prefix=f".{wanted}-", dir=target.parent) as temporary:
            made = Path(temporary, "made")
            made.mkdir()
            (_by_npm if package.manager == "npm" else _by_pip)(package, wanted, made, Path(temporary, "home"), environ)
            if not package.program_in(made).exists():
                raise InstallError(
                    f"{package.full_name} {wanted} was installed, but does not contain {package.program}"
                )
            _make_executable(package.helpers_in(made))
            if package.first_run:
                cache = {**environ, "XDG_CACHE_HOME": str(made / "cache")}
                _run([str(package.program_in(made)), *package.first_run], made, Path(temporary, "home"), cache)
            if package.manager == "pip":
                _relocate(made, target)
            shutil.rmtree(target, ignore_errors=True)
            made.rename(target)
    return package.program_in(target)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of an agent: a second process that installs the same agent waits, then finds it installed."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _by_npm(package: Package, version: str, folder: Path, home: Path, environ: Mapping[str, str]) -> None:
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise InstallError(f"{package.full_name} needs npm, which is not on PATH\n  → install Node.js")
    words = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-update-notifier", "--save-exact"]
    words += [] if package.scripts else ["--ignore-scripts"]
    _run([*words, f"{package.full_name}@{version}", *package.extra_packages], folder, home, environ)


def _by_pip(package: Package, version: str, folder: Path, home: Path, environ: Mapping[str, str]) -> None:
    python = find_python(package, environ)
    if python is None:
        raise InstallError(f"{package.name} needs {package.needs}, which is not on PATH\n  → install it")
    _run([python, "-m", "venv", str(folder)], folder, home, environ)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, f"{package.name}=={version}", *package.extra_packages], folder, home, environ)


def _make_executable(programs: Iterable[Path]) -> None:
    for program in programs:
        program.chmod(program.stat().st_mode | 0o111)


def _relocate(made: Path, target: Path) -> None:
    """Replace the path of a virtual environment in its scripts, which contain it."""
    for program in (made / "bin").iterdir():
        if program.is_symlink() or not program.is_file():
            continue
        content = program.read_bytes()
        if str(made).encode() in content:
            program.write_bytes(content.replace(str(made).encode(), str(target).encode()))


def _run(words: list[str], folder: Path, home: Path, environ: Mapping[str, str]) -> None:
    """Run an installer with its own HOME, but with the user's caches and settings of npm and pip."""
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
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{words[0]} did not finish within {_TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        raise InstallError(
            f"{' '.join(words[:3])} … failed (exit code {done.returncode}):\n{excerpt(done.stdout, lines=15)}"
        )
