"""Sources: formats of evals that other packages read.

A package names a file that may make a folder an eval, or that lists evals, as an entry point of the group
`demeanor.sources`: `"task.toml" = "its.module"`. The module, a `SourceModule`, is imported only where there is such a
file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from demeanor.core.entry_points import EntryPoint, installed, loaded

if TYPE_CHECKING:
    from demeanor.core.values.eval import Eval

SOURCES = "demeanor.sources"


class SourceModule(Protocol):
    """A module that finds and reads evals of one format."""

    FILE: str
    """The TOML file in the folder of an eval that has its name and its policy."""

    TABLE: tuple[str, ...]
    """The table in it with the keys `name` and `policy`; empty if they are at the top."""

    def looks_like(self, path: Path) -> bool:
        """Whether a file or folder defines evals, perhaps incomplete ones, for which reading gives an error."""
        ...

    def is_complete(self, folder: Path) -> bool:
        """Whether a folder is certainly an eval of this format: pytest collects it, and nothing inside of it."""
        ...

    def read(self, path: Path) -> tuple[Eval, ...]:
        """The evals that a file or folder defines; raises BadInput, or `Unreadable` for several of them."""
        ...


def source_files() -> Mapping[str, EntryPoint]:
    """The names of the files, each with its entry point."""
    return {point.name: point for point in installed(SOURCES)}


def source_of(path: Path) -> SourceModule | None:
    """The source that reads a file or folder; None if none does."""
    points = source_files()
    named = [points[path.name]] if path.name in points and path.is_file() else []
    for point in named or [point for name, point in points.items() if (path / name).is_file()]:
        source: SourceModule = loaded(point)
        if source.looks_like(path):
            return source
    return None


def sources() -> tuple[SourceModule, ...]:
    """All sources, each once."""
    modules = {point.value: point for point in source_files().values()}
    return tuple(loaded(point) for point in modules.values())


def policy_tables() -> dict[str, tuple[str, ...]]:
    """The files of all sources that have the policy of an eval, each with the table in it."""
    return {source.FILE: source.TABLE for source in sources()}
