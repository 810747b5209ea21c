"""What an import takes from an ATIF trajectory (core/atif.py): how many turns there were, and which tools were used."""

from __future__ import annotations

from typing import Any

from demeanor.harbor_format.atif import atif_steps


def fits(data: Any) -> bool:
    """Whether a JSON document is such a trajectory."""
    return isinstance(data, dict) and str(data.get("schema_version", "")).startswith("ATIF-")


def turns_of(data: Any) -> int:
    """How many answers of a model there are."""
    return sum(1 for step in atif_steps(data) if step.get("source") == "agent")


def chain_of(data: Any) -> str:
    """The tools that were called, in order, for people."""
    calls = [call for step in atif_steps(data) for call in step.get("tool_calls") or () if isinstance(call, dict)]
    return " → ".join(str(call.get("function_name", "?")) for call in calls)
