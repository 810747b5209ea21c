"""The contract layer: what must hold when a conversation is told in another dialect, as data, and who keeps it."""

from demeanor.gateway.contract.case import Case, cases
from demeanor.gateway.contract.outcome import ContractOutcome
from demeanor.gateway.contract.probe import probe_url
from demeanor.gateway.contract.runner import Converter, ours, run

__all__ = ["Case", "ContractOutcome", "Converter", "cases", "ours", "probe_url", "run"]
