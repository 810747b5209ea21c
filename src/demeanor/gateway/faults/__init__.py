"""Fault injection: responses that are broken on purpose, in any dialect. docs/gateway.md lists the faults."""

from demeanor.gateway.faults.injection import inject

__all__ = ["inject"]
