"""The gate's rules, by name: may this change merge?

After each round of trials, a rule gives an answer for each cell and the number of further trials that it needs. A cell
that is decided gets no more trials. Rules keep no state between rounds, so a gate can be resumed from stored trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from demeanor.config.rule_names import rule_name
from demeanor.core.error_rates import ErrorRates
from demeanor.core.errors import UnknownName
from demeanor.core.exit_code import ExitCode
from demeanor.decide.gate import always, classic, optimal, screen
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.confirmation import confirm_rejection
from demeanor.decide.gate.effort import EFFORTS, STANDARD, Effort
from demeanor.decide.policies import exit_code

DEFAULT = optimal.NAME


class _GateErrorRates(Protocol):
    def __call__(self, rates: Sequence[float] = always.RATES, *, base: float = ..., past: int = ...) -> ErrorRates: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRule:
    """A rule for USUALLY_PASSES evals."""

    name: str
    """Its name on the command line."""

    judge: Callable[[Sequence[GateCell]], list[GateAnswer]]
    """USUALLY_PASSES cells of key subjects → one answer each, in the same order."""

    error_rates: _GateErrorRates
    """Its error rates at the given true rates, for a history of `past` trials with the rate `base`."""


def _optimal(effort: Effort) -> GateRule:
    return GateRule(
        name=optimal.NAME,
        judge=partial(optimal.judge, effort=effort),
        error_rates=partial(optimal.error_rates, effort=effort),
    )


RULES: Mapping[str, GateRule] = {
    optimal.NAME: _optimal(STANDARD),
    **{
        module.NAME: GateRule(name=module.NAME, judge=module.judge, error_rates=module.error_rates)
        for module in (screen, classic)
    },
}
"""The rules by name; `optimal` with the standard effort."""

VARIANTS = (*(_optimal(effort) for effort in EFFORTS.values()), RULES[screen.NAME], RULES[classic.NAME])
"""All rules, and `optimal` with each effort: for tables of their error rates."""


def rule_named(name: str, effort: Effort = STANDARD) -> GateRule:
    """The rule of this name; `optimal` with this effort. `seed` is accepted for `classic`."""
    current = rule_name(name)
    if current not in RULES:
        raise UnknownName("gate rule", name, RULES)
    return _optimal(effort) if current == optimal.NAME else RULES[current]


def gate(
    cells: Sequence[GateCell], *, rule: str = DEFAULT, effort: Effort = STANDARD, confirm: int = 0
) -> tuple[GateAnswer, ...]:
    """One answer per cell from the trials so far, in the order of the cells.

    Whatever the rule, ALWAYS_PASSES evals must pass every trial, and USUALLY_FAILS evals are skipped. A rejection by
    `optimal` or of an ALWAYS_PASSES eval is confirmed by `confirm` fresh trials: one of them must fail too.
    """
    chosen = rule_named(rule, effort)
    answers = {id(cell): always.judge(cell) for cell in cells if always.applies_to(cell)}
    usual = [cell for cell in cells if id(cell) not in answers]
    answers |= {id(answer.cell): answer for answer in chosen.judge(usual)}
    return tuple(confirm_rejection(answers[id(cell)], confirm) for cell in cells)


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
