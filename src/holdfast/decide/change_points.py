"""Where in its history an eval's pass rate changed, and what else changed then.

A chart (see `statistics/cusum.py`) watches for a fall and another for a rise. What is normal is taken from the first
nights of each stretch, drawn a little towards a half; at an alarm a new stretch begins where the change began. An edit
of the eval begins a new stretch too, since its rates before and after are not of one thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from holdfast.core.change import ChangePoint, Course
from holdfast.core.history import RunCell
from holdfast.decide.nights import changes, count, fingerprints
from holdfast.statistics.cusum import Chart, chart

NIGHTS_BETWEEN_FALSE_ALARMS = 400.0
WARM_UP = 7
"""Nights from which a stretch's normal rate is taken."""

DROP = 0.15
"""The change to be noticed."""

LITTLE = 0.1
"""A rate that is this close to 0 or 1 is not watched for coming even closer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Alarm:
    direction: Literal["fall", "rise"]
    began: int
    noticed: int


def course_of(cells: Sequence[RunCell], *, nights: float = NIGHTS_BETWEEN_FALSE_ALARMS) -> Course:
    """The change points of one eval with one subject, from its cells with judged trials in the order of time."""
    judged = sorted((cell for cell in cells if cell.judged), key=lambda cell: (cell.started, cell.run))
    marks = tuple(changes(judged))
    edited = {mark.run for mark in marks if mark.part == "eval"}
    starts, alarms = [0], []
    while (alarm := _next(judged, starts[-1], edited, nights)) is not None:
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
    last = judged[starts[-1] : starts[-1] + WARM_UP]
    return Course(
        points=tuple(points),
        changes=marks,
        nights_between_false_alarms=nights,
        assumed_rate=_normal(last) if len(last) == WARM_UP else None,
        fingerprints=fingerprints(judged),
    )


def _next(judged: Sequence[RunCell], start: int, edited: set[str], nights: float) -> _Alarm | int | None:
    """The first alarm of the stretch, or the edit that ends it; None at the end."""
    end = next((i for i in range(start + 1, len(judged)) if judged[i].run in edited), len(judged))
    warm = judged[start : min(end, start + WARM_UP)]
    if len(warm) == WARM_UP:
        normal = _normal(warm)
        trials = max(1, round(sum(cell.judged for cell in warm) / WARM_UP))
        charts: list[tuple[Literal["fall", "rise"], Chart, int, int]] = []
        if normal >= LITTLE:
            charts.append(("fall", _watch(normal, lower(normal), trials, nights), 0, 0))
        if 1 - normal >= LITTLE:
            charts.append(("rise", _watch(normal, 1 - lower(1 - normal), trials, nights), 0, 0))
        for index in range(start + WARM_UP, end):
            cell = judged[index]
            for which, (direction, watch, total, began) in enumerate(charts):
                since = index if total == 0 else began
                sum_now = watch.add(total, cell.passed, cell.failed)
                if sum_now >= watch.limit:
                    return _Alarm(direction=direction, began=since, noticed=index)
                charts[which] = (direction, watch, sum_now, since)
    return end if end < len(judged) else None


def lower(rate: float) -> float:
    """The rate that a fall from `rate` is noticed at: 15 points below, or half of it where that is little."""
    return rate - DROP if rate >= 2 * DROP else rate / 2


def _normal(cells: Sequence[RunCell]) -> float:
    passed, failed = count(cells)
    return min(0.98, max(0.02, round((passed + 0.5) / (passed + failed + 1), 2)))


def _watch(before: float, after: float, trials: int, nights: float) -> Chart:
    return chart(before, round(after, 4), trials=trials, between_false_alarms=nights)


def _score(cells: Sequence[RunCell]) -> tuple[int, int]:
    passed, failed = count(cells)
    return passed, passed + failed
