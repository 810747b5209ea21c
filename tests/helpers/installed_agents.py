"""Real agents, each in an exact version, installed once into the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from demeanor.agents.packages.installer import install
from demeanor.agents.registry import CODING_AGENTS, adapter

AGENTS_FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "demeanor-test-agents"


def selected_agents(usual: tuple[str, ...]) -> tuple[str, ...]:
    """The agents to test: those of DEMEANOR_TEST_AGENTS (`all`, or names and commas) or the usual ones."""
    selected = os.environ.get("DEMEANOR_TEST_AGENTS", "")
    if selected == "all":
        return CODING_AGENTS
    return tuple(selected.split(",")) if selected else usual


def installed(name: str) -> Path:
    """The program of an agent, installed if necessary; raises if it can't be installed."""
    return install(adapter(name).RECIPE, None, AGENTS_FOLDER, os.environ, lambda message: None)
