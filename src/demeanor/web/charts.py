"""Charts as SVG. Colours come from the style sheet by class, and every chart has a text alternative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal, TypeAlias

from markupsafe import Markup, escape

from demeanor.core.values.tally import Estimate
from demeanor.render import duration, percent

_BAR, _HEIGHT = 5, 18
_AXIS = 44
SpanKind: TypeAlias = Literal["start", "model", "tool", "agent"]


def trend(rates: Sequence[float | None], marks: Sequence[str] = (), *, labelled: bool = True) -> Markup:
    """Bars of the pass rate, oldest first; a night without data is a dot on the base line, a mark a line.

    `labelled`: with a text alternative, which is as long as the bars; on a large page the page of the eval has it.
    """
    solid, gaps, changed = [], [], []
    for index, rate in enumerate(rates):
        x = index * _BAR + 2
        if rate is None:
            gaps.append(f"M{x} {_HEIGHT - 1}h.01")
        else:
            solid.append(f"M{x} {_HEIGHT}v-{max(1, round(rate * (_HEIGHT - 2)))}")
        if index < len(marks) and marks[index]:
            changed.append(f"M{x - 2.5:g} 0v{_HEIGHT}")
    listed = ", ".join("no data" if rate is None else percent(rate) for rate in rates)
    width = len(rates) * _BAR
    paths = _path("b", solid) + _path("g", gaps) + _path("m", changed)
    label = Markup(' role="img" aria-label="oldest first: {}"').format(listed) if labelled else ' aria-hidden="true"'
    return Markup('<svg class="trend" width="{}" height="{}"{}>{}</svg>').format(width, _HEIGHT, Markup(label), paths)


def _path(kind: str, moves: Sequence[str]) -> Markup:
    return Markup('<path class="{}" d="{}"/>').format(kind, "".join(moves)) if moves else Markup()


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartPoint:
    """One run in a chart of rates."""

    label: str
    """The day."""

    rate: Estimate | None
    """The rate with its interval; None without data."""

    title: str
    """What a reader sees when pointing at it."""

    link: str = ""
    """Where it leads."""

    mark: str = ""
    """◆ or ◇, if something changed."""


def rate_chart(points: Sequence[ChartPoint], *, changes: Sequence[int] = (), label: str) -> Markup:
    """The rate over time, oldest first, with its interval as a band; `changes` are indexes of change points.

    The axis is a picture of its own, which stays where it is when the chart scrolls.
    """
    height, left, top, bottom = 190, 16, 24, 24
    step = max(12, min(48, 860 // max(1, len(points))))
    width = left + step * len(points) + 10

    def x(index: int) -> float:
        return left + step * (index + 0.5)

    def y(rate: float) -> float:
        return round(top + (1 - rate) * (height - top - bottom), 1)

    rates = (0.0, 0.5, 1.0)
    scale = [
        Markup('<text x="{}" y="{}">{} %</text>').format(_AXIS - 6, y(rate) + 4, round(rate * 100)) for rate in rates
    ]
    parts = [
        Markup('<line class="axis" x1="0" x2="{}" y1="{}" y2="{}"/>').format(width, y(rate), y(rate)) for rate in rates
    ]
    for index in changes:
        parts.append(
            Markup('<line class="changed" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
                x(index) - step / 2, x(index) - step / 2, top - 14, height - bottom
            )
        )
    for run in _unbroken(points):
        parts += _band([(x(i), rate) for i, rate in run], y)
    every = max(1, -(-len(points) // 16))
    for index, point in enumerate(points):
        parts += _point(point, x(index), y, height, named=index % every == (len(points) - 1) % every)
    axis = Markup('<svg class="chart scale" width="{}" height="{}" aria-hidden="true">{}</svg>').format(
        _AXIS, height, Markup().join(scale)
    )
    chart = Markup('<svg class="chart" width="{w}" height="{h}" viewBox="0 0 {w} {h}" aria-label="{l}">{p}</svg>')
    return Markup('<div class="plot">{}{}</div>').format(
        axis, chart.format(w=width, h=height, l=label, p=Markup().join(parts))
    )


def _unbroken(points: Sequence[ChartPoint]) -> list[list[tuple[int, Estimate]]]:
    lines: list[list[tuple[int, Estimate]]] = [[]]
    for index, point in enumerate(points):
        if point.rate is None:
            lines.append([])
        else:
            lines[-1].append((index, point.rate))
    return [line for line in lines if line]


def _band(run: Sequence[tuple[float, Estimate]], y: Callable[[float], float]) -> list[Markup]:
    upper = [f"{x:g},{y(rate.high):g}" for x, rate in run]
    lower = [f"{x:g},{y(rate.low):g}" for x, rate in reversed(run)]
    line = " ".join(f"{x:g},{y(rate.value):g}" for x, rate in run)
    return [
        Markup('<polygon class="band" points="{}"/>').format(" ".join([*upper, *lower])),
        Markup('<polyline class="line" points="{}"/>').format(line),
    ]


def _point(point: ChartPoint, x: float, y: Callable[[float], float], height: int, *, named: bool) -> list[Markup]:
    parts = []
    if named:
        parts.append(Markup('<text class="day" x="{}" y="{}">{}</text>').format(x, height - 6, point.label))
    if point.mark:
        parts.append(Markup('<text class="mark" x="{}" y="12">{}</text>').format(x, point.mark))
    if point.rate is None:
        shape = Markup('<circle class="gap" cx="{:g}" cy="{:g}" r="3"/>').format(x, y(0))
    else:
        shape = Markup('<circle class="dot" cx="{:g}" cy="{:g}" r="4"/>').format(x, y(point.rate.value))
    body = Markup("<title>{}</title>{}").format(point.title, shape)
    parts.append(
        Markup('<a href="{}">{}</a>').format(point.link, body) if point.link else Markup("<g>{}</g>").format(body)
    )
    return parts


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A stretch of time of a trial."""

    kind: SpanKind
    """What happened: start-up, the model answered, tools ran, or the agent did something itself."""

    start: float
    """Seconds since the start of the trial."""

    end: float
    """Seconds since the start of the trial."""

    label: str = ""
    """What a reader sees when pointing at it."""


def time_strip(spans: Sequence[Span], seconds: float) -> Markup:
    """The time of a trial from left to right."""
    total = max(seconds, max((span.end for span in spans), default=0.0), 1e-6)
    scale = 1000 / total
    parts = [
        Markup('<rect class="{}" x="{:.1f}" y="0" width="{:.1f}" height="26"><title>{}</title></rect>').format(
            span.kind, span.start * scale, max(1.0, (span.end - span.start) * scale), span.label or span.kind
        )
        for span in spans
    ]
    names = {"start": "start-up", "model": "model", "tool": "tools", "agent": "agent"}
    sums = {kind: fsum(span.end - span.start for span in spans if span.kind == kind) for kind in names}
    text = ", ".join([f"{names[kind]} {duration(taken)}" for kind, taken in sums.items() if taken])
    text += f", {duration(total)} in all"
    return Markup(
        '<svg class="strip" viewBox="0 0 1000 26" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(escape(text), Markup().join(parts))


def bar(share: float) -> Markup:
    """A horizontal bar of a share between 0 and 1."""
    return Markup('<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">{}</svg>').format(
        Markup('<rect width="{:.1f}" height="8"/>').format(100 * max(0.0, min(1.0, share)))
    )
