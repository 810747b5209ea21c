"""The gate's answers: may this change merge?

After each round of trials, each cell gets an answer and the number of further trials that it needs. A cell that is
decided gets no more trials. No state is kept between rounds, so a gate can be resumed from stored trials.
"""

from __future__ import annotations

from collections.abc import Sequence

from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.core.values.exit_code import ExitCode
from demeanor.decide.gate import always, check_in, optimal
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.confirmation import confirm_rejection
from demeanor.decide.gate.effort import EFFORTS, STANDARD, Effort
from demeanor.decide.policies import exit_code


def gate(cells: Sequence[GateCell], *, effort: Effort = STANDARD, confirm: int = 0) -> tuple[GateAnswer, ...]:
    """One answer per cell from the trials so far, in the order of the cells.

    ALWAYS_PASSES evals must pass every trial, and USUALLY_FAILS evals are skipped. Of USUALLY_PASSES evals, a cell with
    nights follows its optimal plan, and one without must pass two of three. A rejection is confirmed by `confirm`
    fresh trials: one of them must fail too.
    """
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
