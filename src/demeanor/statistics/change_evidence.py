"""The evidence for a change of rates in the last nights, in one pass over each series.

A scan of six subjects over ten weeks asks for 30,000 Bayes factors, and a report scans hundreds of evals. So the passes
and fails of a part of the nights are one integer, which is the difference of two sums and the key of a table of
logarithms. Then the factors of a series for all first nights are one list comprehension. In most nights a bound of
the evidence, from the largest factor of each series, is enough to see that there is no alarm.

Correlated trials of a night tell less than independent ones: each counts as a part of a trial, its `worth`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import exp

_PASS = 0x9E3779B1
"""Passes and fails of a part of the nights in one integer: passes * _PASS + fails."""

_MOST_ENTRIES = 200_000
_LARGE = 100.0
"""The logarithm from which on factors are compressed if they are too large for a float: such are alarms anyway."""

_BEFORE = (2.0, 0.5)
"""The prior of the rate before a fall: most evals pass most of the time. Mirrored for a rise."""

_AFTER = (1.0, 1.0)
_EACH, _ONE, _ALIKE = 0.1, 0.3, 0.6
"""The weights of: each subject changed by its own rates; one of them changed; all changed by the same rates."""

_FLOOR = 0.2
"""A subject that speaks against a change of each reduces its evidence to this factor."""

_COVERED = 0.8
"""A subject with less data than this share of the most complete one is not pooled with others: the mix would change."""

_ROUNDING = 1e-6
"""Far more than the rounding errors of a bound."""


class _LogTable(dict[int, float]):
    """Logarithms by counts, calculated when first asked for."""

    def __init__(self, make: Callable[[int, int], float]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, counts: int) -> float:
        if len(self) >= _MOST_ENTRIES:
            self.clear()
        value = self[counts] = self._make(*divmod(counts, _PASS))
        return value


def _marginal(a: float, b: float, good: float, bad: float) -> float:
    """The logarithm of the probability of the counts, if the rate has a beta prior."""
    return (
        math.lgamma(a + good) + math.lgamma(b + bad) - math.lgamma(a + b + good + bad)
        - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b)
    )  # fmt: skip


def _best_constant(good: float, bad: float) -> float:
    """The log-likelihood of the counts at their own rate."""
    return math.fsum(part * math.log(part / (good + bad)) for part in (good, bad) if part)


class Logs:
    """The logarithms for trials of this worth."""

    def __init__(self, worth: float) -> None:
        self.before_fall = _LogTable(lambda passed, failed: _marginal(*_BEFORE, passed * worth, failed * worth))
        self.before_rise = _LogTable(lambda passed, failed: _marginal(*_BEFORE, failed * worth, passed * worth))
        self.since = _LogTable(lambda passed, failed: _marginal(*_AFTER, passed * worth, failed * worth))
        self.constant = _LogTable(lambda passed, failed: _best_constant(passed * worth, failed * worth))


@lru_cache(maxsize=8)
def logs_of(worth: float) -> Logs:
    """The tables are kept: most scans have trials of the same worth."""
    return Logs(worth)


_INDEPENDENT = logs_of(1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class CountSums:
    """The passes and fails of one series before each night, and after the last one."""

    passed: Sequence[int]
    failed: Sequence[int]
    judged: Sequence[int]
    both: Sequence[int]
    """Passes and fails in one integer."""

    def changed(self, start: int, end: int) -> bool:
        """Whether some trials of these nights passed and others failed."""
        return self.passed[end] > self.passed[start] and self.failed[end] > self.failed[start]


def summed(nights: Sequence[tuple[int, int]]) -> CountSums:
    """The sums of (passed, judged) per night."""
    for good, judged in nights:
        if not 0 <= good <= judged:
            raise ValueError(f"counts=({good}, {judged}): passed must be between 0 and judged")
    return _of_sums(
        list(accumulate((good for good, _ in nights), initial=0)),
        list(accumulate((judged - good for good, judged in nights), initial=0)),
    )


def _of_sums(passed: list[int], failed: list[int]) -> CountSums:
    return CountSums(
        passed=passed,
        failed=failed,
        judged=[good + bad for good, bad in zip(passed, failed, strict=True)],
        both=[good * _PASS + bad for good, bad in zip(passed, failed, strict=True)],
    )


def log_likelihood(
    sums: CountSums, start: int, split: int, end: int, *, fell: bool, logs: Logs = _INDEPENDENT
) -> float:
    """The logarithm of the probability of the counts of these nights, if the rate changed at `split`."""
    before = logs.before_fall if fell else logs.before_rise
    return before[sums.both[split] - sums.both[start]] + logs.since[sums.both[end] - sums.both[split]]


def bayes_factors(
    sums: CountSums, begin: int, splits: range, end: int, *, logs: Logs = _INDEPENDENT, falls: bool = True
) -> list[float]:
    """How much better a change explains the nights from `begin` to `end` than the best constant rate, for each first
    night after it: positive if the rate fell, negative if it rose, 0 for any fall without `falls`."""
    start, stop = sums.both[begin], sums.both[end]
    passed, failed = sums.passed[end] - sums.passed[begin], sums.failed[end] - sums.failed[begin]
    same = sums.passed[begin] * failed - sums.failed[begin] * passed
    constant = logs.constant[stop - start]
    before_fall, before_rise, since = logs.before_fall, logs.before_rise, logs.since
    first, last = splits.start, splits.stop
    nights = zip(sums.both[first:last], sums.passed[first:last], sums.failed[first:last], strict=True)
    factors = []
    try:
        for at, good, bad in nights:
            more = good * failed - bad * passed
            if more < same:
                factors.append(-exp(before_rise[at - start] + since[stop - at] - constant))
            elif more > same and falls:
                factors.append(exp(before_fall[at - start] + since[stop - at] - constant))
            else:
                factors.append(0.0)
        return factors
    except OverflowError:  # thousands of trials per night
        return [_compressed_factor(sums, begin, split, end, falls=falls, logs=logs) for split in splits]


def _compressed_factor(sums: CountSums, begin: int, split: int, end: int, *, falls: bool, logs: Logs) -> float:
    """A factor that may be too large for a float: in the same order as the true ones."""
    good, later_good = sums.passed[split] - sums.passed[begin], sums.passed[end] - sums.passed[split]
    more = good * (sums.judged[end] - sums.judged[split]) - later_good * (sums.judged[split] - sums.judged[begin])
    if not more or (more > 0 and not falls):
        return 0.0
    constant = logs.constant[sums.both[end] - sums.both[begin]]
    log = log_likelihood(sums, begin, split, end, fell=more > 0, logs=logs) - constant
    factor = exp(min(log, _LARGE + (log - _LARGE) * 1e-5, 7 * _LARGE))
    return factor if more > 0 else -factor


class ChangeEvidence:
    """The evidence for a change in some series, night by night."""

    def __init__(self, sums: Sequence[CountSums], worth: float = 1.0) -> None:
        self.sums = sums
        self.worth = worth
        self.logs = logs_of(worth)
        self._pools: dict[tuple[int, ...], CountSums] = {}

    def strongest(
        self, begins: Sequence[int], splits: range, end: int, *, falls: bool, needed: float
    ) -> tuple[bool, int] | None:
        """Whether the rates fell, and the most likely first night after that, if the evidence is enough."""
        factors: list[Sequence[float]] = [
            bayes_factors(sums, begin, range(max(splits.start, begin + 1), end), end, falls=falls, logs=self.logs)
            if sums.changed(begin, end)
            else ()
            for sums, begin in zip(self.sums, begins, strict=True)
        ]
        alike = self._alike(begins, splits, end, falls=falls) if len(factors) > 1 else ()
        if _bound(factors, begins, alike, splits) < needed * (1 - _ROUNDING):
            return None
        best: tuple[float, bool, int] = (0.0, False, 0)
        for fell in (True, False) if falls else (False,):
            evidence, peak, likely = 0.0, 0.0, 0
            for split in splits:
                factor = _mixture(factors, begins, alike, split, end, fell=fell)
                evidence += factor
                if factor > peak:
                    peak, likely = factor, split
            if evidence >= needed and evidence > best[0]:
                best = (evidence, fell, likely)
        return best[1:] if best[0] else None

    def _alike(self, begins: Sequence[int], splits: range, end: int, *, falls: bool) -> Sequence[float]:
        """The factors of the pooled counts of the series that have data on both sides, as if they were one."""
        begin = min(begins)
        names = tuple(index for index, start in enumerate(begins) if start == begin)
        whole = self._pool(names)
        own = bayes_factors(whole, begin, splits, end, falls=falls, logs=self.logs) if whole.changed(begin, end) else ()
        judged = [self.sums[index].judged for index in names]
        if all(row == judged[0] for row in judged):
            return own
        factors = list(own) or [0.0] * len(splits)
        for place, split in enumerate(splits):
            before = [row[split] - row[begin] for row in judged]
            after = [row[end] - row[split] for row in judged]
            least = _COVERED * max(before), _COVERED * max(after)
            if min(before) < least[0] or min(after) < least[1]:
                sides = zip(names, before, after, strict=True)
                pooled = tuple(name for name, old, new in sides if old >= least[0] and new >= least[1])
                factors[place] = self._factor_of(pooled, begin, splits[place : place + 1], end, falls=falls)
        return factors

    def _factor_of(self, names: tuple[int, ...], begin: int, split: range, end: int, *, falls: bool) -> float:
        if not names or not self._pool(names).changed(begin, end):
            return 0.0
        return bayes_factors(self._pool(names), begin, split, end, falls=falls, logs=self.logs)[0]

    def _pool(self, names: tuple[int, ...]) -> CountSums:
        """The sums of several series together."""
        if names not in self._pools:
            own = [self.sums[index] for index in names]
            passed = [sum(night) for night in zip(*(sums.passed for sums in own), strict=True)]
            failed = [sum(night) for night in zip(*(sums.failed for sums in own), strict=True)]
            self._pools[names] = _of_sums(passed, failed)
        return self._pools[names]


def _bound(factors: Sequence[Sequence[float]], begins: Sequence[int], alike: Sequence[float], splits: range) -> float:
    """The evidence is at most this, in either direction."""
    sums = [math.fsum(map(abs, own)) for own in factors]
    if len(factors) == 1:
        return sums[0]
    # A series that begins later takes no part in the factors of earlier nights, which is like a factor of 1.
    late = [begin >= splits.start for begin in begins]
    peaks = [
        max(1.0 if new else _FLOOR, max(map(abs, own), default=0.0)) for own, new in zip(factors, late, strict=True)
    ]
    place = max(range(len(peaks)), key=peaks.__getitem__)
    each = (
        math.prod(peaks[:place])
        * math.prod(peaks[place + 1 :])
        * (sums[place] + max(_FLOOR, late[place]) * len(splits))
    )
    weight = 1.0 if any(late) else _ONE / len(factors)
    return _EACH * each + weight * math.fsum(sums) + _ALIKE * math.fsum(map(abs, alike))


def _mixture(
    factors: Sequence[Sequence[float]],
    begins: Sequence[int],
    alike: Sequence[float],
    split: int,
    end: int,
    *,
    fell: bool,
) -> float:
    """The Bayes factor of a change at `split`: of each subject, of one of them, or of all alike."""
    sign = 1 if fell else -1
    each, together, number = 1.0, 0.0, 0
    for own, begin in zip(factors, begins, strict=True):
        if begin < split:
            factor = max(0.0, sign * own[split - end]) if own else 0.0
            each *= max(_FLOOR, factor)
            together += factor
            number += 1
    if number <= 1:
        return together
    pooled = max(0.0, sign * alike[split - end]) if alike else 0.0
    return _EACH * each + _ONE * together / number + _ALIKE * pooled
