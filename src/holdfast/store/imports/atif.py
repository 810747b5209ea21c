"""ATIF trajectories, of any version: read leniently, since every producer lags behind in its own way.

A trajectory may lack calls that were made, so nothing is concluded from what it does not say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def fits(data: Any) -> bool:
    """Whether a JSON document is such a trajectory."""
    return isinstance(data, dict) and str(data.get("schema_version", "")).startswith("ATIF-")


def turns_of(data: Any) -> int:
    """How many answers of a model there are."""
    return sum(1 for step in _steps(data) if step.get("source") == "agent")


def chain_of(data: Any) -> str:
    """The tools that were called, in order, for people."""
    calls = [call for step in _steps(data) for call in step.get("tool_calls") or () if isinstance(call, dict)]
    return " → ".join(str(call.get("function_name", "?")) for call in calls)


def _steps(data: Any) -> Iterator[dict[str, Any]]:
    steps = data.get("steps") if isinstance(data, dict) else None
    return (step for step in steps or () if isinstance(step, dict)) if isinstance(steps, list) else iter(())
