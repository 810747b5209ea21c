"""Installs an exact version of a coding agent into its own folder; nothing else on the machine changes.

The tested version is installed from its lock file (lock_file.py): the same packages with the same checksums every time.
Another version has none, and the user is told.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.agents.environments.executables import printed_version
from demeanor.agents.packages.lock_file import find_lock, not_installed, npm_manifest
from demeanor.agents.packages.package import Package, find_python, this_platform
from demeanor.agents.recipe import Recipe
from demeanor.core.text.wording import count, excerpt, opening
from demeanor.core.trees.program_tree import program_tree
from demeanor.core.values.errors import DemeanorError, UsageError

_VERSIONS = {
    "npm": re.compile(r"\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?"),
    "pip": re.compile(r"\d[0-9A-Za-z.+!_-]*"),
}
"""Exact versions. `latest`, and for npm also `1.2`, mean another version every week."""
_TIMEOUT = 1800.0
_NEWS = 15.0
"""Seconds between two messages about an installation."""
_PIP_SOURCES = re.compile(r"^\S+\.(?:(?:extra-)?index-url|find-links|no-index|proxy|cert)=", re.MULTILINE)
_UV_SOURCES = ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_FIND_LINKS", "UV_CONFIG_FILE")
"""Settings that say where packages come from."""
_NPM = ("--no-audit", "--no-fund", "--no-update-notifier")
_UNREACHABLE = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED"
    r"|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|Failed to establish a new connection"
    r"|Name or service not known|Temporary failure in name resolution|Network is unreachable|Max retries exceeded"
    r"|Failed to fetch"
)
_CHECKSUM = re.compile(r"EINTEGRITY|DO NOT MATCH THE HASHES|Hash mismatch")
_UNKNOWN_VERSION = re.compile(r"\bE404\b|\bETARGET\b|No matching distribution found|there is no version of")
_REGISTRY = {
    "npm": "npm config set registry … or proxy …",
    "pip": "pip config set global.index-url …",
    "uv": "UV_DEFAULT_INDEX=…",
}
"""How to set the registry of each installer."""


class InstallError(DemeanorError):
    """An agent could not be installed."""

    slug = "not-installed"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Installation:
    """One installation that is being made."""

    name: str
    """The agent."""

    package: Package
    """Its package."""

    version: str
    """The exact version."""

    folder: Path
    """The folder to install into."""

    home: Path
    """The HOME of the installer."""

    environ: Mapping[str, str]
    """The user's environment."""

    tell: Callable[[str], None]
    """Reports progress to the user."""

    def lock(self, python: str = "") -> Path | None:
        """The lock file to install from; tells the user if there is none."""
        lock = find_lock(self.name, self.package, python) if self.version == self.package.version else None
        if lock is None:
            where = f"{this_platform()}, Python {python}" if python else this_platform()
            self.tell(
                f"{self.name} {self.version} has no lock file for {where}: "
                "the versions and checksums of its dependencies are not fixed"
            )
        return lock

    def failed(self, problem: str, remedy: str) -> InstallError:
        """An error that names the agent."""
        return InstallError(f"{self.name} {self.version} could not be installed: {problem}\n  → {remedy}")


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
    exact = version or package.version
    if version is not None and not _VERSIONS[package.manager].fullmatch(version):
        raise UsageError(f"{exact!r} is not an exact version\n  → write for example {name}@{package.version}")
    target = folder / name / exact
    job = _Installation(
        name=name, package=package, version=exact, folder=target, home=target, environ=environ, tell=tell
    )
    if not package.program_in(target).exists():
        _require_installer(job)
    try:
        return _installed(job)
    except OSError as error:
        remedy = "set DEMEANOR_AGENTS to a folder that you can write to"
        raise job.failed(f"{target.parent} can't be written: {error}", remedy) from None


def _installed(job: _Installation) -> Path:
    """The program, installed unless it is already."""
    package, exact, target = job.package, job.version, job.folder
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.parent):
        _make_executable(package.helpers_in(target))
        incomplete = package.broken_helper(target) if exact == package.version else None
        if package.program_in(target).exists() and not incomplete:
            job.tell(f"{job.name} {exact} is already installed: {target}")
            return package.program_in(target)
        _remove_leftovers(target.parent)
        job.tell(f"installing {package.full_name} {exact} with {package.manager} into {target}")
        with tempfile.TemporaryDirectory(prefix=f".{exact}-", dir=target.parent) as temporary:
            made, home = Path(temporary, "made"), Path(temporary, "home")
            made.mkdir()
            home.mkdir()
            _fill(replace(job, folder=made, home=home))
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


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed installations of this agent left. None is under way, since this process holds the lock."""
    for path in folder.glob(".*-*"):
        shutil.rmtree(path, ignore_errors=True)


def _fill(job: _Installation) -> None:
    """Install into the folder, and check that it contains what the agent needs."""
    package = job.package
    (_by_npm if package.manager == "npm" else _by_pip)(job)
    program = package.program_in(job.folder)
    if not program.exists():
        raise job.failed(f"{package.full_name} does not contain {package.program}", "install another version")
    _make_executable(package.helpers_in(job.folder))
    if package.first_run:
        job.tell(f"starting {job.name} once, because it unpacks itself")
        _run(job, [str(program), *package.first_run], {"XDG_CACHE_HOME": str(job.folder / "cache")})


def _require_installer(job: _Installation) -> None:
    """Refuse to install what can't be installed here, before anything is written."""
    package = job.package
    if package.manager != "npm":
        _python(job)
        return
    for program in ("npm", "node"):
        if shutil.which(program, path=job.environ.get("PATH")) is None:
            needs = package.needs if "node" in package.needs else "any version that npm supports"
            raise job.failed(
                f"it is an npm package, and {program} is not on PATH",
                f"install Node.js with npm ({needs}), or set agents.{job.name}.program to an installed {job.name}",
            )


def _python(job: _Installation) -> str:
    """The Python that the agent is installed with."""
    python = find_python(job.package, job.environ)
    if python is None:
        raise job.failed(
            f"it needs {job.package.needs}, which is neither on PATH nor in the folders of pyenv and uv",
            f"install such a Python, or set agents.{job.name}.program to an installed {job.name}",
        )
    return python


def _by_npm(job: _Installation) -> None:
    package = job.package
    npm = shutil.which("npm", path=job.environ.get("PATH")) or "npm"
    words = [*_NPM, "--prefix", str(job.folder), "--ignore-scripts"]
    lock = job.lock()
    if lock is None:
        packages = (f"{package.full_name}@{job.version}", *package.extra_packages)
        _run(job, [npm, "install", *words, "--save-exact", *packages])
        return
    (job.folder / "package.json").write_text(npm_manifest(lock), "utf-8")
    shutil.copyfile(lock, job.folder / "package-lock.json")
    _run(job, [npm, "ci", *words])
    if left_out := not_installed(lock, job.folder):
        raise job.failed(
            f"npm left out {left_out}, because it could not be downloaded or its checksum is wrong",
            f"check the registry that npm uses, then run `demeanor agents install {job.name}` again",
        )


def _by_pip(job: _Installation) -> None:
    python, uv = _python(job), _uv(job)
    own = str(job.folder / "bin/python")
    if uv is not None:
        job.tell(f"  {uv} downloads and installs its packages")
        _run(job, [python, "-m", "venv", "--without-pip", str(job.folder)])
        pip = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--link-mode", "copy", "--python", own]
    else:
        _run(job, [python, "-m", "venv", str(job.folder)])
        pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    lock = job.lock(_minor_version(python))
    if lock is None:
        _run(
            job,
            [*pip, f"{job.package.name}=={job.version}", *job.package.extra_packages],
        )
    else:
        _run(job, [*pip, "--require-hashes", "--no-deps", "--requirement", str(lock)])


def _uv(job: _Installation) -> str | None:
    """uv, which is several times faster than pip; None if it is not on PATH, or would not use the registry that pip is
    configured for: it does not read pip's settings.
    """
    uv = shutil.which("uv", path=job.environ.get("PATH"))
    if uv is None or any(name.startswith(_UV_SOURCES) for name in job.environ):
        return uv
    words = [_python(job), "-m", "pip", "config", "list"]
    env = _installer_env(job)
    settings = subprocess.run(words, env=env, capture_output=True, text=True, check=False, cwd=job.folder).stdout
    return None if _PIP_SOURCES.search(settings) else uv


def _minor_version(python: str) -> str:
    """The version of a Python as in the names of lock files: `3.12`."""
    match = re.search(r"(\d+\.\d+)", printed_version((python, "--version")) or "")
    return match[1] if match else "?"


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


def _run(job: _Installation, words: list[str], env: Mapping[str, str] | None = None) -> None:
    """Run an installer with its own HOME, but with the user's caches and settings of npm and pip. None of its processes
    outlives it.
    """
    shown = " ".join([Path(words[0]).name, *words[1:4]])
    try:
        whole_env = {**_installer_env(job), **(env or {})}
        with program_tree(words, cwd=job.folder, env=whole_env, stdout=subprocess.PIPE) as process:
            output = _output(job, process)
    except subprocess.TimeoutExpired:
        raise job.failed(
            f"`{shown} …` did not finish within {_TIMEOUT:.0f} s", "check the network, then try again"
        ) from None
    except OSError as error:
        raise job.failed(f"`{shown} …` could not be started: {error}", f"repair {words[0]}") from None
    if process.returncode != 0:
        problem = f"`{shown} …` failed (exit code {process.returncode})"
        said = output.decode("utf-8", "replace")
        again = job.package.install.format(name=job.name, version=job.version)
        installer = "uv" if Path(words[0]).name == "uv" else job.package.manager
        raise _explain(job.name, job.version, installer, problem, said, install=again)


def _output(job: _Installation, process: subprocess.Popen[bytes]) -> bytes:
    """What an installer prints. It may work for minutes without a word, so the user is told how far it is."""
    started = time.monotonic()
    while (seconds := time.monotonic() - started) < _TIMEOUT:
        try:
            return process.communicate(timeout=min(_NEWS, _TIMEOUT - seconds))[0]
        except subprocess.TimeoutExpired:
            packages = sum(1 for _ in job.folder.glob("lib/python*/site-packages/*.dist-info"))
            have = f", {count(packages, 'package')} in place" if packages else ""
            job.tell(f"  still installing {job.name} {job.version}: {time.monotonic() - started:.0f} s{have}")
    raise subprocess.TimeoutExpired(process.args, _TIMEOUT)


def _installer_env(job: _Installation) -> dict[str, str]:
    env = {**job.environ, "HOME": str(job.home), "NO_UPDATE_NOTIFIER": "1"}
    real = Path(job.environ.get("HOME") or Path.home())
    env.setdefault("npm_config_cache", str(real / ".npm"))
    if (real / ".npmrc").is_file():
        env.setdefault("npm_config_userconfig", str(real / ".npmrc"))
    env.setdefault("PIP_CACHE_DIR", str(real / ".cache/pip"))
    if (settings := real / ".config/pip/pip.conf").is_file():
        env.setdefault("PIP_CONFIG_FILE", str(settings))
    env.setdefault("UV_CACHE_DIR", str(real / ".cache/uv"))
    env.setdefault("UV_SYSTEM_CERTS", "true")
    return env


def _explain(name: str, version: str, manager: str, problem: str, output: str, *, install: str) -> InstallError:
    """The error for an installer that failed with this output; `install` is our own command."""
    again = f"run `{install}` again"
    settings = _REGISTRY[manager]
    if _CHECKSUM.search(output):
        why = f"{manager} got a package whose checksum differs from the lock file"
        remedy = f"find out what changed it: a registry, mirror or proxy, or {manager}'s cache: clear that, and {again}"
    elif _UNREACHABLE.search(output):
        why = f"{manager} can't reach its registry"
        remedy = f"connect this machine to the network, or configure a mirror ({settings}), and {again}"
    elif _UNKNOWN_VERSION.search(output):
        why = f"the registry of {manager} does not have this version, or a package that it needs, for this machine"
        remedy = f"check the version and the mirror that {manager} uses ({settings}), and {again}"
    else:
        why, remedy = problem, f"mend what {manager} reports, and {again}"
    return InstallError(f"{name} {version} could not be installed: {why}\n{_relevant(output)}\n  → {remedy}")


def _relevant(output: str) -> str:
    """The relevant lines, indented: npm's first errors, before it explains its options; else the last lines."""
    errors = [line for line in output.splitlines() if re.match(r"npm (error|ERR!) \S", line)]
    kept = opening("\n".join(errors), lines=10) if errors else excerpt(output.strip(), lines=15)
    return "\n".join(f"    {line}" for line in kept.splitlines())
