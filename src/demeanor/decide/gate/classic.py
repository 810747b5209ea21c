"""The rule `classic`: three trials, of which at least two must pass."""

from __future__ import annotations

from collections.abc import Sequence

from demeanor.core.error_rates import ErrorRates
from demeanor.decide.gate.always import RATES, ask_for, decide
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.frontier import operating

NAME = "classic"
TRIALS = 3
NEEDED = 2


def judge(cells: Sequence[GateCell]) -> list[GateAnswer]:
    """One answer per cell. Does not ask for a third trial if it can't change the answer."""
    return [_judge(cell) for cell in cells]


def verdict(passed: int, failed: int) -> str | None:
    """The answer after some trials; None to continue."""
    if passed >= NEEDED:
        return "accept"
    return "reject" if failed > TRIALS - NEEDED else None


def error_rates(rates: Sequence[float] = RATES, *, base: float = 0.95, past: int = 60) -> ErrorRates:
    """How often a cell is rejected, given its true rate. The rule ignores the history: `base` and `past`."""
    return ErrorRates(
        rule=NAME,
        action="reject",
        about=f"USUALLY_PASSES: {TRIALS} trials, at least {NEEDED} of which must pass",
        setting="one eval with one subject",
        rows=tuple(operating(verdict, rate, cap=TRIALS) for rate in rates),
        notes=("it ignores the history: an eval that has always passed 70 % of the time is rejected every fifth time",),
    )


def _judge(cell: GateCell) -> GateAnswer:
    first = cell.outcomes[:TRIALS]
    passed, judged = sum(first), len(first)
    answer = verdict(passed, judged - passed)
    score = f"{passed} of {judged} passed"
    if answer == "accept":
        return decide(cell, NAME, "accept", f"{score}, at least two of three")
    if answer == "reject":
        return decide(cell, NAME, "reject", f"{score}, fewer than two of three")
    return ask_for(cell, NAME, max(NEEDED - passed, 1), score)
