"""Readers of results in other packages, found by the entry point `demeanor.imports`, which names a module."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from demeanor.core.entry_points import installed, loaded
from demeanor.store.imports.common import Imported, ImportOptions

IMPORTS = "demeanor.imports"


class ResultReader(Protocol):
    """A module that reads the results of one tool."""

    FORMAT: str
    """What it reads, with an article: `a Harbor job folder`."""

    def matches(self, path: Path) -> bool:
        """Whether a folder or a JSON file has such results."""
        ...

    def read(self, path: Path, options: ImportOptions) -> Imported:
        """The run in it; raises BadInput."""
        ...


def reader_of(path: Path) -> ResultReader | None:
    """The reader of a folder or a JSON file; None if no package can read it."""
    return next((reader for reader in _readers() if reader.matches(path)), None)


def other_formats() -> str:
    """What else can be imported, to complete a sentence that lists formats."""
    return "".join(f", or {reader.FORMAT}" for reader in _readers())


def _readers() -> tuple[ResultReader, ...]:
    return tuple(loaded(point) for point in installed(IMPORTS))
