"""The rule `optimal`: the sequential plan with the fewest expected trials at its error rates.

Each cell follows a plan that is made for its own history. The trials are taken in the order of their numbers, and those
after the plan's answer are ignored, so an answer never changes.

The subjects of an eval share evidence: if one of them is rejected, those that were accepted get a second look with a
more thorough plan, because a change that breaks an eval for one subject often breaks it for others. So a cell is
accepted only when no other subject of its eval can still be rejected by its own plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from demeanor.core.text.percent import rate as percent
from demeanor.core.text.wording import count
from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.decide.gate.always import ask_for, decide, given_up
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.effort import SECOND_LOOK, STANDARD, Effort
from demeanor.decide.gate.frontier import EXPECTED, average_rates, cell_rates, expected_rate, plan_after
from demeanor.statistics import Answer, SequentialPlan

NAME = "optimal"

PAST_TRIALS = 60
PAST_RATE = EXPECTED
"""The history that error rates are calculated for, unless another one is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Followed:
    """A cell and where its plan stands."""

    cell: GateCell
    plan: SequentialPlan
    used: int
    answer: Answer | None


def judge(cells: Sequence[GateCell], *, effort: Effort = STANDARD) -> list[GateAnswer]:
    """One answer per cell, in order."""
    followed = [_follow(cell, effort) for cell in cells]
    by_eval: dict[str, list[_Followed]] = {}
    for one in followed:
        by_eval.setdefault(one.cell.eval, []).append(one)
    answers = [_answer(one, [other for other in by_eval[one.cell.eval] if other is not one]) for one in followed]
    return [replace(one, rates=cell_rates(*_past(one.cell), effort)) for one in answers]


def _follow(cell: GateCell, effort: Effort) -> _Followed:
    plan = plan_after(*_past(cell), effort)
    used, answer = plan.follow(cell.outcomes)
    return _Followed(cell=cell, plan=plan, used=used, answer=answer)


def _answer(one: _Followed, others: Sequence[_Followed]) -> GateAnswer:
    """The answer of a cell, given the other subjects of its eval."""
    if one.answer is None:
        return _ask(one.cell, one.plan)
    if one.answer == "reject":
        return replace(decide(one.cell, NAME, "reject", _score(one.cell, one.used)), used=one.used)
    rejected = [other.cell.subject for other in others if other.answer == "reject"]
    if rejected:
        return _second_look(one, rejected[0])
    waiting = [other.cell.subject for other in others if other.answer is None and not given_up(other.cell)]
    if waiting:
        return ask_for(one.cell, NAME, 0, _score(one.cell, one.used), waits=True)
    return decide(one.cell, NAME, "accept", _score(one.cell, one.used))


def _second_look(one: _Followed, rejected: str) -> GateAnswer:
    """A more thorough plan for a cell that its own plan accepts."""
    plan = plan_after(*_past(one.cell), SECOND_LOOK)
    used, answer = plan.follow(one.cell.outcomes, start=one.used)
    why = f"second look, because {rejected} was rejected"
    if answer is None:
        return _ask(one.cell, plan, why)
    return replace(decide(one.cell, NAME, answer, f"{_score(one.cell, used)}; {why}"), used=used)


def _ask(cell: GateCell, plan: SequentialPlan, why: str = "") -> GateAnswer:
    passed, judged = sum(cell.outcomes), len(cell.outcomes)
    score = f"{_score(cell, judged)}; {why}" if why else _score(cell, judged)
    doubt = plan.doubts[passed, judged - passed]
    return ask_for(cell, NAME, plan.fewest(passed, judged - passed), score, doubt=doubt)


def _score(cell: GateCell, used: int) -> str:
    past = cell.past
    if past is None or not past.judged:
        known = "without a history"
    else:
        mixed = f" (with {len(past.fingerprints)} different fingerprints)" if past.mixed else ""
        known = f"after {past.passed} of {past.judged} in {count(past.nights, 'night')}{mixed}"
    return f"{sum(cell.outcomes[:used])} of {used} passed, {percent(expected_rate(*_past(cell)))} expected {known}"


def _past(cell: GateCell) -> tuple[int, int]:
    return (cell.past.passed, cell.past.failed) if cell.past else (0, 0)


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
