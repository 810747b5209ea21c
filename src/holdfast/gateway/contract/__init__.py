"""The contract layer: what must hold when a conversation is told in another dialect, as data, and who keeps it."""

from holdfast.gateway.contract.case import Case, cases
from holdfast.gateway.contract.probe import Probe, probe_url
from holdfast.gateway.contract.runner import Converter, Result, ours, run

__all__ = ["Case", "Converter", "Probe", "Result", "cases", "ours", "probe_url", "run"]
