"""ALWAYS_PASSES evals must pass every trial, and some cells are skipped; also what all rules of a gate answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from demeanor.core.text.wording import count
from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.frontier import operating

NAME = "every_trial"

TRIALS = 3
"""Trials of an ALWAYS_PASSES eval."""

MAX_VOIDS = 3
"""A cell with more void trials than this is given up and stays undecided."""


def applies_to(cell: GateCell) -> bool:
    """Whether the cell is judged here."""
    return cell.policy is not Policy.USUALLY_PASSES or not cell.key


def judge(cell: GateCell) -> GateAnswer:
    """Every trial of an ALWAYS_PASSES eval must pass; other cells are skipped."""
    if not cell.key:
        return skip(cell, f"{cell.subject} is not one of the key subjects")
    if cell.policy is Policy.USUALLY_FAILS:
        return skip(cell, "known to fail: it never blocks, and is not tried")
    first = cell.outcomes[:TRIALS]  # later ones, which may confirm a rejection, change no answer
    passed, judged = sum(first), len(first)
    if passed < judged:
        answer = decide(cell, NAME, "reject", f"{passed} of {judged} passed, but it must always pass")
        return replace(answer, used=cell.outcomes.index(False) + 1)
    if judged >= TRIALS:
        return decide(cell, NAME, "accept", f"{passed} of {judged} passed")
    return ask_for(cell, NAME, TRIALS - judged, f"{passed} of {judged} passed, {TRIALS} must")


def decide(cell: GateCell, rule: str, answer: Literal["accept", "reject"], reason: str) -> GateAnswer:
    """A final answer."""
    return GateAnswer(cell=cell, decision=Decision(answer=answer, rule=rule, reason=reason))


def ask_for(cell: GateCell, rule: str, more: int, reason: str, *, doubt: float = 1.0) -> GateAnswer:
    """No answer yet: ask for `more` trials, unless too many are void."""
    if given_up(cell):
        reason = f"{reason}; given up, because {count(cell.voided, 'trial')} {'is' if cell.voided == 1 else 'are'} void"
        return GateAnswer(cell=cell, decision=Decision(answer="undecided", rule=rule, reason=reason))
    decision = Decision(answer="undecided", rule=rule, reason=f"{reason}; {more} more needed")
    return GateAnswer(cell=cell, decision=decision, more=more, doubt=doubt)


def given_up(cell: GateCell) -> bool:
    """Whether too many trials were void to ask for more."""
    return cell.voided > MAX_VOIDS


def verdict(passed: int, failed: int) -> str | None:
    """The answer after some trials; None to continue."""
    if failed:
        return "reject"
    return "accept" if passed >= TRIALS else None


def error_rates(rates: Sequence[float] = RATES, *, correlation: float = 0.0, confirm: int = 0) -> ErrorRates:
    """How often an ALWAYS_PASSES eval is rejected, given its true rate."""
    return ErrorRates(
        rule=NAME,
        action="reject",
        about=f"ALWAYS_PASSES: {TRIALS} trials, all of which must pass; stops at the first failure",
        setting="one eval with one subject",
        rows=tuple(operating(verdict, p, cap=TRIALS, correlation=correlation, confirm=confirm) for p in rates),
        notes=("an eval that passes less than 99 % of the time should not be ALWAYS_PASSES: it blocks good changes",),
    )


def skip(cell: GateCell, reason: str) -> GateAnswer:
    """The cell is not tried and does not count."""
    return GateAnswer(cell=cell, decision=Decision(answer="skipped", rule="none", reason=reason))
