"""Capture → Evidence: what went over the wire, the agent's own log and the workspace, told as one story."""

from demeanor.observe.observe import observe

__all__ = ["observe"]
