"""The entry points of installed packages.

`importlib.metadata` reads the metadata of every installed package, which takes longer than a short trial. So only the
files with entry points are read, once, and only the groups of Demeanor in them; without `pathlib`, whose import takes
longer than the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from demeanor.core.values.errors import UsageError

_ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError)
"""Other errors, such as too many open files, must not look like a package that is not installed."""
_METADATA = (".dist-info", ".egg-info")
_OURS = "demeanor."


class EntryPoint(NamedTuple):
    """What a package offers under a name."""

    group: str
    """What it is for, such as `demeanor.agents`."""

    name: str
    """Its name in the group."""

    value: str
    """Where it is: `module`, or `module:object`."""

    def load(self) -> Any:
        """The module, or the object in it."""
        module, _, path = self.value.partition(":")
        value: Any = import_module(module)
        for name in filter(None, path.split(".")):
            value = getattr(value, name)
        return value


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group."""
    return tuple(point for point in _ours(tuple(sys.path)) if point.group == group)


def loaded(point: EntryPoint) -> Any:
    """What an entry point names; raises UsageError if the package of somebody else can't be imported."""
    try:
        return point.load()
    except Exception as error:
        problem = f"{point.group} {point.name!r}: {point.value} can't be loaded: {type(error).__name__}: {error}"
        raise UsageError(f"{problem}\n  → update or uninstall the package that has it") from error


@lru_cache(maxsize=1)
def _ours(folders: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """The entry points of all groups of Demeanor in these folders, each once."""
    if any(os.path.isfile(folder) for folder in folders):  # an archive, which only importlib.metadata can read
        from importlib.metadata import distributions

        installed = (point for package in distributions() for point in package.entry_points)
        points = [
            EntryPoint(point.group, point.name, point.value) for point in installed if point.group.startswith(_OURS)
        ]
    else:
        points = [point for folder in folders for text in _texts(folder) for point in _points(text)]
    return tuple(dict.fromkeys(points))


def _texts(folder: str) -> Iterator[str]:
    """The files `entry_points.txt` in a folder that may name a group of Demeanor."""
    with suppress(*_ABSENT), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.endswith(_METADATA):
                with (
                    suppress(*_ABSENT),
                    open(f"{entry.path}/entry_points.txt", encoding="utf-8", errors="replace") as file,
                ):
                    text = file.read()
                    if f"[{_OURS}" in text:
                        yield text


def _points(text: str) -> Iterator[EntryPoint]:
    """The entry points of Demeanor's groups in such a file."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group.startswith(_OURS) and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield EntryPoint(group, name.strip(), value.partition("[")[0].strip())
