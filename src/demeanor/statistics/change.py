"""Where a rate changed within a sequence of counts, and between which two places it must have happened.

The place with the highest likelihood is the estimate; all places whose log-likelihood is less than 1.92 lower form its
interval of 95 %. The p-value is Fisher's, multiplied by the number of possible places, so it holds although the place
was chosen by looking at the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from demeanor.statistics.fisher import p_decrease

_WITHIN = 1.92
"""Half the 95 % quantile of the chi-squared distribution with one degree of freedom."""

_WORTH_TESTING = 3.0
"""With a smaller gain of log-likelihood the p-value is never small."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateChange:
    """A rate before and after."""

    first: int
    """The most likely index of the first count after the change."""

    earliest: int
    """The change may have happened as early as just before this index."""

    latest: int
    """It happened at the latest just before this index."""

    before: tuple[int, int]
    """Passed and judged before it."""

    after: tuple[int, int]
    """Passed and judged since."""

    p_value: float
    """The probability of such a difference without any change."""

    @property
    def fell(self) -> bool:
        """Whether the rate became lower."""
        return self.after[0] / self.after[1] < self.before[0] / self.before[1]


def find_change(counts: Sequence[tuple[int, int]]) -> RateChange | None:
    """The most likely change in counts of (passed, judged), each with judged > 0; None without any hint of one."""
    if len(counts) < 2:
        return None
    return _find(tuple(counts))


@lru_cache(maxsize=8192)
def _find(counts: tuple[tuple[int, int], ...]) -> RateChange | None:
    total = _sum(counts)
    splits: list[tuple[float, int]] = []
    passed = judged = 0
    for index in range(1, len(counts)):
        passed += counts[index - 1][0]
        judged += counts[index - 1][1]
        splits.append((_log(passed, judged) + _log(total[0] - passed, total[1] - judged), index))
    best, first = max(splits, key=lambda split: (split[0], -split[1]))
    if best - _log(*total) < _WORTH_TESTING:
        return None
    near = [index for value, index in splits if value >= best - _WITHIN]
    before, after = _sum(counts[:first]), _sum(counts[first:])
    tail = min(p_decrease(*before, *after), p_decrease(*after, *before))
    return RateChange(
        first=first,
        earliest=min(near),
        latest=max(near),
        before=before,
        after=after,
        p_value=min(1.0, 2 * tail * len(splits)),
    )


def _sum(counts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(passed for passed, _ in counts), sum(judged for _, judged in counts)


def _log(passed: int, judged: int) -> float:
    """The log-likelihood of the counts at their own rate."""
    found = 0.0
    for part in (passed, judged - passed):
        if part:
            found += part * math.log(part / judged)
    return found
