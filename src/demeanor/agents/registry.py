"""The adapters: one module per coding agent, which says how to start the agent and how to read its log.

An adapter is a module with a function `read(name, table)`, which makes an `Agent` (core/values/agent.py) from its table
in the configuration. If the agent can be installed, the module has a `RECIPE` (agents/recipe.py) too. Adapters in other
packages are found by the entry point `demeanor.agents`, which names the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from demeanor.config import Table
from demeanor.core.entry_points import installed
from demeanor.core.values.agent import Agent
from demeanor.core.values.errors import UnknownName

GENERIC = ("acp", "command", "native", "python")
"""Adapters that are not for one particular agent."""

CODING_AGENTS = (
    *("aider", "claude-code", "cline", "codex", "continue", "copilot", "gemini-cli", "goose", "kimi-code"),
    *("mini-swe-agent", "opencode", "openhands", "pi", "qwen-code", "vibe"),
)
"""Adapters for particular agents; they work without a table in the configuration."""

BUILT_IN = (*GENERIC, *CODING_AGENTS)
"""All adapters of this package."""

_MODULES = {"continue": "continue_cli"}
"""Adapters whose name is a keyword of Python."""

ENTRY_POINT = "demeanor.agents"


def third_party() -> Mapping[str, str]:
    """The adapters in other packages: name → module."""
    return {point.name: point.value for point in installed(ENTRY_POINT) if point.name not in BUILT_IN}


def adapter(name: str, where: Path | str | None = None) -> ModuleType:
    """The module of an adapter; raises UnknownName if there is none."""
    if name in BUILT_IN:
        return import_module(f"demeanor.agents.{_MODULES.get(name, name.replace('-', '_'))}")
    others = third_party()
    if name not in others:
        raise UnknownName("adapter", name, (*BUILT_IN, *others), where=where)
    return import_module(others[name])


def make_agent(name: str, adapter_name: str, table: Table) -> Agent:
    """Make the agent `name` from its table in the configuration."""
    agent: Agent = adapter(adapter_name, table.where).read(name, table)
    table.finish()
    return agent
