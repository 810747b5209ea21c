"""May this change merge? The gate in rounds, and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.gate.render import error_rates_line as error_rates_line, gate_terminal as gate_terminal
    from demeanor.reports.gate.report import GATE_DOCUMENT as GATE_DOCUMENT, GateReport as GateReport
    from demeanor.reports.gate.rounds import (
        GateState as GateState,
        final_exit_code as final_exit_code,
        gate_decisions as gate_decisions,
        gate_files as gate_files,
        gate_notes as gate_notes,
        make_gate_report as make_gate_report,
        make_gate_state as make_gate_state,
        require_removed as require_removed,
        run_rounds as run_rounds,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "render": "error_rates_line gate_terminal",
        "report": "GATE_DOCUMENT GateReport",
        "rounds": (
            "GateState final_exit_code gate_decisions gate_files gate_notes make_gate_report make_gate_state "
            "require_removed run_rounds"
        ),
    },
)
