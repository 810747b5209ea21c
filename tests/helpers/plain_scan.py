"""The scan for changes, written as its definition: slow, and the reference for `statistics/change.py`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from demeanor.statistics.change import CANDIDATES, MEMORY, Counts, limit

Alarm = tuple[bool, int, int, tuple[int, ...]]
"""Whether the rate fell, the most likely first night, the night it was noticed, and the series."""


def alarms(series: Sequence[Sequence[Counts]]) -> Iterator[Alarm]:
    """Every alarm, in order; the nights before a change are forgotten."""
    starts = [0] * len(series)
    for night in range(1, len(series[0])):
        judged = [one[night] for one in series if one[night][1]]
        found = _alarm(series, starts, night + 1, falls=any(good < all_ for good, all_ in judged)) if judged else None
        if found is not None:
            fell, first, changed = found
            yield fell, first, night, changed
            for index in changed:
                starts[index] = first


def _alarm(
    series: Sequence[Sequence[Counts]], starts: Sequence[int], end: int, *, falls: bool
) -> tuple[bool, int, tuple[int, ...]] | None:
    begins = [max(start, end - MEMORY) for start in starts]
    totals = [_counts(one[begin:end]) for one, begin in zip(series, begins, strict=True)]
    if not any(good and bad for good, bad in totals):
        return None
    rates = [sum(total) / (end - begin) for total, begin in zip(totals, begins, strict=True) if sum(total)]
    needed = math.exp(limit(len(rates), math.fsum(rates) / len(rates), end - min(begins)))
    best = (0.0, False, 0)
    for fell in (True, False) if falls else (False,):
        factors = {
            split: _mixture(series, begins, split, end, fell=fell)
            for split in range(max(min(begins) + 1, end - CANDIDATES), end)
        }
        evidence = sum(factors.values())
        if evidence >= needed and evidence > best[0]:
            best = (evidence, fell, max(factors, key=factors.__getitem__))
    _, fell, first = best
    if not best[0]:
        return None
    own = {i: _factor([series[i]], begins[i], first, end, fell=fell) for i in range(len(series)) if begins[i] < first}
    return fell, first, tuple(i for i, factor in own.items() if factor > 1) or (max(own, key=own.__getitem__),)


def _mixture(series: Sequence[Sequence[Counts]], begins: Sequence[int], split: int, end: int, *, fell: bool) -> float:
    """Each changed, one changed, or all changed alike."""
    own = [
        _factor([one], begin, split, end, fell=fell) for one, begin in zip(series, begins, strict=True) if begin < split
    ]
    if len(own) == 1:
        return own[0]
    oldest = min(begins)
    parts = [one for one, begin in zip(series, begins, strict=True) if begin == oldest]
    sizes = [(sum(_counts(one[oldest:split])), sum(_counts(one[split:end]))) for one in parts]
    most = max(before for before, _ in sizes), max(after for _, after in sizes)
    pooled = [
        one
        for one, (before, after) in zip(parts, sizes, strict=True)
        if before >= 0.8 * most[0] and after >= 0.8 * most[1]
    ]
    each, together = 1.0, 0.0
    for factor in own:
        each *= max(0.2, factor)
        together += factor
    return 0.1 * each + 0.3 * together / len(own) + 0.6 * _factor(pooled, oldest, split, end, fell=fell)


def _factor(series: Sequence[Sequence[Counts]], begin: int, split: int, end: int, *, fell: bool) -> float:
    """The Bayes factor of the sum of some series; 0 if the rate did not change in this direction."""
    before = _counts([night for one in series for night in one[begin:split]])
    after = _counts([night for one in series for night in one[split:end]])
    if not fell:
        before, after = before[::-1], after[::-1]
    if after[0] * sum(before) >= before[0] * sum(after):
        return 0.0
    good, bad = before[0] + after[0], before[1] + after[1]
    constant = sum(part * math.log(part / (good + bad)) for part in (good, bad) if part)
    return math.exp(_marginal(2.0, 0.5, *before) + _marginal(1.0, 1.0, *after) - constant)


def _marginal(a: float, b: float, good: int, bad: int) -> float:
    return (
        math.lgamma(a + good) + math.lgamma(b + bad) - math.lgamma(a + b + good + bad)
        - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b)
    )  # fmt: skip


def _counts(nights: Sequence[Counts]) -> tuple[int, int]:
    return sum(good for good, _ in nights), sum(judged - good for good, judged in nights)
