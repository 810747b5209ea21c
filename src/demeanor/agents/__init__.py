"""Coding agents: how each is started, how its log is read, and the programs that Demeanor brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.agents.jsonl import json_objects as json_objects
    from demeanor.agents.recipe import Recipe as Recipe, RecipeAgent as RecipeAgent, reader as reader
    from demeanor.agents.registry import (
        BUILT_IN as BUILT_IN,
        CODING_AGENTS as CODING_AGENTS,
        adapter as adapter,
        make_agent as make_agent,
        third_party as third_party,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "jsonl": "json_objects",
        "recipe": "Recipe RecipeAgent reader",
        "registry": "BUILT_IN CODING_AGENTS adapter make_agent third_party",
    },
)
