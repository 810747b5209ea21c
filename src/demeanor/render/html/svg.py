"""A sparkline of rates as SVG. A night without data is a hollow dot on the axis and a gap in the line."""

from __future__ import annotations

from collections.abc import Sequence

from demeanor.core.tally import Estimate
from demeanor.render import numbers as figures
from demeanor.render.html.markup import Markup, el

_STEP, _HEIGHT, _EDGE = 12, 24, 4


def sparkline(rates: Sequence[Estimate | None], changed: Sequence[bool]) -> Markup:
    """The nights from left to right; a dashed line marks the first night after a change."""
    across = _STEP * (len(rates) - 1) + 2 * _EDGE
    told = ", ".join(figures.percent(rate.value) if rate else "no data" for rate in rates)
    parts: list[str] = [
        el("line", class_="axis", x1=0, x2=across, y1=_HEIGHT - _EDGE + 2, y2=_HEIGHT - _EDGE + 2),
    ]
    for index, is_new in enumerate(changed):
        if is_new:
            x = _x(index) - _STEP / 2
            parts.append(el("line", class_="change", x1=x, x2=x, y1=0, y2=_HEIGHT))
    for line in _unbroken(rates):
        if len(line) > 1:
            parts.append(el("polyline", class_="rate", points=" ".join(f"{x:g},{y:g}" for x, y in line)))
    for index, rate in enumerate(rates):
        if rate is None:
            parts.append(el("circle", class_="gap", cx=_x(index), cy=_HEIGHT - _EDGE + 2, r=1.8))
        else:
            parts.append(el("circle", class_="dot", cx=_x(index), cy=f"{_y(rate.value):g}", r=1.9))
    return el(
        "svg",
        *parts,
        width=across,
        height=_HEIGHT,
        viewBox=f"0 0 {across} {_HEIGHT}",
        role="img",
        aria_label=f"pass rates, oldest first: {told}",
    )


def _unbroken(rates: Sequence[Estimate | None]) -> list[list[tuple[float, float]]]:
    lines: list[list[tuple[float, float]]] = [[]]
    for index, rate in enumerate(rates):
        if rate is None:
            lines.append([])
        else:
            lines[-1].append((_x(index), round(_y(rate.value), 1)))
    return lines


def _x(index: int) -> float:
    return _EDGE + _STEP * index


def _y(rate: float) -> float:
    return round(_EDGE + (1 - rate) * (_HEIGHT - 2 * _EDGE - 2), 1)
