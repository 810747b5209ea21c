"""Capture → Evidence: combines the exchanges, the agent's own log and the workspace."""

from demeanor.observe.observe import observe, separate

__all__ = ["observe", "separate"]
