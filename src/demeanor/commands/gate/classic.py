"""The rule that teams know: three trials, at least 66 % of which must pass, on the key subjects."""

from __future__ import annotations

from collections.abc import Sequence

from demeanor.commands.gate.always import RATES, answer, go_on
from demeanor.commands.gate.cell import GateAnswer, GateCell
from demeanor.core.error_rates import ErrorRates, Operating
from demeanor.statistics.operating import operate

TRIALS = 3
NEEDED = 2


def judge(cells: Sequence[GateCell]) -> list[GateAnswer]:
    """Two of three must pass. A third trial that can't change the answer is not asked for."""
    return [_one(cell) for cell in cells]


def verdict(passed: int, failed: int) -> str | None:
    """What the first trials say; None to go on."""
    if passed >= NEEDED:
        return "accept"
    return "reject" if failed > TRIALS - NEEDED else None


def characteristics(rates: Sequence[float] = RATES, *, base: float = 0.95) -> ErrorRates:
    """How often a cell of a given rate is rejected; its past does not matter."""
    found = [(rate, operate(verdict, rate, cap=TRIALS)) for rate in rates]
    return ErrorRates(
        rule="seed",
        action="reject",
        about=f"USUALLY_PASSES: {TRIALS} trials, at least {NEEDED} of which must pass",
        setting="one eval with one subject",
        rows=tuple(Operating(rate=rate, chance=one.chance("reject"), trials=one.trials) for rate, one in found),
        notes=("it knows no history: an eval that has always passed 70 % of the time is rejected every fifth time",),
    )


def _one(cell: GateCell) -> GateAnswer:
    first = cell.outcomes[:TRIALS]
    passed, judged = sum(first), len(first)
    what = verdict(passed, judged - passed)
    score = f"{passed} of {judged} passed"
    if what == "accept":
        return answer(cell, "seed", "accept", f"{score}, at least two of three")
    if what == "reject":
        return answer(cell, "seed", "reject", f"{score}, fewer than two of three")
    return go_on(cell, "seed", max(NEEDED - passed, 1), score)
