"""What every gate does alike: ALWAYS_PASSES must pass every time, and some cells are no business of a gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from demeanor.commands.gate.cell import GateAnswer, GateCell
from demeanor.core.error_rates import ErrorRates, Operating
from demeanor.core.policy import Policy
from demeanor.core.tally import Decision
from demeanor.statistics.operating import operate

TRIALS = 3
"""How often an eval that always passes must pass."""

MOST_VOIDS = 3
"""After so many trials that could not be judged a cell is given up: it stays undecided."""

RATES = (0.99, 0.95, 0.9, 0.8, 0.7, 0.5)
"""The true pass rates that characteristics are printed for."""


def concerns(cell: GateCell) -> bool:
    """Whether the cell is judged here, whatever the rule."""
    return cell.policy is not Policy.USUALLY_PASSES or not cell.key


def judge(cell: GateCell) -> GateAnswer:
    """Every trial of an ALWAYS_PASSES eval must pass; the rest is skipped."""
    if not cell.key:
        return _skip(cell, f"{cell.subject} is not one of the key subjects")
    if cell.policy is Policy.USUALLY_FAILS:
        return _skip(cell, "known to fail: it never blocks, and is not tried")
    passed, judged = sum(cell.outcomes), len(cell.outcomes)
    if passed < judged:
        return answer(cell, "every_trial", "reject", f"{passed} of {judged} passed, but it must always pass")
    if judged >= TRIALS:
        return answer(cell, "every_trial", "accept", f"{passed} of {judged} passed, as it always must")
    return go_on(cell, "every_trial", TRIALS - judged, f"{passed} of {judged} passed, {TRIALS} must")


def answer(cell: GateCell, rule: str, what: Literal["accept", "reject"], reason: str) -> GateAnswer:
    """A final answer."""
    return GateAnswer(cell=cell, decision=Decision(answer=what, rule=rule, reason=reason))


def go_on(cell: GateCell, rule: str, more: int, reason: str, *, doubt: float = 1.0, waits: bool = False) -> GateAnswer:
    """No answer yet: more trials are wanted, unless too many could not be judged or it `waits` for other cells."""
    if given_up(cell) and not waits:
        reason = f"{reason}; {cell.voided} trials are void, so it is given up"
        return GateAnswer(cell=cell, decision=Decision(answer="undecided", rule=rule, reason=reason))
    reason = f"{reason}; {more} more wanted" if more else f"{reason}; it waits for what the other cells show"
    return GateAnswer(
        cell=cell, decision=Decision(answer="undecided", rule=rule, reason=reason), more=more, doubt=doubt
    )


def given_up(cell: GateCell) -> bool:
    """Whether so many trials were void that no more are asked for."""
    return cell.voided > MOST_VOIDS


def characteristics(rates: Sequence[float] = RATES) -> ErrorRates:
    """How often an eval of a given rate is blocked."""
    rows = []
    for rate in rates:
        found = operate(lambda passed, failed: "reject" if failed else None, rate, cap=TRIALS)
        rows.append(Operating(rate=rate, chance=found.chance("reject"), trials=found.trials))
    return ErrorRates(
        rule="every_trial",
        action="reject",
        about=f"ALWAYS_PASSES: {TRIALS} trials, all of which must pass; the first fail ends it",
        setting="one eval with one subject",
        rows=tuple(rows),
        notes=("an eval that passes less than 99 % of the time blocks too many changes for nothing to promise this",),
    )


def _skip(cell: GateCell, reason: str) -> GateAnswer:
    return GateAnswer(cell=cell, decision=Decision(answer="skipped", rule="none", reason=reason))
