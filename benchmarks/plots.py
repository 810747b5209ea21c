"""Small plots and bar charts as SVG files, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 400, 300, 44, 34, 14, 44

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f } .quiet { fill: #57606a } .title { font-weight: 600 }
.grid { stroke: #d0d7de } .ours { stroke: #0969da; fill: none; stroke-width: 2 } .dot { fill: #0969da }
.other { stroke: #6e7781; fill: none; stroke-width: 2; stroke-dasharray: 5 4 }
.ring { stroke: #6e7781; fill: none; stroke-width: 2 }
.rest { fill: #b6bec9 } .spread { stroke: #24292f; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d }
  .ours { stroke: #58a6ff } .dot { fill: #58a6ff } .other, .ring { stroke: #9198a1 }
  .rest { fill: #545d68 } .spread { stroke: #e6edf3 }
}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A named point."""

    x: float
    y: float
    name: str
    ours: bool = False
    left: bool = False
    """Whether the name stands on the left."""
    below: bool = False
    """Whether the name stands below."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A named line."""

    name: str
    points: Sequence[tuple[float, float]]
    ours: bool = False
    named_at: int = -1
    """Beside which point the name stands."""
    below: bool = False
    """Whether the name stands below."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One plot; y goes from 0 to 100."""

    title: str
    x: str
    y: str
    points: Sequence[Point] = ()
    lines: Sequence[Line] = field(default_factory=list)

    @property
    def most(self) -> int:
        """The end of the x axis."""
        return int(max([p.x for p in self.points] + [x for line in self.lines for x, _ in line.points]) + 0.999)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A named value, with the smallest and the largest value that was measured."""

    name: str
    value: float
    low: float
    high: float
    text: str
    """The value as it is shown."""
    ours: bool = False


def plots(panels: Sequence[Panel], description: str) -> str:
    """The panels side by side."""
    parts = [part for place, panel in enumerate(panels) for part in _panel(panel, place * _WIDTH)]
    return _file(_WIDTH * len(panels), _HEIGHT, description, parts)


def bars(rows: Sequence[Bar], label: str) -> str:
    """Horizontal bars with their values, each with a line from the smallest to the largest value."""
    left, height = 210, 24
    scale = 380 / max((row.high for row in rows), default=1.0)
    parts = []
    for index, row in enumerate(rows):
        y, low, high = index * height, left + row.low * scale, left + row.high * scale
        fill = "dot" if row.ours else "rest"
        parts += [
            f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{escape(row.name)}</text>',
            f'<rect class="{fill}" x="{left}" y="{y + 5}" width="{row.value * scale:.1f}" height="14"/>',
            f'<path class="spread" d="M{low:.1f} {y + 12}h{high - low:.1f}"/>',
            f'<text class="quiet" x="{high + 6:.1f}" y="{y + 16}">{escape(row.text)}</text>',
        ]
    spoken = ", ".join(f"{row.name} {row.text}" for row in rows)
    return _file(700, len(rows) * height + 4, f"{label}: {spoken}", parts)


def _file(width: int, height: int, description: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(description)}">\n<style>{_STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _panel(panel: Panel, left: int) -> Iterator[str]:
    start, end = left + _LEFT, left + _WIDTH - _RIGHT

    def place(x: float, y: float) -> tuple[float, float]:
        across = start + x / panel.most * (end - start)
        return round(across, 1), round(_TOP + (1 - y / 100) * (_HEIGHT - _TOP - _BOTTOM), 1)

    yield f'<text class="title" x="{start}" y="18">{escape(panel.title)}</text>'
    for percent in (0, 25, 50, 75, 100):
        _, y = place(0, percent)
        yield f'<line class="grid" x1="{start}" x2="{end}" y1="{y}" y2="{y}"/>'
        yield f'<text class="quiet" x="{start - 6}" y="{y + 4}" text-anchor="end">{percent}</text>'
    for step in range(0, panel.most + 1, 1 if panel.most <= 6 else 2):
        x, y = place(step, 0)
        yield f'<text class="quiet" x="{x}" y="{y + 17}" text-anchor="middle">{step}</text>'
    yield f'<text class="quiet" x="{(start + end) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(panel.x)}</text>'
    yield f'<text class="quiet" x="{start - 6}" y="{_TOP - 8}" text-anchor="end">{escape(panel.y)}</text>'
    for line in panel.lines:
        shown = [place(x, y) for x, y in line.points if 0 <= y <= 100]
        path = " ".join(f"{x},{y}" for x, y in shown)
        yield f'<polyline class="{"ours" if line.ours else "other"}" points="{path}"/>'
        x, y = shown[line.named_at]
        yield f'<text x="{x}" y="{y + (16 if line.below else -7)}" text-anchor="end">{escape(line.name)}</text>'
    for point in panel.points:
        x, y = place(point.x, point.y)
        yield f'<circle class="{"dot" if point.ours else "ring"}" cx="{x}" cy="{y}" r="4"/>'
        side, across = ("end", -8) if point.left else ("start", 8)
        down = 14 if point.below else -5
        yield f'<text x="{x + across}" y="{y + down}" text-anchor="{side}">{escape(point.name)}</text>'
