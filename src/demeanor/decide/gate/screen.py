"""The rule `screen`: three quick trials, and more only if one of them fails.

A cell is accepted when its first three trials pass. The first failure *escalates* it: it gets up to ten fresh trials,
which are compared with the cell's own nights by a predictive p-value, adjusted for the number of escalated cells
(Benjamini and Hochberg). The trial that failed is not counted again, so selecting the cell does not bias its p-value. A
cell stops as soon as no outcome of its remaining trials could change the answer, so stopping early does not change the
error rates.

A cell without a history (a new or edited eval) has no rate to compare with: at least two thirds of its trials must
pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import fsum
from typing import Literal

from demeanor.core.error_rates import ErrorRates, Operating
from demeanor.core.percent import rate as percent
from demeanor.core.percent import share
from demeanor.core.text import count
from demeanor.decide.gate.always import RATES, ask_for, decide, given_up
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.statistics import beta_binomial
from demeanor.statistics.beta_binomial import JEFFREYS, Prior
from demeanor.statistics.binomial import table
from demeanor.statistics.false_discovery import adjusted
from demeanor.statistics.operating import Operation, operate
from demeanor.statistics.shrinkage import fit_prior

NAME = "screen"

SCREEN = 3
"""A cell is accepted when this many trials pass at the start."""

FRESH = 10
"""The number of trials of an escalated cell."""

LEVEL = 0.10
"""The false discovery rate: the share of false alarms among rejected cells."""

PAST_TRIALS = 60
PAST_RATE = 0.95
"""The history that error rates are calculated for."""

_MIN_CELLS_FOR_PRIOR = 20
"""With fewer cells, there is too little data to estimate a common prior."""

_FAMILY = 20
_SHORT_PAST = 21


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialSplit:
    """The trials of a cell, split into those of the screen and the fresh ones after the failure."""

    state: Literal["screening", "fine", "escalated"]
    """Screening: fewer than three trials. Fine: the first three passed. Escalated: one of them failed."""

    screened: int
    """Trials up to and including the first failure."""

    passed: int = 0
    """Fresh trials that passed."""

    judged: int = 0
    """Fresh trials; those after the tenth are ignored."""

    @property
    def to_come(self) -> int:
        """Fresh trials that are still missing."""
        return FRESH - self.judged if self.state == "escalated" else 0


def split_trials(outcomes: Sequence[bool]) -> TrialSplit:
    """Split the trials of a cell, given in the order of their numbers."""
    first = list(outcomes[:SCREEN])
    if False in first:
        screened = first.index(False) + 1
        fresh = outcomes[screened : screened + FRESH]
        return TrialSplit(state="escalated", screened=screened, passed=sum(fresh), judged=len(fresh))
    return TrialSplit(state="fine" if len(first) == SCREEN else "screening", screened=len(first))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Escalated:
    """A cell that is compared with its own history."""

    cell: GateCell
    split: TrialSplit
    posterior: Prior

    @property
    def min_p(self) -> float:
        """The p-value if all remaining trials fail."""
        return p_value(self.split.passed, self.posterior)

    @property
    def max_p(self) -> float:
        """The p-value if all remaining trials pass."""
        return p_value(self.split.passed + self.split.to_come, self.posterior)


def p_value(passed: int, posterior: Prior) -> float:
    """The probability of at most this many passes among all fresh trials, given the cell's history."""
    return beta_binomial.at_most(passed, FRESH, posterior)


def judge(cells: Sequence[GateCell]) -> list[GateAnswer]:
    """One answer per cell, in order."""
    prior = suite_prior(cells)
    splits = [split_trials(cell.outcomes) for cell in cells]
    family = [
        _Escalated(cell=cell, split=split, posterior=prior.after(cell.past.passed, cell.past.failed))
        for cell, split in zip(cells, splits, strict=True)
        if split.state == "escalated" and cell.past is not None
    ]
    may_join = sum(
        split.state == "screening" and cell.past is not None and not given_up(cell)
        for cell, split in zip(cells, splits, strict=True)
    )
    answers = {id(answer.cell): answer for answer in _compare_with_history(family, may_join)}
    return [answers.get(id(cell)) or _without_history(cell, split) for cell, split in zip(cells, splits, strict=True)]


def suite_prior(cells: Sequence[GateCell]) -> Prior:
    """The prior that is fitted to the histories of all cells; the Jeffreys prior if there are too few."""
    known = [(cell.past.passed, cell.past.judged) for cell in cells if cell.past is not None]
    return fit_prior(known) if len(known) >= _MIN_CELLS_FOR_PRIOR else JEFFREYS


def _compare_with_history(family: Sequence[_Escalated], may_join: int) -> list[GateAnswer]:
    """Final answers where the remaining trials can't change them; otherwise the number of trials that are needed.

    Smaller p-values of other cells can only lower an adjusted p-value. So a cell is rejected for certain if it is
    rejected when all other cells get their best outcome, and accepted for certain if it is not rejected when they all
    get their worst. A cell with too many voids is given up, unless it is already certain to be rejected: an adjusted
    p-value is never above the p-value times the number of cells.
    """
    size = len(family) + may_join
    active = [one for one in family if not given_up(one.cell) or not one.split.to_come or one.max_p * size <= LEVEL]
    at_most = adjusted([one.max_p for one in active] + [1.0] * may_join)
    at_least = adjusted([one.min_p for one in active] + [0.0] * may_join)
    answers = []
    for one, high, low in zip(active, at_most, at_least, strict=False):
        p, score = one.max_p if high <= LEVEL else one.min_p, _score(one)
        if high <= LEVEL:
            reason = f"{score}: p ≤ {high:.2g}, adjusted for {count(len(active), 'escalated cell')}"
            answer = decide(one.cell, NAME, "reject", reason)
        elif low > LEVEL:
            answer = decide(one.cell, NAME, "accept", f"{score}: no evidence of a drop, p ≥ {low:.2g}")
        else:
            more = trials_to_decide(one.split.passed, one.split.judged, one.posterior, family=len(active) + may_join)
            doubt = 1 - abs((one.min_p + one.max_p) / 2 - LEVEL)
            answer = ask_for(one.cell, NAME, more, score, doubt=doubt, waits=more == 0)
        bound: Literal["=", "<=", ">="] = "<=" if high <= LEVEL else ">="
        exact = not one.split.to_come and high == low
        limit = high if high <= LEVEL else low
        answers.append(replace(answer, p_value=p, adjusted=limit, bound="=" if exact else bound))
    return answers + [ask_for(one.cell, NAME, 0, _score(one)) for one in family if one not in active]


def trials_to_decide(passed: int, judged: int, posterior: Prior, *, family: int, level: float = LEVEL) -> int:
    """The smallest number of further trials that could decide the cell, whatever the others of its family do."""
    to_come = FRESH - judged
    for more in range(1, to_come):
        accepted = p_value(passed + more, posterior) > level  # these pass, all others fail
        rejected = p_value(passed + to_come - more, posterior) <= level / family  # these fail, all others pass
        if accepted or rejected:
            return more
    return to_come


def _without_history(cell: GateCell, split: TrialSplit) -> GateAnswer:
    passed, judged = sum(cell.outcomes), len(cell.outcomes)
    if split.state == "fine":
        return decide(cell, NAME, "accept", f"the first {SCREEN} passed")
    if split.state == "screening":
        return ask_for(cell, NAME, SCREEN - judged, f"{passed} of {judged} passed, the first {SCREEN} must")
    total = split.screened + FRESH
    passed = split.screened - 1 + split.passed
    score = f"{passed} of {split.screened + split.judged} passed; it has no history, so two of three must pass"
    if 3 * passed >= 2 * total:
        return decide(cell, NAME, "accept", score)
    if 3 * (passed + split.to_come) < 2 * total:
        return decide(cell, NAME, "reject", score)
    to_accept = -(-2 * total // 3) - passed
    to_reject = split.to_come - (to_accept - 1)
    return ask_for(cell, NAME, min(to_accept, to_reject), score)


def _score(one: _Escalated) -> str:
    past = one.cell.past
    nights = f"{past.passed} of {past.judged} in {count(past.nights, 'night')}" if past else "no nights"
    mixed = f" (with {len(past.fingerprints)} different fingerprints)" if past and past.mixed else ""
    return f"{one.split.passed} of {count(one.split.judged, 'fresh trial')} passed, after {nights}{mixed}"


def error_rates(rates: Sequence[float] = RATES, *, base: float = PAST_RATE, past: int = PAST_TRIALS) -> ErrorRates:
    """How often a cell is rejected, given its true rate; its history has `past` trials at the rate `base`.

    Exact: summed over all histories that the cell could have, and over all outcomes of the fresh trials.
    """
    rows = [
        Operating(
            rate=rate,
            chance=p_reject(rate, past=past, past_rate=base),
            trials=mean_trials(rate, past=past, past_rate=base),
        )
        for rate in rates
    ]
    drops = " and ".join(
        f"to {percent(rate)} in {share(p_reject(rate, past=past, past_rate=base, family=_FAMILY))}"
        for rate in (0.8, 0.5)
        if rate < base
    )
    notes = (
        [f"as the only bad one of {_FAMILY} escalated cells, it detects a drop {drops} of all cases"] if drops else []
    )
    if base > 0.5 and past > _SHORT_PAST:
        short = p_reject(0.5, past=_SHORT_PAST, past_rate=base)
        notes.append(
            f"with a history of only {_SHORT_PAST} trials, it detects a drop to 50 % in {share(short)} of all cases"
        )
    return ErrorRates(
        rule=NAME,
        action="reject",
        about=(
            f"USUALLY_PASSES: accepted if the first {SCREEN} trials pass; else up to {FRESH} fresh trials, compared "
            f"with the cell's own nights, with at most {percent(LEVEL)} false alarms among the rejected"
        ),
        setting=f"one eval with one subject, alone, with a history of {count(past, 'trial')} at {percent(base)}",
        rows=tuple(rows),
        notes=tuple(notes),
    )


def p_reject(rate: float, *, past: int = PAST_TRIALS, past_rate: float = PAST_RATE, family: int = 1) -> float:
    """How often a cell of this true rate is rejected if it is the only bad one of `family` escalated cells."""
    return fsum(weight * found.chance("reject") for weight, found in _cases(rate, past, past_rate, family)) * (
        1 - rate**SCREEN
    )


def mean_trials(rate: float, *, past: int = PAST_TRIALS, past_rate: float = PAST_RATE) -> float:
    """The mean number of trials."""
    screened = fsum(rate**k for k in range(SCREEN))
    return screened + (1 - rate**SCREEN) * fsum(w * found.trials for w, found in _cases(rate, past, past_rate, 1))


def _cases(rate: float, past: int, past_rate: float, family: int) -> list[tuple[float, Operation]]:
    """The probability of each history, and how its fresh trials end. Histories with the same limit are one case."""
    weights: dict[int, float] = {}
    for passed, weight in enumerate(table(past, past_rate)):
        limit = _rejection_limit(passed, past - passed, LEVEL / family)
        weights[limit] = weights.get(limit, 0.0) + weight
    return [(weight, _fresh_trials(limit, rate)) for limit, weight in weights.items()]


@lru_cache(maxsize=4096)
def _rejection_limit(passed: int, failed: int, level: float) -> int:
    """The largest number of passes among the fresh trials that still rejects; -1 if none does."""
    posterior = JEFFREYS.after(passed, failed)
    return max((k for k in range(FRESH + 1) if p_value(k, posterior) <= level), default=-1)


@lru_cache(maxsize=256)
def _fresh_trials(limit: int, rate: float) -> Operation:
    def stop(passed: int, failed: int) -> str | None:
        if passed > limit:
            return "accept"
        return "reject" if FRESH - failed <= limit else None

    return operate(stop, rate, cap=FRESH)
