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
from demeanor.statistics import effective

NAME = "optimal"

PAST_TRIALS = 60
PAST_RATE = EXPECTED
"""The history that error rates are calculated for, unless another one is given."""


def judge(cell: GateCell, *, effort: Effort = STANDARD, correlation: float = 0.0) -> GateAnswer:
    """The answer of a cell's own plan."""
    past = history(cell, correlation)
    plan = plan_after(*past, effort, correlation)
    used, answer = plan.follow(cell.outcomes)
    if answer is None:
        passed, judged = sum(cell.outcomes), len(cell.outcomes)
        doubt = plan.doubts[passed, judged - passed]
        decision = ask_for(cell, NAME, plan.fewest(passed, judged - passed), _score(cell, judged, past), doubt=doubt)
    else:
        decision = decide(cell, NAME, answer, _score(cell, used, past))
    rates = cell_rates(*past, effort, correlation)
    return replace(decision, used=used if answer == "reject" else None, rates=rates)


def second_looks(
    answers: Sequence[GateAnswer], *, effort: Effort = STANDARD, correlation: float = 0.0
) -> list[GateAnswer]:
    """The answers; a cell that its own plan accepts is looked at again if another subject of its eval is rejected."""
    rejected: dict[str, str] = {}
    for answer in answers:
        if answer.decision.answer == "reject":
            rejected.setdefault(answer.cell.eval, answer.cell.subject)
    return [
        _second_look(answer, rejected[answer.cell.eval], effort, correlation)
        if answer.decision.answer == "accept" and answer.decision.rule == NAME and answer.cell.eval in rejected
        else answer
        for answer in answers
    ]


def _second_look(answer: GateAnswer, rejected: str, effort: Effort, correlation: float) -> GateAnswer:
    cell, past = answer.cell, history(answer.cell, correlation)
    used, own = plan_after(*past, effort, correlation).follow(cell.outcomes)
    if own == "reject":  # its own plan rejected it, and fresh trials did not confirm that
        return answer
    plan = plan_after(*past, THOROUGH, correlation)
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


def _score(cell: GateCell, used: int, counted: tuple[float, float]) -> str:
    past = cell.past
    if past is None or not past.judged:
        text = "without a history"
    else:
        mixed = f" (with {len(past.fingerprints)} different fingerprints)" if past.mixed else ""
        text = f"after {past.passed} of {past.judged} in {count(past.nights, 'night')}{mixed}"
    return f"{sum(cell.outcomes[:used])} of {used} passed, {percent(expected_rate(*counted))} expected {text}"


def history(cell: GateCell, correlation: float = 0.0) -> tuple[float, float]:
    """The passes and failures that its nights are worth: correlated trials of a night tell less."""
    past = cell.past
    if past is None or not past.judged:
        return 0.0, 0.0
    worth = effective(past.judged / past.nights, correlation)
    return round(past.passed * worth, 1), round(past.failed * worth, 1)


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
