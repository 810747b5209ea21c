"""Faults: answers that are broken on purpose on their way to the agent, in any dialect. docs/faults.md lists them."""

from demeanor.gateway.faults.injection import inject

__all__ = ["inject"]
