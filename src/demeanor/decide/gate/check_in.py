"""The check-in rule `two_of_three`, for a new or edited eval, and for one without two nights.

There is no rate to compare with (one night shows none, and a bad one must not make failing normal), so the policy
decides, as in a run and a night: at least two of three trials must pass. So a rejection of a new or edited eval is not
confirmed by fresh trials; its author can run them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.decide.gate.always import ask_for, decide
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.effort import LARGE_DROP, SMALL_DROP
from demeanor.decide.gate.frontier import EXPECTED, CellRates, operating

NAME = "two_of_three"
TRIALS = 3
NEEDED = 2


def applies_to(cell: GateCell) -> bool:
    """Whether the cell has no nights to compare with, or none that count."""
    return cell.past is None or cell.past.nights == 1 or cell.checked_in


def judge(cell: GateCell, *, correlation: float = 0.0) -> GateAnswer:
    """The answer. Does not ask for a third trial if it can't change the answer."""
    return replace(_judge(cell), rates=cell_rates(correlation))


def verdict(passed: int, failed: int) -> str | None:
    """The answer after some trials; None to continue."""
    if passed >= NEEDED:
        return "accept"
    return "reject" if failed > TRIALS - NEEDED else None


def error_rates(rates: Sequence[float] = RATES, *, correlation: float = 0.0, confirm: int = 0) -> ErrorRates:
    """How often a cell is rejected, given its true rate."""
    return ErrorRates(
        rule=NAME,
        action="reject",
        about=f"USUALLY_PASSES without two nights: {TRIALS} trials, at least {NEEDED} of which must pass",
        setting="one eval with one subject",
        rows=tuple(operating(verdict, p, cap=TRIALS, correlation=correlation, confirm=confirm) for p in rates),
        notes=("it compares with no history: an eval that passes 70 % of the time is rejected every fifth time",),
    )


def cell_rates(correlation: float = 0.0) -> CellRates:
    """The error rates of a cell that passes as often as an eval without nights is expected to."""
    healthy, small, large = (
        operating(verdict, round(EXPECTED * left, 2), cap=TRIALS, correlation=correlation)
        for left in (1.0, SMALL_DROP, LARGE_DROP)
    )
    return CellRates(healthy=healthy, small_drop=small, large_drop=large)


def _judge(cell: GateCell) -> GateAnswer:
    passed = 0
    for used, outcome in enumerate(cell.outcomes[:TRIALS], start=1):  # later trials may only confirm a rejection
        passed += outcome
        answer = verdict(passed, used - passed)
        if answer == "accept":
            return decide(cell, NAME, "accept", f"{passed} of {used} passed, at least two of three")
        if answer == "reject":
            reason = f"{passed} of {used} passed, fewer than two of three"
            return replace(decide(cell, NAME, "reject", reason), used=None if cell.checked_in else used)
    return ask_for(cell, NAME, max(NEEDED - passed, 1), f"{passed} of {len(cell.outcomes)} passed")
