"""Capture → Evidence: combines the exchanges, the agent's own log and the workspace."""

from demeanor.observe.observation import observe, separate

__all__ = ["observe", "separate"]
