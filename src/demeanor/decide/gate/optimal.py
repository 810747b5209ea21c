"""The rule `optimal`: the sequential plan with the fewest expected trials at its error rates.

Each cell follows a plan that is made for its own history. The trials are taken in the order of their numbers, and those
after the plan's answer are ignored, so an answer never changes.

If a subject of an eval is rejected, the others get a second look with more trials, because a change that breaks an eval
for one subject often breaks it for others. It only tells whom to suspect: it comes after the confirmation of the
rejection, and never rejects a cell, since looking again at many healthy cells would blame some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from demeanor.core.text.percent import rate as percent
from demeanor.core.text.wording import count
from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.decide.gate.always import ask_for, decide, given_up
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.effort import STANDARD, THOROUGH, Effort
from demeanor.decide.gate.frontier import EXPECTED, average_rates, cell_rates, expected_rate, plan_after

NAME = "optimal"

PAST_TRIALS = 60
PAST_RATE = EXPECTED
"""The history that error rates are calculated for, unless another one is given."""


def judge(cell: GateCell, *, effort: Effort = STANDARD) -> GateAnswer:
    """The answer of a cell's own plan."""
    plan = plan_after(*_past(cell), effort)
    used, answer = plan.follow(cell.outcomes)
    if answer is None:
        passed, judged = sum(cell.outcomes), len(cell.outcomes)
        doubt = plan.doubts[passed, judged - passed]
        found = ask_for(cell, NAME, plan.fewest(passed, judged - passed), _score(cell, judged), doubt=doubt)
    else:
        found = decide(cell, NAME, answer, _score(cell, used))
    return replace(found, used=used if answer == "reject" else None, rates=cell_rates(*_past(cell), effort))


def second_looks(answers: Sequence[GateAnswer], *, effort: Effort = STANDARD) -> list[GateAnswer]:
    """The answers; a cell that its own plan accepts is looked at again if another subject of its eval is rejected."""
    rejected: dict[str, str] = {}
    for one in answers:
        if one.decision.answer == "reject":
            rejected.setdefault(one.cell.eval, one.cell.subject)
    return [
        _second_look(one, rejected[one.cell.eval], effort)
        if one.decision.answer == "accept" and one.decision.rule == NAME and one.cell.eval in rejected
        else one
        for one in answers
    ]


def _second_look(answer: GateAnswer, rejected: str, effort: Effort) -> GateAnswer:
    cell = answer.cell
    used, own = plan_after(*_past(cell), effort).follow(cell.outcomes)
    if own == "reject":  # its own plan rejected it, and fresh trials did not confirm that
        return answer
    plan = plan_after(*_past(cell), THOROUGH)
    used, seen = plan.follow(cell.outcomes, start=used)
    if seen is None:
        passed, judged = sum(cell.outcomes), len(cell.outcomes)
        more = 0 if given_up(cell) else plan.fewest(passed, judged - passed)
        return replace(answer, more=more, doubt=0.0)
    if seen == "accept":
        return answer
    reason = f"{answer.decision.reason}; also suspected, because {rejected} was rejected: {sum(cell.outcomes[:used])}"
    decision = replace(answer.decision, reason=f"{reason} of {used} passed in all")
    return replace(answer, decision=decision, suspected=True)


def _score(cell: GateCell, used: int) -> str:
    past = cell.past
    if past is None or not past.judged:
        known = "without a history"
    else:
        mixed = f" (with {len(past.fingerprints)} different fingerprints)" if past.mixed else ""
        known = f"after {past.passed} of {past.judged} in {count(past.nights, 'night')}{mixed}"
    return f"{sum(cell.outcomes[:used])} of {used} passed, {percent(expected_rate(*_past(cell)))} expected {known}"


def _past(cell: GateCell) -> tuple[int, int]:
    """The history that its plan is made for. One night is none: a bad first one must not make failing normal."""
    return (cell.past.passed, cell.past.failed) if cell.past and cell.past.nights > 1 else (0, 0)


def error_rates(
    rates: Sequence[float] = RATES, *, base: float = PAST_RATE, past: int = PAST_TRIALS, effort: Effort = STANDARD
) -> ErrorRates:
    """How often a cell is rejected, given its true rate; its history has `past` trials at the rate `base`.

    Exact: averaged over all histories that the cell could have, and over all outcomes of its trials.
    """
    return ErrorRates(
        rule=f"{NAME} {effort.name}",
        action="reject",
        about=about(effort),
        setting=f"one eval with one subject, with a history of {count(past, 'trial')} at {percent(base)}",
        rows=average_rates(rates, past=past, base=base, effort=effort),
    )


def about(effort: Effort) -> str:
    """The rule in one sentence."""
    return (
        f"USUALLY_PASSES: {effort.first} to {count(effort.cap, 'trial')} by the plan that needs the fewest at its "
        "error rates, given the cell's own nights"
    )
