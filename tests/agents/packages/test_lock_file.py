"""The lock files that are shipped: each pins the tested version, and everything in it has a checksum."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from demeanor.agents.packages.lock_file import lock_name
from demeanor.agents.packages.package import Package
from demeanor.agents.registry import CODING_AGENTS, adapter
from demeanor.plugins.harbor.program import HARBOR

PACKAGES: dict[str, Package] = {**{name: adapter(name).RECIPE.package for name in CODING_AGENTS}, "harbor": HARBOR}
LOCKS = Package(manager="npm", name="", version="", program="").locks
PYTHONS = {
    "aider": ("3.10", "3.11", "3.12"),
    "mini-swe-agent": ("3.10", "3.11", "3.12", "3.13"),
    "vibe": ("3.12", "3.13"),
    "openhands": ("3.12",),
    "harbor": ("3.12", "3.13"),
}
PINNED = re.compile(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")


@pytest.mark.parametrize("name", PACKAGES)
def test_every_shipped_version_has_a_lock_file(name: str):
    """For Linux on x64, and for each Python that it can be installed with."""
    package = PACKAGES[name]
    for python in PYTHONS[name] if package.manager == "pip" else ("",):
        assert (package.locks / lock_name(name, package, "linux-x64", python)).is_file()


@pytest.mark.parametrize("path", sorted(LOCKS.iterdir()), ids=lambda path: path.name)
def test_a_lock_file_pins_the_tested_version_with_checksums_and_names_no_address(path: Path):
    """If this fails after a change of an adapter's package, run tools/lock_agents.py NAME."""
    name, platform = path.name.split(".")[0], path.name.split(".")[1]
    package, text = PACKAGES[name], path.read_text("utf-8")
    wanted = [f"{package.name}@{package.version}", *package.also]
    pinned = _pip_pins(text) if package.manager == "pip" else _npm_pins(text)
    for text_of_one in wanted:
        own, version = re.split("==|@(?=[^@]*$)", text_of_one.replace("{platform}", platform))
        assert pinned[own] == version
    assert not re.search(r"://|\bresolved\b|\bregistry\b|\.(org|com|io|dev)\b", text)
    assert len(text) < 1_000_000


def _pip_pins(text: str) -> dict[str, str]:
    found = [PINNED.fullmatch(line) for line in text.splitlines()]
    assert all(found)
    return {match[1]: match[2] for match in found if match}


def _npm_pins(text: str) -> dict[str, str]:
    root, *entries = json.loads(text)["packages"].items()
    for path, entry in entries:
        assert re.fullmatch(r"sha512-[0-9A-Za-z+/]{86}==", entry.get("integrity", "")) or entry.get("inBundle"), path
    names = {path.rpartition("node_modules/")[2] for path, _ in entries}
    for path, entry in entries:  # else `npm ci` refuses the lock file
        assert {*entry.get("dependencies", {}), *entry.get("optionalDependencies", {})} <= names, path
    versions = {path.removeprefix("node_modules/"): entry["version"] for path, entry in entries}
    assert root[1]["dependencies"].items() <= versions.items()
    return versions
