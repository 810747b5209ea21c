"""The features of an attempt, one module each. An attempt applies those of its run in this order."""

from __future__ import annotations

from demeanor.runner.features.canary_token import CanaryToken
from demeanor.runner.features.debug_log import DebugLog
from demeanor.runner.features.feature import AttemptEnd, Feature
from demeanor.runner.features.home_files import HomeFiles
from demeanor.runner.features.mcp_servers import McpServers

__all__ = ["AttemptEnd", "Feature", "run_features"]


def run_features(*, canary: bool, agent_debug: bool) -> tuple[Feature, ...]:
    """The features of a run."""
    chosen: list[Feature] = [McpServers(), HomeFiles()]
    if agent_debug:
        chosen.append(DebugLog())
    if canary:
        chosen.append(CanaryToken())
    return tuple(chosen)
