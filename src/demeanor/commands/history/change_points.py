"""Find the nights in which an eval's pass rate changed, and what else changed then.

One CUSUM chart (see `statistics/cusum.py`) detects a drop, another a rise. The normal rate is estimated from the nights
of the current segment, up to the last night without suspicion. After an alarm, a new segment starts where the change
began. An edit of the eval starts a new segment too, because its rates before and after can't be compared.

An estimated rate causes more false alarms than a known one. The charts are therefore designed for one false alarm in
3000 nights with a known rate. By simulation, this gives one in 400 nights for evals that pass at least 90 % of the
time, and one in 200 for others.
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
"""For evals that pass at least 90 % of the time; half of this for others."""

DESIGNED = 3000.0
"""The design value of the charts."""

WARM_UP = 10
"""Nights of a segment before a change can be detected."""

DROP = 0.15
"""The change to detect."""

LITTLE = 0.1
"""A rate this close to 0 or 1 can't drop or rise further."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Alarm:
    direction: Literal["fall", "rise"]
    began: int
    noticed: int


class _ChangeDetector:
    """A chart over one segment; the normal rate is updated with each night."""

    def __init__(self, direction: Literal["fall", "rise"], warm: Sequence[RunCell], start: int) -> None:
        self.direction = direction
        self.trusted = list(warm)
        self.suspected: list[RunCell] = []
        self.began = start + len(warm)
        self.total = 0
        self.chart = self._design()

    def alarm(self, cell: RunCell, index: int) -> bool:
        """Add a night; return whether the chart raises an alarm."""
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
        """The chart for the current normal rate; None if the rate can't go further in this direction."""
        normal = _normal(self.trusted)
        trials = max(1, round(sum(cell.judged for cell in self.trusted) / len(self.trusted)))
        falling = self.direction == "fall"
        if (normal if falling else 1 - normal) < LITTLE:
            return None
        after = lower(normal) if falling else 1 - lower(1 - normal)
        return chart(normal, round(after, 4), trials=trials, between_false_alarms=DESIGNED)


def rate_history(cells: Sequence[RunCell]) -> RateHistory:
    """The change points of one eval with one subject."""
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
    """The first alarm of the segment, or the edit that ends it; None at the end."""
    end = next((i for i in range(start + 1, len(judged)) if judged[i].run in edited), len(judged))
    warm = judged[start : start + WARM_UP]
    if start + WARM_UP < end:
        detectors = [_ChangeDetector("fall", warm, start), _ChangeDetector("rise", warm, start)]
        for index in range(start + WARM_UP, end):
            for detector in detectors:
                if detector.alarm(judged[index], index):
                    return _Alarm(direction=detector.direction, began=detector.began, noticed=index)
    return end if end < len(judged) else None


def lower(rate: float) -> float:
    """The rate after a drop from `rate`: 15 points lower, or half of it if it is low."""
    return rate - DROP if rate >= 2 * DROP else rate / 2


def _normal(cells: Sequence[RunCell]) -> float:
    """The rate of these nights, shrunk slightly towards 50 %; rounded, so that few charts have to be designed."""
    passed, failed = count(cells)
    return min(0.98, max(0.02, round((passed + 1) / (passed + failed + 2), 2)))


def _score(cells: Sequence[RunCell]) -> tuple[int, int]:
    passed, failed = count(cells)
    return passed, passed + failed
