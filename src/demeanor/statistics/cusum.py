"""When did a rate change? Page's cumulative sum (1954) for passes and fails, with its false-alarm interval.

Every night adds a score: fails raise the sum, passes lower it, never below 0, and at the limit there is an alarm. The
change began after the last night on which the sum was 0. The scores of a pass and a fail are rounded to whole
numbers (by less than 2 %), so the sum has few possible values and the mean time between false alarms is the solution
of a small system of linear equations (Brook and Evans 1972): exact for the chart as it is run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from demeanor.statistics.binomial import table

_CLOSE_ENOUGH = 0.02
_FINEST = 12
_HIGHEST_LIMIT = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A chart that watches for a change from one rate to another."""

    before: float
    """The rate as it should be."""

    after: float
    """The rate that is to be noticed: lower for a fall, higher for a rise."""

    up: int
    """What the outcome that speaks for the change adds: a fail for a fall, a pass for a rise."""

    down: int
    """What the other outcome takes away."""

    limit: int
    """The sum at which the alarm is raised."""

    @property
    def falling(self) -> bool:
        """Whether it watches for a fall."""
        return self.after < self.before

    def add(self, total: int, passed: int, failed: int) -> int:
        """The sum after one more night."""
        bad, good = (failed, passed) if self.falling else (passed, failed)
        return max(0, total + bad * self.up - good * self.down)

    def nights_to_alarm(self, rate: float, trials: int) -> float:
        """How many nights of `trials` trials it takes on average until an alarm, at a true rate, from a sum of 0."""
        return _run_length(self.up, self.down, self.limit, 1 - rate if self.falling else rate, trials)

    def alarm_within(self, rate: float, trials: int, nights: int) -> float:
        """The chance of an alarm within so many nights of `trials` trials, at a true rate, from a sum of 0."""
        chances, alarm, at = table(trials, rate), 0.0, {0: 1.0}
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
def chart(before: float, after: float, *, trials: int, between_false_alarms: float) -> Chart:
    """The quickest chart that raises a false alarm at most once in so many nights of `trials` trials on average."""
    if not (0 < before < 1 and 0 < after < 1 and before != after):
        raise ValueError(f"before={before}, after={after}: two different rates, both above 0 and below 1")
    if trials < 1 or between_false_alarms < 1:
        raise ValueError(f"trials={trials}, between_false_alarms={between_false_alarms}: both at least 1")
    up, down = scores(before, after)
    bad = 1 - before if after < before else before
    low, high = 0, 1
    while _run_length(up, down, high, bad, trials) < between_false_alarms:
        low, high = high, high * 2
        if high > _HIGHEST_LIMIT:
            raise ValueError(
                f"between_false_alarms={between_false_alarms}: too rare for before={before}, after={after}"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if _run_length(up, down, middle, bad, trials) < between_false_alarms:
            low = middle
        else:
            high = middle
    return Chart(before=before, after=after, up=up, down=down, limit=high)


def scores(before: float, after: float) -> tuple[int, int]:
    """The log-likelihood ratios of the two outcomes as small whole numbers: what goes up, what goes down."""
    if after > before:
        before, after = 1 - before, 1 - after
        ratio = -math.log(after / before) / math.log((1 - after) / (1 - before))
        down, up = _small_whole_numbers(ratio)
    else:
        ratio = math.log((1 - after) / (1 - before)) / -math.log(after / before)
        up, down = _small_whole_numbers(ratio)
    return up, down


def _small_whole_numbers(ratio: float) -> tuple[int, int]:
    """Two whole numbers, as small as possible, of about this ratio."""
    if ratio < 1:
        low, high = _small_whole_numbers(1 / ratio)
        return high, low
    for low in range(1, _FINEST + 1):
        high = round(ratio * low)
        if abs(high - ratio * low) <= _CLOSE_ENOUGH * ratio * low:
            return high, low
    return round(ratio * _FINEST), _FINEST


@lru_cache(maxsize=4096)
def _run_length(up: int, down: int, limit: int, bad: float, trials: int) -> float:
    """The mean number of nights until the sum, begun at 0, reaches the limit."""
    steps = [(k * up - (trials - k) * down, chance) for k, chance in enumerate(table(trials, bad))]
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
    """The first unknown of linear equations, last column the right side; infinite where it has no end.

    The matrix is one minus the chances to move on, so elimination from the last unknown to the first needs no pivoting.
    No row has anything further than `left` and `right` from its diagonal, and elimination keeps it so.
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
