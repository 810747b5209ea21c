"""Rates that a fallible judge measured, corrected for its errors, and its agreement with people.

A judge with the sensitivity `se` (it passes what is good) and the specificity `sp` (it fails what is bad) reports the
rate `q = p * se + (1 - p) * (1 - sp)`. Rogan and Gladen (1978) solve that for `p`. Both error rates are estimated from
labels, so the interval of Lang and Reiczigel (2014) includes their uncertainty. A judge with `se + sp <= 1` is no
better than a coin: nothing can be concluded from its answers.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from demeanor.statistics.intervals import Interval


class LabelledCounts(NamedTuple):
    """How a judge's answers compare with the labels of people."""

    passed_good: int
    """Good trials that it passed."""

    failed_good: int
    """Good trials that it failed."""

    passed_bad: int
    """Bad trials that it passed."""

    failed_bad: int
    """Bad trials that it failed."""

    @property
    def good(self) -> int:
        """Trials that people call good."""
        return self.passed_good + self.failed_good

    @property
    def bad(self) -> int:
        """Trials that people call bad."""
        return self.passed_bad + self.failed_bad

    @property
    def sensitivity(self) -> float:
        """The share of good trials that it passed."""
        return self.passed_good / self.good

    @property
    def specificity(self) -> float:
        """The share of bad trials that it failed."""
        return self.failed_bad / self.bad

    @property
    def informative(self) -> bool:
        """Whether anything can be concluded from its answers."""
        return self.good > 0 and self.bad > 0 and self.sensitivity + self.specificity > 1


def rogan_gladen(rate: float, sensitivity: float, specificity: float) -> float:
    """The true rate behind a measured one, between 0 and 1."""
    if sensitivity + specificity <= 1:
        raise ValueError(f"sensitivity={sensitivity}, specificity={specificity}: their sum must be above 1")
    return min(1.0, max(0.0, (rate + specificity - 1) / (sensitivity + specificity - 1)))


def corrected_interval(passed: int, judged: int, labels: LabelledCounts, *, level: float = 0.95) -> Interval:
    """The interval of the true rate, by Lang and Reiczigel: the error rates are estimates too."""
    if judged < 1 or not labels.informative:
        raise ValueError(f"judged={judged}, labels={labels}: there is nothing to conclude from these answers")
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate, trials = (passed + z * z / 2) / (judged + z * z), judged + z * z
    se, good = (labels.passed_good + 1) / (labels.good + 2), labels.good + 2
    sp, bad = (labels.failed_bad + 1) / (labels.bad + 2), labels.bad + 2
    if se + sp <= 1:
        return Interval(0.0, 1.0)
    true = (rate + sp - 1) / (se + sp - 1)
    of_se, of_sp = se * (1 - se) / good, sp * (1 - sp) / bad
    shift = 2 * z * z * (true * of_se - (1 - true) * of_sp)
    variance = (rate * (1 - rate) / trials + true**2 * of_se + (1 - true) ** 2 * of_sp) / (se + sp - 1) ** 2
    half = z * math.sqrt(variance)
    return Interval(min(1.0, max(0.0, true + shift - half)), max(0.0, min(1.0, true + shift + half)))


def cohens_kappa(labels: LabelledCounts, *, level: float = 0.95) -> tuple[float, Interval] | None:
    """Cohen's kappa of judge and people, with the interval of Fleiss, Cohen and Everitt (1969); ends may be negative.

    None if both always say the same, whatever the trial: agreement by chance is then perfect.
    """
    number = sum(labels)
    if number == 0:
        return None
    table = [[cell / number for cell in row] for row in (labels[:2], labels[2:])]
    rows = [math.fsum(row) for row in table]
    columns = [table[0][n] + table[1][n] for n in (0, 1)]
    chance = math.fsum(rows[n] * columns[n] for n in (0, 1))
    if chance >= 1:
        return None
    kappa = (table[0][0] + table[1][1] - chance) / (1 - chance)
    agreeing = math.fsum(table[n][n] * (1 - (rows[n] + columns[n]) * (1 - kappa)) ** 2 for n in (0, 1))
    differing = math.fsum(table[n][1 - n] * (columns[n] + rows[1 - n]) ** 2 for n in (0, 1)) * (1 - kappa) ** 2
    variance = (agreeing + differing - (kappa - chance * (1 - kappa)) ** 2) / (1 - chance) ** 2 / number
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(max(0.0, variance))
    return kappa, Interval(max(-1.0, kappa - half), min(1.0, kappa + half))
