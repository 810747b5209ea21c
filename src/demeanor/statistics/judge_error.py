"""Rates that a fallible judge measured, corrected for its errors, and its agreement with people.

The correction is stratified by the judge's verdict: the share of good trials of those that it passed, and of those
that it failed, are estimated each from its own labels. So it does not matter whether people label all trials or mostly
failures, as they do; sensitivity and specificity, by which Rogan and Gladen (1978) correct, would be those of the
labelled trials only. A judge with `se + sp <= 1` is no better than a coin: nothing can be concluded from it.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from demeanor.statistics.intervals import Interval, wilson


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
    def passed(self) -> int:
        """Labelled trials that the judge passed."""
        return self.passed_good + self.passed_bad

    @property
    def failed(self) -> int:
        """Labelled trials that the judge failed."""
        return self.failed_good + self.failed_bad

    @property
    def good_by_verdict(self) -> tuple[float, float]:
        """The share of good trials among those that it passed, and among those that it failed."""
        return self.passed_good / self.passed, self.failed_good / self.failed

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


def stratified_rate(passed: int, judged: int, labels: LabelledCounts, *, level: float = 0.95) -> tuple[float, Interval]:
    """The true rate behind a measured one, with its interval (MOVER, from Wilson's intervals of its three parts)."""
    if judged < 1 or not labels.informative:
        raise ValueError(f"judged={judged}, labels={labels}: there is nothing to conclude from these answers")
    share, good_passed, good_failed = passed / judged, *labels.good_by_verdict
    gain = good_passed - good_failed
    low, high = wilson(passed, judged, level=level)
    passes = wilson(labels.passed_good, labels.passed, level=level)
    fails = wilson(labels.failed_good, labels.failed, level=level)
    rate = share * good_passed + (1 - share) * good_failed
    below, above = (share - low, high - share) if gain > 0 else (high - share, share - low)
    down = (gain * below, share * (good_passed - passes.low), (1 - share) * (good_failed - fails.low))
    up = (gain * above, share * (passes.high - good_passed), (1 - share) * (fails.high - good_failed))
    return rate, Interval(max(0.0, rate - math.hypot(*down)), min(1.0, rate + math.hypot(*up)))


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
