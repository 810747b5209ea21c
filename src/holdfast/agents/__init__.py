"""One file per coding agent: how to start it, and how to read what it leaves.

An adapter module offers `read(name, table)`, which makes an `Agent` (core/ports.py) of its table in the configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from holdfast.core.errors import UnknownName
from holdfast.core.ports import Agent
from holdfast.core.table import Table

ADAPTERS = ("command", "native", "python")
"""The adapters that come with Holdfast."""


def make_agent(name: str, adapter: str, table: Table) -> Agent:
    """The agent `name`, made by `adapter` from its table in the configuration."""
    if adapter not in ADAPTERS:
        raise UnknownName("adapter", adapter, ADAPTERS, where=table.where)
    read: Callable[[str, Table], Agent] = import_module(f"holdfast.agents.{adapter}").read
    agent = read(name, table)
    table.finish()
    return agent
