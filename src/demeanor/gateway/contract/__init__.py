"""The contract tests: what must hold when a message is translated to another dialect, as data, and their runners."""

from demeanor.gateway.contract.case import Case, ContractOutcome, MessageKind, cases
from demeanor.gateway.contract.probe import probe_url
from demeanor.gateway.contract.program import converter_program
from demeanor.gateway.contract.runner import Converter, builtin_converter, run

__all__ = [
    "Case",
    "ContractOutcome",
    "Converter",
    "MessageKind",
    "builtin_converter",
    "cases",
    "converter_program",
    "probe_url",
    "run",
]
