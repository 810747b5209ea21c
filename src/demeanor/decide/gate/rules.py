"""The gate's answers: may this change merge?

After each round of trials, each cell gets an answer and the number of further trials that it needs. A cell that is
decided gets no more trials. No state is kept between rounds, so a gate can be resumed from stored trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from demeanor.core.text.wording import all_of, count
from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.decide.gate import always, check_in, optimal
from demeanor.decide.gate.always import ask_for, decide
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.effort import EFFORTS, STANDARD, Effort
from demeanor.decide.policies import too_many_voids


def gate(
    cells: Sequence[GateCell], *, effort: Effort = STANDARD, confirm: int = 0, correlation: float = 0.0
) -> tuple[GateAnswer, ...]:
    """One answer per cell from the trials so far, in the order of the cells.

    ALWAYS_PASSES evals must pass every trial, and USUALLY_FAILS evals are skipped. Of USUALLY_PASSES evals, a cell with
    two nights follows its optimal plan, for trials with this correlation; one with fewer, or of a new or edited eval,
    must pass two of three. A rejection is
    confirmed by `confirm` fresh trials: one of them must fail too; that of a new or edited eval is not. A cell is
    accepted only if it would be with every void trial that its agent may have brought about counted as a fail. A
    confirmed rejection gives the other subjects of its eval a second look, which changes no answer.
    """
    answers = [_despite_voids(cell, effort, confirm, correlation) for cell in cells]
    return tuple(optimal.second_looks(answers, effort=effort, correlation=correlation))


def _despite_voids(cell: GateCell, effort: Effort, confirm: int, correlation: float) -> GateAnswer:
    """The answer of a cell: not accepted if its void trials could be failures that would be too many."""
    answer = _confirmed(cell, effort, confirm, correlation)
    voids = len(cell.worst) - len(cell.outcomes)
    if answer.decision.answer != "accept" or voids <= 0:
        return answer
    worst = _confirmed(replace(cell, outcomes=cell.worst), effort, confirm, correlation)
    if worst.decision.answer == "accept":
        return answer
    reason = f"{answer.decision.reason}, but {too_many_voids(voids)}"
    decision = replace(answer.decision, answer="undecided", reason=reason)
    return replace(answer, decision=decision, more=worst.more, doubt=worst.doubt)


def _confirmed(cell: GateCell, effort: Effort, confirm: int, correlation: float) -> GateAnswer:
    """The answer of the cell's own rule, without regard to void trials."""
    if always.applies_to(cell):
        answer = always.judge(cell)
    elif check_in.applies_to(cell):
        answer = check_in.judge(cell, correlation=correlation)
    else:
        answer = optimal.judge(cell, effort=effort, correlation=correlation)
    return confirm_rejection(answer, confirm)


def error_rates(
    rates: Sequence[float] = RATES, *, base: float = optimal.PAST_RATE, past: int = optimal.PAST_TRIALS
) -> tuple[ErrorRates, ...]:
    """The error rates of all rules at the given true rates; with a history, it has `past` trials at the rate `base`."""
    plans = (optimal.error_rates(rates, base=base, past=past, effort=effort) for effort in EFFORTS)
    return (always.error_rates(rates), *plans, check_in.error_rates(rates))


def next_trials(answers: Sequence[GateAnswer], *, budget: int | None = None) -> dict[str, int]:
    """Cell → trials in the next round, at most `budget` in total; the most doubtful cells come first."""
    open_answers = sorted((answer for answer in answers if answer.more), key=lambda answer: -answer.doubt)
    granted: dict[str, int] = {}
    for answer in open_answers:
        trials = answer.more if budget is None else min(answer.more, budget - sum(granted.values()))
        if trials > 0:
            granted[answer.cell.name] = trials
    return granted


# Confirmation of rejections: a rejected cell is accepted after all if some fresh trials all pass.
#
# With many cells, some healthy one is rejected by chance in most gates. Confirming costs trials only after a
# rejection.


def confirm_rejection(answer: GateAnswer, trials: int) -> GateAnswer:
    """The answer, if a rejection needs a failure among this many fresh trials; 0 for no confirmation."""
    if trials == 0 or answer.decision.answer != "reject" or answer.used is None:
        return answer
    cell, rule, reason = answer.cell, answer.decision.rule, answer.decision.reason
    fresh = cell.outcomes[answer.used : answer.used + trials]
    if False in fresh:
        return replace(answer, decision=replace(answer.decision, reason=f"{reason}; confirmed by a fresh trial"))
    if len(fresh) == trials:
        decision = decide(cell, rule, "accept", f"{reason}; not confirmed: {all_of(trials, 'fresh trial')} passed")
    else:
        waiting = f"{reason}; to be confirmed by {count(trials, 'fresh trial')}"
        decision = ask_for(cell, rule, trials - len(fresh), waiting)
    return replace(decision, rates=answer.rates)
