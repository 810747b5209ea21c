"""Lock files: all packages of an agent's tested version, with checksums, so that an installation is repeatable.

npm's is a `package-lock.json`, for `npm ci`. Its name contains the platform if the agent's packages differ by platform.
pip's is a requirements file with hashes, for one platform and one version of Python. None names a registry: packages
come from the one that npm or pip is configured for. `tools/lock_agents.py` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from demeanor.agents.packages.package import Package, this_platform


def lock_name(name: str, package: Package, platform: str, python: str) -> str:
    """The file name of an agent's lock file for a platform (`linux-x64`) and a Python (`3.12`; only for pip)."""
    if package.manager == "pip":
        return f"{name}.{platform}.python{python}.txt"
    by_platform = any("{platform}" in text for text in (package.name, *package.also))
    return f"{name}.{platform}.package-lock.json" if by_platform else f"{name}.package-lock.json"


def find_lock(name: str, package: Package, python: str = "") -> Path | None:
    """The lock file of an agent's tested version for this machine; None if there is none."""
    path = package.locks / lock_name(name, package, this_platform(), python)
    return path if path.is_file() else None


def npm_manifest(lock: Path) -> str:
    """The `package.json` that belongs to a lock file of npm."""
    return json.dumps(_packages(lock)[""])


def not_installed(lock: Path, folder: Path) -> str | None:
    """A package for this platform that npm left out; None if there is none.

    npm takes a package that is optional, such as the binary of an agent for one platform, as dispensable: if it can't
    be downloaded or its checksum is wrong, npm leaves it out and reports success.
    """
    system, _, machine = this_platform().partition("-")
    for path, entry in _packages(lock).items():
        here = entry.get("os") == [system] and entry.get("cpu") == [machine] and "libc" not in entry
        if here and not (folder / path).is_dir():
            return path.rpartition("node_modules/")[2]
    return None


def _packages(lock: Path) -> dict[str, dict[str, Any]]:
    packages: dict[str, dict[str, Any]] = json.loads(lock.read_text("utf-8"))["packages"]
    return packages
