"""Write the lock files of the agents' tested versions: of all, or of those that are named.

Run it after a change of an adapter's `package`, on Linux, with npm and every Python that agents are installed with (on
PATH, or of pyenv or uv). npm and pip use the registries that they are configured for; local files are refused.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from demeanor.agents.packages.lock_file import lock_name
from demeanor.agents.packages.package import Package, find_python, this_platform
from demeanor.agents.registry import CODING_AGENTS, adapter
from demeanor.plugins.harbor.program import HARBOR

PLATFORMS = ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
NPM = ("npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--force")
PIP = ("-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--disable-pip-version-check")
DROPPED = ("resolved", "funding", "deprecated", "license")
"""Fields of a package in npm's lock file that an installation does not need; most contain an address."""


class _NotFound(SystemExit):
    """The registry does not have a package, for example for one of the platforms."""


def main() -> int:
    """Write the lock files and say how large each is."""
    packages = shipped_packages()
    for name in sys.argv[1:] or packages:
        package = packages[name]
        for file, text in (_npm_locks if package.manager == "npm" else _pip_locks)(name, package):
            path = package.locks / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
            _tell(f"{len(text) / 1000:8.1f} kB  {file}")
    return 0


def shipped_packages() -> dict[str, Package]:
    """Everything that Demeanor installs: the coding agents and Harbor."""
    return {**{name: adapter(name).RECIPE.package for name in CODING_AGENTS}, "harbor": HARBOR}


def _npm_locks(name: str, package: Package) -> Iterator[tuple[str, str]]:
    for target in PLATFORMS:
        file = lock_name(name, package, target, "")
        own, *also = package.for_platform(target)
        wanted = {own: package.version, **dict(text.rsplit("@", 1) for text in also)}
        try:
            yield file, _npm_lock({"dependencies": wanted}, *target.split("-"))
        except _NotFound:
            _tell(f"   no lock  {file}: the registry does not have that package")
        if target not in file:
            return


def _npm_lock(manifest: dict[str, Any], system: str, machine: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "package.json").write_text(json.dumps(manifest), "utf-8")
        _run([*NPM, f"--os={system}", f"--cpu={machine}"], folder)
        lock = json.loads(Path(folder, "package-lock.json").read_text("utf-8"))
    entries: dict[str, dict[str, Any]] = lock["packages"]
    for path, entry in entries.items():
        if path and not entry.get("integrity") and not entry.get("inBundle"):
            raise SystemExit(f"{path} has no checksum: {entry}")
        for field in DROPPED:
            entry.pop(field, None)
        _drop_unavailable(entry, entries)
    entries[""] = manifest
    return json.dumps({"lockfileVersion": lock["lockfileVersion"], "packages": entries}, indent=1) + "\n"


def _drop_unavailable(entry: dict[str, Any], entries: Mapping[str, object]) -> None:
    """Drop optional packages that the registry does not have: npm does not lock them, and `npm ci` would miss them."""
    names = {path.rpartition("node_modules/")[2] for path in entries}
    if optional := entry.get("optionalDependencies"):
        entry["optionalDependencies"] = {name: wanted for name, wanted in optional.items() if name in names}


def _pip_locks(name: str, package: Package) -> Iterator[tuple[str, str]]:
    for version in PYTHONS:
        if not _fits(package, version):
            continue
        python = find_python(_needing(package, version), os.environ)
        if python is None:
            raise SystemExit(f"{name} needs Python {version}, which was not found")
        wanted = [f"{package.name}=={package.version}", *package.extra_packages]
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            _run([python, *PIP, "--report", str(report), *wanted], folder)
            found = json.loads(report.read_text("utf-8"))["install"]
        yield lock_name(name, package, this_platform(), version), "".join(sorted(map(_pinned, found)))


def _fits(package: Package, version: str) -> bool:
    """Whether a package can be installed with this version of Python."""
    minor = int(version.partition(".")[2])
    least, below = (re.search(rf"{sign} *3\.(\d+)", package.needs) for sign in (">=", "<"))
    return (not least or int(least[1]) <= minor) and (not below or minor < int(below[1]))


def _needing(package: Package, version: str) -> Package:
    """The same package, but for this version of Python alone."""
    major, _, minor = version.partition(".")
    return replace(package, needs=f"python >= {version}, < {major}.{int(minor) + 1}")


def _pinned(item: dict[str, Any]) -> str:
    """The line of a requirements file for a package in pip's report."""
    metadata, source = item["metadata"], item["download_info"]
    checksum = source.get("archive_info", {}).get("hashes", {}).get("sha256")
    if not checksum or source["url"].startswith("file:"):
        raise SystemExit(
            f"{metadata['name']} {metadata['version']} comes from a local file, or has no checksum\n"
            "  → run this without find-links and local indexes, for example with PIP_CONFIG_FILE=/dev/null"
        )
    name = re.sub(r"[-_.]+", "-", metadata["name"]).lower()
    return f"{name}=={metadata['version']} --hash=sha256:{checksum}\n"


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _run(words: list[str], folder: str) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        kind = _NotFound if re.search("code (E404|ETARGET)", done.stderr) else SystemExit
        raise kind(f"{' '.join(words)} failed:\n{done.stderr[-3000:]}")


if __name__ == "__main__":
    if platform.system() != "Linux":
        raise SystemExit("run this on Linux: pip locks are made for the platform that they are made on")
    sys.exit(main())
