"""The gate: which cells get how many trials, and when a change is rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.decide.gate.always import skip as skip
    from demeanor.decide.gate.cell import GateAnswer as GateAnswer, GateCell as GateCell
    from demeanor.decide.gate.effort import STANDARD as STANDARD, THOROUGH as THOROUGH, Effort as Effort
    from demeanor.decide.gate.error_rates import (
        applied_rates as applied_rates,
        gate_suite as gate_suite,
        unrejectable_notes as unrejectable_notes,
    )
    from demeanor.decide.gate.frontier import CellRates as CellRates
    from demeanor.decide.gate.rules import gate as gate, next_trials as next_trials
    from demeanor.decide.gate.suite import GateSuite as GateSuite
    from demeanor.decide.gate.unjudged import (
        Unjudged as Unjudged,
        weaker as weaker,
        weaker_policies as weaker_policies,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "always": "skip",
        "cell": "GateAnswer GateCell",
        "effort": "Effort STANDARD THOROUGH",
        "error_rates": "applied_rates gate_suite unrejectable_notes",
        "frontier": "CellRates",
        "rules": "gate next_trials",
        "suite": "GateSuite",
        "unjudged": "Unjudged weaker weaker_policies",
    },
)
