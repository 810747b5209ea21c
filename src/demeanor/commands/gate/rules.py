"""The gate's rules, by name: may this change merge?

After each round of trials, a rule gives an answer for each cell and the number of further trials that it needs. A cell
that is decided gets no more trials. Rules keep no state between rounds, so a gate can be resumed from stored trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from demeanor.commands.gate import always, classic, screen
from demeanor.commands.gate.cell import GateAnswer, GateCell
from demeanor.commands.run.policies import exit_code
from demeanor.config.rule_names import rule_name
from demeanor.core.error_rates import ErrorRates
from demeanor.core.errors import UnknownName
from demeanor.core.exit_code import ExitCode

DEFAULT = screen.NAME


class _GateErrorRates(Protocol):
    def __call__(self, rates: Sequence[float] = always.RATES, *, base: float = ...) -> ErrorRates: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRule:
    """A rule for USUALLY_PASSES evals."""

    name: str
    """Its name on the command line."""

    judge: Callable[[Sequence[GateCell]], list[GateAnswer]]
    """USUALLY_PASSES cells of key subjects → one answer each, in the same order."""

    error_rates: _GateErrorRates
    """Its error rates at the given true rates, for a history with the rate `base`."""


RULES: Mapping[str, GateRule] = {
    module.NAME: GateRule(name=module.NAME, judge=module.judge, error_rates=module.error_rates)
    for module in (screen, classic)
}
"""The rules by name."""


def rule_named(name: str) -> GateRule:
    """The rule of this name. `seed` is accepted for `classic`."""
    found = RULES.get(rule_name(name))
    if found is None:
        raise UnknownName("gate rule", name, RULES)
    return found


def gate(cells: Sequence[GateCell], *, rule: str = DEFAULT) -> tuple[GateAnswer, ...]:
    """One answer per cell from the trials so far, in the order of the cells.

    Whatever the rule, ALWAYS_PASSES evals must pass every trial, and USUALLY_FAILS evals are skipped.
    """
    chosen = rule_named(rule)
    answers = {id(cell): always.judge(cell) for cell in cells if always.applies_to(cell)}
    usual = [cell for cell in cells if id(cell) not in answers]
    answers |= {id(answer.cell): answer for answer in chosen.judge(usual)}
    return tuple(answers[id(cell)] for cell in cells)


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
