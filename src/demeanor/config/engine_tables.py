"""The tables of the configuration that belong to engines for whole tasks, such as `[harbor]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.config.table import Table
from demeanor.core.entry_points import installed, loaded

ENGINES = "demeanor.engines"
"""The group of entry points (runner/engines.py)."""


def read_engine_tables(table: Table) -> dict[str, Mapping[str, Any]]:
    """The tables that have the name of an engine, each checked by it. An engine is loaded only if it has a table."""
    tables: dict[str, Mapping[str, Any]] = {}
    for point in installed(ENGINES) if table.unread else ():
        own = table.table(point.name)
        if own is not None:
            loaded(point).read_config(own)
            own.finish()
            tables[point.name] = own.data
    return tables
