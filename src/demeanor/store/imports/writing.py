"""Imported runs into the history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from demeanor.store.history.database import Database
from demeanor.store.history.writing import RunWriter
from demeanor.store.imports.imported import Imported


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What became of one imported run."""

    imported: Imported
    """The run."""

    name: str
    """Its name in the store."""

    new: int
    """How many of its attempts were not there before."""


def write_imports(database: Database, found: Iterable[Imported]) -> tuple[Written, ...]:
    """Write each run, whole or not at all."""
    written = []
    for one in found:
        writer = RunWriter(database, one.run, origin=one.origin, source=str(one.source.absolute()))
        new = writer.write(one.cells, one.kept)
        written.append(Written(imported=one, name=writer.name, new=new))
    return tuple(written)
