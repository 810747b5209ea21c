"""Real agents, each in an exact version, installed once into the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from demeanor.agents import adapter
from demeanor.agents.install import install

AGENTS_FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "demeanor-test-agents"


def installed(name: str) -> Path:
    """The program of an agent; what can't be installed is an error, not a skip."""
    return install(adapter(name).RECIPE, None, AGENTS_FOLDER, os.environ, lambda news: None)
