"""May this change merge? Rules by name, each of which says per cell what it thinks and what it still wants to know.

A gate is asked again after each round of trials, until no cell wants more: a cell that is decided stops, and trials go
where doubt is. Nothing is kept between two rounds, so a gate can be resumed from what was stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from demeanor.commands.gate import always as gate_always
from demeanor.commands.gate import classic as gate_seed
from demeanor.commands.gate import screen as gate_screen
from demeanor.commands.gate.always import RATES
from demeanor.commands.gate.cell import GateAnswer, GateCell
from demeanor.commands.run.policies import exit_code
from demeanor.core.error_rates import ErrorRates
from demeanor.core.errors import UnknownName
from demeanor.core.exit_code import ExitCode

DEFAULT = "screen"


class _Telling(Protocol):
    def __call__(self, rates: Sequence[float] = RATES, *, base: float = ...) -> ErrorRates: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRule:
    """A rule for evals that usually pass."""

    name: str
    """Its name on the command line."""

    judge: Callable[[Sequence[GateCell]], list[GateAnswer]]
    """USUALLY_PASSES cells of key subjects → one answer each, in the same order."""

    characteristics: _Telling
    """What it costs and how often it errs, at these true rates, after a past of rate `base`."""


RULES: Mapping[str, GateRule] = {
    "screen": GateRule(name="screen", judge=gate_screen.judge, characteristics=gate_screen.characteristics),
    "seed": GateRule(name="seed", judge=gate_seed.judge, characteristics=gate_seed.characteristics),
}
"""The rules by name."""


def rule_named(name: str) -> GateRule:
    """The rule of this name."""
    if name not in RULES:
        raise UnknownName("gate rule", name, RULES)
    return RULES[name]


def gate(cells: Sequence[GateCell], *, rule: str = DEFAULT) -> tuple[GateAnswer, ...]:
    """What follows for each cell from all that is known so far, in the order of the cells.

    ALWAYS_PASSES must pass every time whatever the rule; USUALLY_FAILS never blocks and is not tried.
    """
    chosen = rule_named(rule)
    answers = {id(cell): gate_always.judge(cell) for cell in cells if gate_always.concerns(cell)}
    usual = [cell for cell in cells if id(cell) not in answers]
    answers |= {id(answer.cell): answer for answer in chosen.judge(usual)}
    return tuple(answers[id(cell)] for cell in cells)


def next_trials(answers: Sequence[GateAnswer], *, budget: int | None = None) -> dict[str, int]:
    """How many trials each cell gets in the next round, the most doubtful first; at most `budget` in all."""
    wanted = sorted((answer for answer in answers if answer.more), key=lambda answer: -answer.doubt)
    given: dict[str, int] = {}
    for answer in wanted:
        trials = answer.more if budget is None else min(answer.more, budget - sum(given.values()))
        if trials > 0:
            given[answer.cell.name] = trials
    return given


def gate_exit_code(answers: Sequence[GateAnswer]) -> ExitCode:
    """One reject blocks; short of that, one cell without an answer leaves the gate undecided."""
    return exit_code(answer.decision for answer in answers)
