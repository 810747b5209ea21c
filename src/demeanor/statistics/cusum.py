"""Page's CUSUM chart (1954) of passes and fails: detects when a rate changed, with a known false-alarm rate.

Each night changes the sum: fails increase it, passes decrease it, never below 0. At the limit there is an alarm; the
change began after the last night with a sum of 0. The scores of a pass and a fail are rounded to integers (by less than
2 %), so the sum has few possible values, and the mean time between false alarms is the solution of a small system of
linear equations (Brook and Evans 1972), exact for this chart. The trials of one night may be correlated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from demeanor.statistics.occasions import occasion

_TOLERANCE = 0.02
_MAX_DENOMINATOR = 12
_MAX_LIMIT = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A chart that detects a change from one rate to another."""

    before: float
    """The rate without a change."""

    after: float
    """The rate to detect: lower for a decrease, higher for an increase."""

    up: int
    """The score of the outcome that indicates the change: a fail for a decrease, a pass for an increase."""

    down: int
    """What the other outcome subtracts."""

    limit: int
    """The sum from which there is an alarm."""

    correlation: float = 0.0
    """The correlation of the trials of a night."""

    @property
    def falling(self) -> bool:
        """Whether it detects a decrease."""
        return self.after < self.before

    def add(self, total: int, passed: int, failed: int) -> int:
        """The sum after one more night."""
        bad, good = (failed, passed) if self.falling else (passed, failed)
        return max(0, total + bad * self.up - good * self.down)

    def nights_to_alarm(self, rate: float, trials: int) -> float:
        """The expected number of nights of `trials` trials until an alarm, at a true rate, from a sum of 0."""
        bad = 1 - rate if self.falling else rate
        return _run_length(self.up, self.down, self.limit, bad, trials, self.correlation)

    def alarm_within(self, rate: float, trials: int, nights: int) -> float:
        """The probability of an alarm within `nights` nights of `trials` trials, at a true rate, from a sum of 0."""
        chances, alarm, at = occasion(trials, rate, self.correlation), 0.0, {0: 1.0}
        for _ in range(nights):
            after: dict[int, float] = {}
            for total, here in at.items():
                for passed, chance in enumerate(chances):
                    reached = self.add(total, passed, trials - passed)
                    if reached >= self.limit:
                        alarm += here * chance
                    else:
                        after[reached] = after.get(reached, 0.0) + here * chance
            at = after
        return min(1.0, alarm)


@lru_cache(maxsize=512)
def chart(before: float, after: float, *, trials: int, between_false_alarms: float, correlation: float = 0.0) -> Chart:
    """The fastest chart with an average of at least `between_false_alarms` nights between false alarms."""
    if not (0 < before < 1 and 0 < after < 1 and before != after):
        raise ValueError(f"before={before}, after={after}: must be two different rates between 0 and 1")
    if trials < 1 or between_false_alarms < 1:
        raise ValueError(f"trials={trials}, between_false_alarms={between_false_alarms}: both must be at least 1")
    up, down = scores(before, after)
    bad = 1 - before if after < before else before
    low, high = 0, 1
    while _run_length(up, down, high, bad, trials, correlation) < between_false_alarms:
        low, high = high, high * 2
        if high > _MAX_LIMIT:
            raise ValueError(
                f"between_false_alarms={between_false_alarms}: too rare for before={before}, after={after}"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if _run_length(up, down, middle, bad, trials, correlation) < between_false_alarms:
            low = middle
        else:
            high = middle
    return Chart(before=before, after=after, up=up, down=down, limit=high, correlation=correlation)


def scores(before: float, after: float) -> tuple[int, int]:
    """The log-likelihood ratios of the two outcomes as small integers: (up, down)."""
    if after > before:
        before, after = 1 - before, 1 - after
        ratio = -math.log(after / before) / math.log((1 - after) / (1 - before))
        down, up = _small_integers(ratio)
    else:
        ratio = math.log((1 - after) / (1 - before)) / -math.log(after / before)
        up, down = _small_integers(ratio)
    return up, down


def _small_integers(ratio: float) -> tuple[int, int]:
    """Two integers, as small as possible, with about this ratio."""
    if ratio < 1:
        low, high = _small_integers(1 / ratio)
        return high, low
    for low in range(1, _MAX_DENOMINATOR + 1):
        high = round(ratio * low)
        if abs(high - ratio * low) <= _TOLERANCE * ratio * low:
            return high, low
    return round(ratio * _MAX_DENOMINATOR), _MAX_DENOMINATOR


@lru_cache(maxsize=4096)
def _run_length(up: int, down: int, limit: int, bad: float, trials: int, correlation: float) -> float:
    """The mean number of nights until the sum reaches the limit, from 0."""
    steps = [(k * up - (trials - k) * down, chance) for k, chance in enumerate(occasion(trials, bad, correlation))]
    rows = []
    for total in range(limit):
        row = [0.0] * limit + [1.0]
        row[total] = 1.0
        for step, chance in steps:
            if total + step < limit:
                row[max(0, total + step)] -= chance
        rows.append(row)
    return _first_unknown(rows, left=trials * down, right=trials * up)


def _first_unknown(rows: Sequence[list[float]], *, left: int, right: int) -> float:
    """The first unknown of a system of linear equations (last column: right side); infinite if it has no solution.

    The matrix is the identity minus transition probabilities, so elimination from the last unknown to the first needs
    no pivoting. It is a band matrix with `left` and `right` diagonals, and elimination preserves that.
    """
    for index in range(len(rows) - 1, 0, -1):
        pivot = rows[index]
        if pivot[index] <= 0:
            return math.inf
        for row in rows[max(0, index - right) : index]:
            factor = row[index] / pivot[index]
            if factor:
                for column in range(max(0, index - left), index):
                    row[column] -= factor * pivot[column]
                row[-1] -= factor * pivot[-1]
    return rows[0][-1] / rows[0][0] if rows[0][0] > 1e-12 else math.inf
