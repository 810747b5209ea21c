"""The adapters: one module per coding agent, which says how to start the agent and how to read its log.

An adapter is a module with a function `read(name, table)`, which makes an `Agent` (core/values/agent.py) from its table
in the configuration. Each module of the package recipes is one, and has a `RECIPE` (agents/recipe.py) too. Adapters in
other packages are found by the entry point `demeanor.agents`, which names the module.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

from demeanor.agents import recipes
from demeanor.config import Table, read_whole
from demeanor.core.entry_points import installed
from demeanor.core.values.agent import Agent
from demeanor.core.values.errors import UnknownName

_GENERIC = {name: f"demeanor.agents.{name}" for name in ("acp", "command", "native", "python")}
"""Adapters that are not for one particular agent."""

_RECIPES = {
    module.name.rstrip("_").replace("_", "-"): f"{recipes.__name__}.{module.name}"
    for module in pkgutil.iter_modules(recipes.__path__)
}
"""Adapter → module. A name that is a keyword of Python has an underscore behind it."""

CODING_AGENTS = tuple(sorted(_RECIPES))
"""Adapters for particular agents; they work without a table in the configuration."""

BUILT_IN = (*_GENERIC, *CODING_AGENTS)
"""All adapters of this package."""

ENTRY_POINT = "demeanor.agents"


def third_party() -> Mapping[str, str]:
    """The adapters in other packages: name → module."""
    return {point.name: point.value for point in installed(ENTRY_POINT) if point.name not in BUILT_IN}


def adapter(name: str, where: Path | str | None = None) -> ModuleType:
    """The module of an adapter; raises UnknownName if there is none."""
    modules = {**_GENERIC, **_RECIPES}
    if name not in modules:
        modules |= third_party()
    if name not in modules:
        raise UnknownName("adapter", name, tuple(modules), where=where)
    return import_module(modules[name])


def make_agent(name: str, adapter_name: str, table: Table) -> Agent:
    """Make the agent `name` from its table in the configuration."""
    module = adapter(adapter_name, f"{table.where}: {table.prefix}adapter")
    agent: Agent = read_whole(table, partial(module.read, name))
    return agent
