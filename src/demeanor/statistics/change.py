"""When did a rate change? A Shiryaev-Roberts scan of nightly counts that needs no warm-up and no known rate.

After each night, every earlier night is tried as the first one with another rate. Its Bayes factor compares two rates,
with beta priors, with the one rate that explains all nights best. The sum over the last `CANDIDATES` nights is the
evidence; at `limit` there is an alarm, and the nights before the change are forgotten. Dividing by the best constant
rate makes the evidence honest for every rate: no prior can make a steady eval look like a changed one.

The subjects of an eval are scanned together. A change may affect one of them, each by its own rates, or all of them by
the same rates; the Bayes factor is a mixture of the three. So a drop of all subjects is found earlier than that of one.

Trials of one night may be correlated: then each counts as a part of an independent one.

The limits were found by simulation: at most one false alarm, of a fall or a rise, in 400 nights, whatever the rate
(`make bench-signal` prints the figures of docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from demeanor.statistics.change_evidence import ChangeEvidence, CountSums, bayes_factors, log_likelihood, summed
from demeanor.statistics.occasions import effective

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


def find_changes(series: Sequence[Sequence[Counts]], correlation: float = 0.0) -> tuple[RateChange, ...]:
    """The changes of the rates of one or several series of (passed, judged), one entry per night, in order of alarm.

    The trials of a series in a night have this correlation. The last scans are remembered: a dashboard asks for the
    same evals again.
    """
    return _find_changes(tuple(map(tuple, series)), correlation)


@lru_cache(maxsize=1024)
def _find_changes(series: tuple[tuple[Counts, ...], ...], correlation: float) -> tuple[RateChange, ...]:
    nights = len(series[0]) if series else 0
    if any(len(nights_of) != nights for nights_of in series):
        raise ValueError("series: all must have the same number of nights")
    sums = [summed(nights_of) for nights_of in series]
    if nights < MIN_NIGHTS or not any(total.passed[-1] and total.failed[-1] for total in sums):
        return ()  # nothing ever differed
    trials = [judged for nights_of in series for _, judged in nights_of if judged]
    worth = round(effective(sum(trials) / len(trials), correlation), 2)
    evidence, starts, alarms = ChangeEvidence(sums, worth), [0] * len(series), []
    for night in range(1, nights):
        own = [index for index, counts in enumerate(series) if counts[night][1]]
        if not own:
            continue
        alarm = _alarm(evidence, starts, night, falls=any(series[i][night][0] < series[i][night][1] for i in own))
        if alarm is not None:
            fell, first, changed = alarm
            alarms.append((fell, first, changed, night, tuple(starts[index] for index in changed)))
            for index in changed:
                starts[index] = first
    return tuple(_dated(evidence, alarm, alarms[place + 1 :], nights) for place, alarm in enumerate(alarms))


_Alarm: TypeAlias = tuple[bool, int, tuple[int, ...], int, tuple[int, ...]]


def _alarm(
    evidence: ChangeEvidence, starts: Sequence[int], night: int, *, falls: bool
) -> tuple[bool, int, tuple[int, ...]] | None:
    """The direction, the most likely first night and the series, if the evidence reaches the limit."""
    end = night + 1
    begins = [max(start, end - MEMORY) for start in starts]
    own = list(zip(evidence.sums, begins, strict=True))
    if not any(sums.changed(begin, end) for sums, begin in own):
        return None
    # A fall can't be news in a night without a failure; then only a rise can.
    splits = range(max(min(begins) + 1, end - CANDIDATES), end)
    number, trials = _design(own, end)
    needed = math.exp(limit(number, trials, end - min(begins), evidence.worth))
    change = evidence.strongest(begins, splits, end, falls=falls, needed=needed)
    if change is None:
        return None
    fell, first = change
    at = range(first, first + 1)
    factors = {
        index: bayes_factors(sums, begin, at, end, logs=evidence.logs)[0] * (1 if fell else -1)
        for index, (sums, begin) in enumerate(own)
        if begin < first
    }
    changed = tuple(index for index, factor in factors.items() if factor > 1)
    return fell, first, changed or (max(factors, key=lambda index: max(0.0, factors[index])),)


def _design(own: Sequence[tuple[CountSums, int]], end: int) -> tuple[int, float]:
    """The number of series with data, and their mean trials per night."""
    rates = [trials / (end - begin) for sums, begin in own if (trials := sums.judged[end] - sums.judged[begin])]
    return len(rates), math.fsum(rates) / len(rates)


def limit(series: int, trials: float, nights: int, worth: float = 1.0) -> float:
    """The logarithm of the evidence that raises an alarm, for a number of series, their mean trials per night, the
    number of nights that are compared, and what a trial is worth."""
    at = math.log(min(_LIMITS[-1][0], max(_LIMITS[0][0], series * trials * worth)))
    for (low, high_limit), (high, low_limit) in pairwise(_LIMITS):
        if at <= math.log(high) + 1e-9:
            share = (at - math.log(low)) / (math.log(high) - math.log(low))
            middle = high_limit + share * (low_limit - high_limit)
            shift = next(shift for last, shift in _SHIFTS if nights <= last) + _CORRELATED * (1 / worth - 1)
            return middle + _PER_DOUBLING * math.log2(series) + shift
    raise AssertionError("unreachable: the last limit bounds the trials")


_LIMITS = ((1, 3.94), (2, 3.53), (3, 3.21), (5, 2.79), (10, 2.24), (20, 1.52))
"""Trials per night of all series, and the limit for one series."""

_PER_DOUBLING = 0.25
"""Several series have more ways to raise a false alarm: so much for twice as many."""

_SHIFTS = ((8, 0.12), (24, -0.10), (math.inf, 0.18))
"""Up to this number of nights, the limit is shifted by so much. A scan is too ready to raise a false alarm while it
knows few nights, and again when it looks for a change among many of them; between, it can afford to be quick."""


_CORRELATED = 0.75
"""Correlated trials also have more extreme nights than fewer independent ones: so much per trial that is lost."""


def _dated(evidence: ChangeEvidence, alarm: _Alarm, later: Sequence[_Alarm], nights: int) -> RateChange:
    """Date a change by all nights since the one before it and up to the next of the same series."""
    fell, changed_at, changed, noticed, starts = alarm
    end = min((next_first for _, next_first, others, _, _ in later if {*others} & {*changed}), default=nights)
    end = max(end, changed_at + 1)
    weights = {}
    for split in range(max(starts) + 1, min(noticed + 1, end)):
        weights[split] = math.fsum(
            log_likelihood(evidence.sums[index], start, split, end, fell=fell, logs=evidence.logs)
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
