"""Where in its history an eval's pass rate changed, and what else changed then.

A chart (see `statistics/cusum.py`) watches for a fall and another for a rise. What is normal is learned from the nights
of the stretch themselves, up to the last one that gave no reason for suspicion. At an alarm a new stretch begins where
the change began; an edit of the eval begins one too, since its rates before and after are not of one thing.

A normal rate that is learned is not known, which costs false alarms. So the charts are designed for one in 3000 nights,
as if it were known; what then comes out, by simulation, is one in 400 for evals that pass at least 90 % of the time,
and one in 200 for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from demeanor.core.history import RunCell
from demeanor.core.run_diff import ChangePoint, RateHistory
from demeanor.statistics.cusum import Chart, chart
from demeanor.store.history.nights import changes, count, fingerprints

NIGHTS_BETWEEN_FALSE_ALARMS = 400.0
"""For evals that pass at least 90 % of the time; half of it for others."""

DESIGNED = 3000.0
"""What the charts are designed for, so that the above comes out."""

WARM_UP = 10
"""Nights of a stretch before anything can be noticed."""

DROP = 0.15
"""The change to be noticed."""

LITTLE = 0.1
"""A rate that is this close to 0 or 1 is not watched for coming even closer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Alarm:
    direction: Literal["fall", "rise"]
    began: int
    noticed: int


class _ChangeWatch:
    """A chart over one stretch, which learns what is normal as it goes."""

    def __init__(self, direction: Literal["fall", "rise"], warm: Sequence[RunCell], start: int) -> None:
        self.direction = direction
        self.trusted = list(warm)
        self.suspected: list[RunCell] = []
        self.began = start + len(warm)
        self.total = 0
        self.chart = self._design()

    def alarm(self, cell: RunCell, index: int) -> bool:
        """Add a night; whether the chart raises its alarm."""
        if not self.suspected:
            self.began = index
        self.suspected.append(cell)
        if self.chart is None:
            return False
        self.total = self.chart.add(self.total, cell.passed, cell.failed)
        if self.total >= self.chart.limit:
            return True
        if self.total == 0:
            self.trusted += self.suspected
            self.suspected = []
            self.chart = self._design()
        return False

    def _design(self) -> Chart | None:
        """The chart for what is normal by now; None where the rate has nowhere to go."""
        normal = _normal(self.trusted)
        trials = max(1, round(sum(cell.judged for cell in self.trusted) / len(self.trusted)))
        falling = self.direction == "fall"
        if (normal if falling else 1 - normal) < LITTLE:
            return None
        after = lower(normal) if falling else 1 - lower(1 - normal)
        return chart(normal, round(after, 4), trials=trials, between_false_alarms=DESIGNED)


def course_of(cells: Sequence[RunCell]) -> RateHistory:
    """The change points of one eval with one subject, from its cells with judged trials in the order of time."""
    judged = sorted((cell for cell in cells if cell.judged), key=lambda cell: (cell.started, cell.run))
    marks = tuple(changes(judged))
    edited = {mark.run for mark in marks if mark.part == "eval"}
    starts, alarms = [0], []
    while (alarm := _next(judged, starts[-1], edited)) is not None:
        if isinstance(alarm, _Alarm):
            alarms.append(alarm)
            starts.append(alarm.began)
        else:
            starts.append(alarm)
    borders = sorted({0, len(judged), *starts})
    points = []
    for alarm in alarms:
        earlier = max(border for border in borders if border < alarm.began)
        later = min(border for border in borders if border > alarm.began)
        near = {judged[index].run for index in (alarm.began - 1, alarm.began)}
        points.append(
            ChangePoint(
                direction=alarm.direction,
                began=judged[alarm.began].run,
                noticed=judged[alarm.noticed].run,
                before=_score(judged[earlier : alarm.began]),
                after=_score(judged[alarm.began : later]),
                causes=tuple(mark for mark in marks if mark.run in near),
            )
        )
    last = judged[starts[-1] :]
    return RateHistory(
        points=tuple(points),
        changes=marks,
        nights_between_false_alarms=NIGHTS_BETWEEN_FALSE_ALARMS,
        assumed_rate=_normal(last) if len(last) >= WARM_UP else None,
        fingerprints=fingerprints(judged),
    )


def _next(judged: Sequence[RunCell], start: int, edited: set[str]) -> _Alarm | int | None:
    """The first alarm of the stretch, or the edit that ends it; None at the end."""
    end = next((i for i in range(start + 1, len(judged)) if judged[i].run in edited), len(judged))
    warm = judged[start : start + WARM_UP]
    if start + WARM_UP < end:
        watches = [_ChangeWatch("fall", warm, start), _ChangeWatch("rise", warm, start)]
        for index in range(start + WARM_UP, end):
            for watch in watches:
                if watch.alarm(judged[index], index):
                    return _Alarm(direction=watch.direction, began=watch.began, noticed=index)
    return end if end < len(judged) else None


def lower(rate: float) -> float:
    """The rate that a fall from `rate` is noticed at: 15 points below, or half of it where that is little."""
    return rate - DROP if rate >= 2 * DROP else rate / 2


def _normal(cells: Sequence[RunCell]) -> float:
    """The rate of these nights, drawn a little towards a half; in steps, so that few charts are ever designed."""
    passed, failed = count(cells)
    return min(0.98, max(0.02, round((passed + 1) / (passed + failed + 2), 2)))


def _score(cells: Sequence[RunCell]) -> tuple[int, int]:
    passed, failed = count(cells)
    return passed, passed + failed
