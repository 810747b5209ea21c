"""Capture → Evidence: combines the exchanges, the agent's own log and the workspace."""

from demeanor.observe.observe import observe

__all__ = ["observe"]
