"""Former names of rules, which commands and configuration files still accept."""

from __future__ import annotations

FORMER_NAMES = {"seed": "classic"}
"""Former name → current name."""


def rule_name(name: str) -> str:
    """The current name of a rule. Commands store and show this name."""
    return FORMER_NAMES.get(name, name)
