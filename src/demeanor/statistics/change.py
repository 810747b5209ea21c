"""When did a rate change? A Shiryaev-Roberts scan of nightly counts that needs no warm-up and no known rate.

After each night, every earlier night is tried as the first one with another rate. Its Bayes factor compares two rates,
with beta priors, with the one rate that explains all nights best. The sum over the last `CANDIDATES` nights is the
evidence; at `limit` there is an alarm, and the nights before the change are forgotten. Dividing by the best constant
rate makes the evidence honest for every rate: no prior can make a steady eval look like a changed one.

The subjects of an eval are scanned together. A change may affect one of them, each by its own rates, or all of them by
the same rates; the Bayes factor is a mixture of the three. So a drop of all subjects is found earlier than that of one.

The limits were found by simulation: about one false alarm, of a fall or a rise, in 400 nights, and fewer for most rates
(docs/statistics.md has the figures).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

Counts: TypeAlias = tuple[int, int]
"""Passed and judged trials of one night."""

NIGHTS_BETWEEN_FALSE_ALARMS = 400
"""The mean number of nights until a steady eval raises an alarm, at least."""

CANDIDATES = 30
"""A change is looked for within this many nights."""

MEMORY = 60
"""The nights that count, at most; a change is found by comparison with these."""

MIN_NIGHTS = 3
"""With fewer nights, no change is looked for."""

_BEFORE = (2.0, 0.5)
"""The prior of the rate before a fall: most evals pass most of the time. Mirrored for a rise."""

_AFTER = (1.0, 1.0)
_EACH, _ONE, _ALIKE = 0.1, 0.3, 0.6
"""The weights of: each subject changed by its own rates; one of them changed; all changed by the same rates."""

_FLOOR = 0.2
"""A subject that speaks against a change of each reduces its evidence to this factor."""

_COVERED = 0.8
"""A subject with less data than this share of the most complete one is not pooled with others: the mix would change."""

_CREDIBLE = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class RateChange:
    """A change of the rate of one or several series."""

    fell: bool
    """Whether the rate became lower."""

    first: int
    """The index of the first night after the change: the one that is most likely right or next to right."""

    earliest: int
    """The first night after the change is not before this one (95 %)."""

    latest: int
    """The first night after the change is not after this one (95 %)."""

    noticed: int
    """The first night with enough evidence."""

    series: tuple[int, ...]
    """Which series changed."""

    start: int
    """Where the nights begin that it was compared with."""

    end: int
    """Where the nights end that have the new rate: at the next change, or after the last night."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sums:
    """The passes and fails of one series up to each night."""

    passed: Sequence[int]
    failed: Sequence[int]

    def between(self, start: int, end: int, *, falls: bool = True) -> Counts:
        """Passes and fails of these nights; the other way round for a rise."""
        passed, failed = self.passed[end] - self.passed[start], self.failed[end] - self.failed[start]
        return (passed, failed) if falls else (failed, passed)


def find_changes(series: Sequence[Sequence[Counts]]) -> tuple[RateChange, ...]:
    """The changes of the rates of one or several series of (passed, judged), one entry per night, in order of alarm.

    A scan takes a tenth of a second, so the last ones are remembered: a dashboard asks for the same evals again.
    """
    return _find_changes(tuple(map(tuple, series)))


@lru_cache(maxsize=1024)
def _find_changes(series: tuple[tuple[Counts, ...], ...]) -> tuple[RateChange, ...]:
    nights = len(series[0]) if series else 0
    if any(len(one) != nights for one in series):
        raise ValueError("series: all must have the same number of nights")
    sums = [_summed(one) for one in series]
    if nights < MIN_NIGHTS or not any(one.passed[-1] and one.failed[-1] for one in sums):
        return ()  # nothing ever differed
    starts, alarms = [0] * len(series), []
    for night in range(1, nights):
        own = [index for index, one in enumerate(series) if one[night][1]]
        if not own:
            continue
        found = _alarm(sums, starts, night, falls=any(series[i][night][0] < series[i][night][1] for i in own))
        if found is not None:
            fell, first, changed = found
            alarms.append((fell, first, changed, night, tuple(starts[index] for index in changed)))
            for index in changed:
                starts[index] = first
    return tuple(_dated(sums, alarm, alarms[place + 1 :], nights) for place, alarm in enumerate(alarms))


_Alarm: TypeAlias = tuple[bool, int, tuple[int, ...], int, tuple[int, ...]]


def _alarm(
    sums: Sequence[_Sums], starts: Sequence[int], night: int, *, falls: bool
) -> tuple[bool, int, tuple[int, ...]] | None:
    """The direction, the most likely first night and the series, if the evidence reaches the limit."""
    end = night + 1
    begins = [max(start, end - MEMORY) for start in starts]
    totals = [one.between(begin, end) for one, begin in zip(sums, begins, strict=True)]
    active = [index for index, (passed, failed) in enumerate(totals) if passed and failed]
    if not active:
        return None
    needed = math.exp(limit(_trials_per_night(totals, begins, end)))
    best: tuple[float, bool, int] = (0.0, False, 0)
    # A fall can't be news in a night without a failure; then only a rise can.
    for fell in (True, False) if falls else (False,):
        evidence, peak, first = 0.0, 0.0, 0
        for split in range(max(min(begins) + 1, end - CANDIDATES), end):
            factor = _factor(sums, begins, split, end, falls=fell)
            evidence += factor
            if factor > peak:
                peak, first = factor, split
        if evidence >= needed and evidence > best[0]:
            best = (evidence, fell, first)
    if not best[0]:
        return None
    _, fell, first = best
    factors = {
        index: _bayes_factor(sums[index], begins[index], first, end, falls=fell)
        for index in range(len(sums))
        if begins[index] < first
    }
    changed = tuple(index for index, factor in factors.items() if factor > 1)
    return fell, first, changed or (max(factors, key=lambda index: factors[index]),)


def _factor(sums: Sequence[_Sums], begins: Sequence[int], split: int, end: int, *, falls: bool) -> float:
    """The Bayes factor of a change at `split`: of each subject, of one of them, or of all alike."""
    each, together, number = 1.0, 0.0, 0
    for one, begin in zip(sums, begins, strict=True):
        if begin < split:
            factor = _bayes_factor(one, begin, split, end, falls=falls)
            each *= max(_FLOOR, factor)
            together += factor
            number += 1
    if number == 1:
        return together
    if not number:
        return 0.0
    return _EACH * each + _ONE * together / number + _ALIKE * _alike(sums, begins, split, end, falls=falls)


def _alike(sums: Sequence[_Sums], begins: Sequence[int], split: int, end: int, *, falls: bool) -> float:
    """The Bayes factor of the pooled counts of the subjects that have data on both sides, as if they were one."""
    parts = [
        (one.between(begin, split, falls=falls), one.between(split, end, falls=falls))
        for one, begin in zip(sums, begins, strict=True)
        if begin == min(begins)
    ]
    most = [max(sum(part[side]) for part in parts) for side in (0, 1)]
    pooled = [part for part in parts if all(sum(part[side]) >= _COVERED * most[side] for side in (0, 1))]
    before, after = ((sum(part[side][0] for part in pooled), sum(part[side][1] for part in pooled)) for side in (0, 1))
    return _ratio(*before, *after)


def _bayes_factor(one: _Sums, begin: int, split: int, end: int, *, falls: bool) -> float:
    return _ratio(*one.between(begin, split, falls=falls), *one.between(split, end, falls=falls))


def _ratio(good: int, bad: int, later_good: int, later_bad: int) -> float:
    """How much better a fall explains the counts than the best constant rate; 0 if the rate did not fall."""
    if later_good * (good + bad) >= good * (later_good + later_bad):
        return 0.0
    two = _marginal(*_BEFORE, good, bad) + _marginal(*_AFTER, later_good, later_bad)
    return math.exp(two - _best(good + later_good, bad + later_bad))


@lru_cache(maxsize=65536)
def _marginal(a: float, b: float, good: int, bad: int) -> float:
    """The logarithm of the probability of the counts, if the rate has a beta prior."""
    return (
        math.lgamma(a + good) + math.lgamma(b + bad) - math.lgamma(a + b + good + bad)
        - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b)
    )  # fmt: skip


@lru_cache(maxsize=65536)
def _best(good: int, bad: int) -> float:
    """The log-likelihood of the counts at their own rate."""
    return sum(part * math.log(part / (good + bad)) for part in (good, bad) if part)


def _trials_per_night(totals: Sequence[Counts], begins: Sequence[int], end: int) -> tuple[int, float]:
    """The number of series with data, and their mean trials per night."""
    rates = [
        (passed + failed) / (end - begin)
        for (passed, failed), begin in zip(totals, begins, strict=True)
        if passed + failed
    ]
    return len(rates), math.fsum(rates) / len(rates)


def limit(design: tuple[int, float]) -> float:
    """The logarithm of the evidence that raises an alarm, for a number of series and their mean trials per night."""
    series, trials = design
    at = math.log(min(_LIMITS[-1][0], max(_LIMITS[0][0], series * trials)))
    for (low, high_limit), (high, low_limit) in pairwise(_LIMITS):
        if at <= math.log(high) + 1e-9:
            share = (at - math.log(low)) / (math.log(high) - math.log(low))
            return high_limit + share * (low_limit - high_limit) + _PER_SERIES * (series - 1)
    raise AssertionError("unreachable: the last limit bounds the trials")


_LIMITS = ((1, 3.94), (2, 3.53), (3, 3.21), (5, 2.79), (10, 2.24), (20, 1.52))
"""Trials per night of all series, and the limit for one series."""

_PER_SERIES = 0.14
"""Several series have more ways to raise a false alarm."""


def _summed(one: Sequence[Counts]) -> _Sums:
    passed, failed = [0], [0]
    for good, judged in one:
        if not 0 <= good <= judged:
            raise ValueError(f"counts=({good}, {judged}): passed must be between 0 and judged")
        passed.append(passed[-1] + good)
        failed.append(failed[-1] + judged - good)
    return _Sums(passed=passed, failed=failed)


def _dated(sums: Sequence[_Sums], alarm: _Alarm, later: Sequence[_Alarm], nights: int) -> RateChange:
    """Date a change by all nights since the one before it and up to the next of the same series."""
    fell, found, changed, noticed, starts = alarm
    end = min((next_first for _, next_first, others, _, _ in later if {*others} & {*changed}), default=nights)
    end = max(end, found + 1)
    weights = {}
    for split in range(max(starts) + 1, min(noticed + 1, end)):
        weights[split] = sum(
            _marginal(*_BEFORE, *sums[index].between(start, split, falls=fell))
            + _marginal(*_AFTER, *sums[index].between(split, end, falls=fell))
            for index, start in zip(changed, starts, strict=True)
        )
    peak = max(weights.values())
    chances = {split: math.exp(weight - peak) for split, weight in weights.items()}
    total, covered, likely = math.fsum(chances.values()), 0.0, []
    for split in sorted(chances, key=lambda split: -chances[split]):
        likely.append(split)
        covered += chances[split]
        if covered >= _CREDIBLE * total:
            break
    around = {split: math.fsum(chances.get(split + step, 0.0) for step in (-1, 0, 1)) for split in chances}
    first = max(likely, key=lambda split: (around[split], chances[split]))
    return RateChange(
        fell=fell,
        first=first,
        earliest=min(likely),
        latest=max(likely),
        noticed=noticed,
        series=changed,
        start=min(starts),
        end=end,
    )
