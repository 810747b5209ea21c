"""The default rule: look quickly, and look again only where something failed.

A cell whose first three trials pass is fine. At the first fail it is *escalated*: up to ten fresh trials follow, which
are judged against the cell's own nights by a predictive p-value, raised for the number of escalated cells (Benjamini
and Hochberg). The failed trial itself is not counted again, so the choice of cells does not bias their p-values. A cell
stops as soon as no outcome of the trials to come could change its answer; so stopping early changes no error rate.

A cell without nights of its own (a new eval, or an edited one) has nothing to be held against: at least two thirds of
all its trials must pass, as before a check-in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from demeanor.commands.gate.always import answer, given_up, go_on
from demeanor.commands.gate.cell import GateAnswer, GateCell
from demeanor.commands.gate.screen_cell import FRESH, LEVEL, SCREEN, TrialSplit, fewest_to_settle, look, p_value
from demeanor.commands.gate.screen_error_rates import characteristics
from demeanor.statistics.beta_binomial import JEFFREYS, Prior
from demeanor.statistics.false_discovery import adjusted
from demeanor.statistics.shrinkage import fit_prior

__all__ = ["characteristics", "judge"]

_ENOUGH_CELLS = 20
"""With fewer cells of history there is too little to learn what the suite's rates have in common."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Escalated:
    """A cell that is held against its own past."""

    cell: GateCell
    look: TrialSplit
    belief: Prior

    @property
    def least_p(self) -> float:
        """The p-value if all trials to come fail."""
        return p_value(self.look.passed, self.belief)

    @property
    def most_p(self) -> float:
        """The p-value if all trials to come pass."""
        return p_value(self.look.passed + self.look.to_come, self.belief)


def judge(cells: Sequence[GateCell]) -> list[GateAnswer]:
    """One answer per cell, in order."""
    prior = prior_of(cells)
    looks = [look(cell.outcomes) for cell in cells]
    family = [
        _Escalated(cell=cell, look=seen, belief=prior.after(cell.past.passed, cell.past.failed))
        for cell, seen in zip(cells, looks, strict=True)
        if seen.state == "escalated" and cell.past is not None
    ]
    may_join = sum(
        seen.state == "screening" and cell.past is not None and not given_up(cell)
        for cell, seen in zip(cells, looks, strict=True)
    )
    held = {id(found.cell): found for found in _against_the_past(family, may_join)}
    return [held.get(id(cell)) or _by_itself(cell, seen) for cell, seen in zip(cells, looks, strict=True)]


def prior_of(cells: Sequence[GateCell]) -> Prior:
    """What the rates of this suite have in common; where there are too few, what one believes who knows nothing."""
    known = [(cell.past.passed, cell.past.judged) for cell in cells if cell.past is not None]
    return fit_prior(known) if len(known) >= _ENOUGH_CELLS else JEFFREYS


def _against_the_past(family: Sequence[_Escalated], may_join: int) -> list[GateAnswer]:
    """Answers that hold whatever the trials to come say; and for the rest, how many are wanted.

    Lower p-values of others can only lower an adjusted one. So what is rejected though all others turn out as well as
    they can is rejected for sure, and what is not rejected though they turn out as badly as they can is accepted.
    """
    going = [one for one in family if not (one.look.to_come and given_up(one.cell))]
    at_most = adjusted([one.most_p for one in going] + [1.0] * may_join)
    at_least = adjusted([one.least_p for one in going] + [0.0] * may_join)
    found = []
    for one, high, low in zip(going, at_most, at_least, strict=False):
        p, score = one.most_p if high <= LEVEL else one.least_p, _score(one)
        if high <= LEVEL:
            said = answer(
                one.cell, "screen", "reject", f"{score}: p ≤ {high:.2g}, raised for {len(going)} escalated cells"
            )
        elif low > LEVEL:
            said = answer(one.cell, "screen", "accept", f"{score}: no surprise, p ≥ {low:.2g}")
        else:
            more = fewest_to_settle(one.look.passed, one.look.judged, one.belief, family=len(going) + may_join)
            doubt = 1 - abs((one.least_p + one.most_p) / 2 - LEVEL)
            said = go_on(one.cell, "screen", more, score, doubt=doubt, waits=more == 0)
        found.append(replace(said, p_value=p, adjusted=high if high <= LEVEL else low))
    return found + [go_on(one.cell, "screen", 0, _score(one)) for one in family if one not in going]


def _by_itself(cell: GateCell, seen: TrialSplit) -> GateAnswer:
    passed, judged = sum(cell.outcomes), len(cell.outcomes)
    if seen.state == "fine":
        return answer(cell, "screen", "accept", f"the first {SCREEN} passed")
    if seen.state == "screening":
        return go_on(cell, "screen", SCREEN - judged, f"{passed} of {judged} passed, the first {SCREEN} must")
    total = seen.screened + FRESH
    passed = seen.screened - 1 + seen.passed
    score = f"{passed} of {seen.screened + seen.judged} passed; it has no nights of its own, so two of three must"
    if 3 * passed >= 2 * total:
        return answer(cell, "screen", "accept", score)
    if 3 * (passed + seen.to_come) < 2 * total:
        return answer(cell, "screen", "reject", score)
    to_accept = -(-2 * total // 3) - passed
    to_reject = seen.to_come - (to_accept - 1)
    return go_on(cell, "screen", min(to_accept, to_reject), score)


def _score(one: _Escalated) -> str:
    past = one.cell.past
    nights = f"{past.passed} of {past.judged} in {past.nights} nights" if past else "no nights"
    mixed = f" (of {len(past.fingerprints)} different fingerprints)" if past and past.mixed else ""
    return f"{one.look.passed} of {one.look.judged} fresh trials passed, after {nights}{mixed}"
