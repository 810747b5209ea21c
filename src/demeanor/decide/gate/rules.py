"""The gate's answers: may this change merge?

After each round of trials, each cell gets an answer and the number of further trials that it needs. A cell that is
decided gets no more trials. No state is kept between rounds, so a gate can be resumed from stored trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.core.values.exit_code import ExitCode
from demeanor.decide.gate import always, check_in, optimal
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.confirmation import confirm_rejection
from demeanor.decide.gate.effort import EFFORTS, STANDARD, Effort
from demeanor.decide.policies import exit_code, too_many_voids


def gate(cells: Sequence[GateCell], *, effort: Effort = STANDARD, confirm: int = 0) -> tuple[GateAnswer, ...]:
    """One answer per cell from the trials so far, in the order of the cells.

    ALWAYS_PASSES evals must pass every trial, and USUALLY_FAILS evals are skipped. Of USUALLY_PASSES evals, a cell with
    nights follows its optimal plan, and one without must pass two of three. A rejection is confirmed by `confirm`
    fresh trials: one of them must fail too. A cell is accepted only if it would be with every void trial that its agent
    may have brought about counted as a fail.
    """
    answers = _judged(cells, effort, confirm)
    doubted = [
        len(answer.cell.worst) > len(answer.cell.outcomes) and answer.decision.answer == "accept" for answer in answers
    ]
    if not any(doubted):
        return answers
    worst = [replace(cell, outcomes=cell.worst) if doubt else cell for cell, doubt in zip(cells, doubted, strict=True)]
    pairs = zip(answers, _judged(worst, effort, confirm), doubted, strict=True)
    return tuple(_despite_voids(answer, other) if doubt else answer for answer, other, doubt in pairs)


def _despite_voids(answer: GateAnswer, worst: GateAnswer) -> GateAnswer:
    """An accepted cell: undecided if its void trials could be failures that would be too many."""
    if worst.decision.answer == "accept":
        return answer
    voids = len(answer.cell.worst) - len(answer.cell.outcomes)
    reason = f"{answer.decision.reason}, but {too_many_voids(voids)}"
    decision = replace(answer.decision, answer="undecided", reason=reason)
    return replace(answer, decision=decision, more=worst.more, doubt=worst.doubt)


def _judged(cells: Sequence[GateCell], effort: Effort, confirm: int) -> tuple[GateAnswer, ...]:
    """The answers without regard to void trials."""
    answers, planned = {}, []
    for cell in cells:
        if always.applies_to(cell):
            answers[id(cell)] = always.judge(cell)
        elif check_in.applies_to(cell):
            answers[id(cell)] = check_in.judge(cell)
        else:
            planned.append(cell)
    answers |= {id(answer.cell): answer for answer in optimal.judge(planned, effort=effort)}
    return tuple(confirm_rejection(answers[id(cell)], confirm) for cell in cells)


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


def gate_exit_code(answers: Sequence[GateAnswer]) -> ExitCode:
    """Rejected if one cell is rejected; otherwise undecided if one cell is undecided."""
    return exit_code(answer.decision for answer in answers)
