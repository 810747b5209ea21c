"""The entry points of installed packages. Reading them takes a file per package, so it is done once."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


def installed(group: str) -> EntryPoints:
    """The entry points of a group."""
    found: EntryPoints = _all(tuple(sys.path)).select(group=group)
    return found


@lru_cache(maxsize=1)
def _all(path: tuple[str, ...]) -> Any:
    """All entry points of the packages on `path`, which is sys.path."""
    from importlib.metadata import entry_points

    return entry_points()
